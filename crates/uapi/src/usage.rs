//! What a thread has used: getrusage(2).

use crate::Error;
use std::mem::MaybeUninit;

/// Counters of one thread since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Page faults, minor and major.
    pub page_faults: u64,
    /// Times it gave up the CPU by itself.
    pub voluntary_switches: u64,
    /// Times it was preempted.
    pub involuntary_switches: u64,
}

/// The calling thread's counters.
///
/// # Errors
/// None that Linux ≥ 2.6.26 gives; passed on for honesty.
pub fn thread_usage() -> Result<Usage, Error> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills a live struct of the right type.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
        return Err(Error::last("getrusage", "RUSAGE_THREAD"));
    }
    // SAFETY: zeroed before and filled by the call; every bit pattern is valid.
    let usage = unsafe { usage.assume_init() };
    Ok(Usage {
        page_faults: (usage.ru_minflt + usage.ru_majflt) as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_new_memory_counts() {
        let before = thread_usage().unwrap().page_faults;
        let fresh = vec![1u8; 8 << 20];
        assert!(std::hint::black_box(&fresh)[1 << 20] == 1);
        assert!(thread_usage().unwrap().page_faults > before);
    }
}
