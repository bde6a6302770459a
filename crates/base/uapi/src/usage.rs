//! Resource usage of a thread: getrusage(2).

use crate::Error;
use std::mem::MaybeUninit;

/// Counters of one thread since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of minor and major page faults.
    pub page_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

/// Returns the counters of the calling thread.
///
/// # Errors
/// Cannot fail since Linux 2.6.26.
pub fn thread_usage() -> Result<Usage, Error> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills a live struct of the right type.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
        return Err(Error::last("getrusage", "RUSAGE_THREAD"));
    }
    // SAFETY: zeroed before and filled by the call; every bit pattern is valid.
    let usage = unsafe { usage.assume_init() };
    Ok(Usage {
        page_faults: count(usage.ru_minflt) + count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    })
}

/// Converts a counter. The kernel counts in an unsigned long, but the C library declares the field as a long, so that
/// on 32-bit systems values from 2^31 up appear negative.
fn count(field: libc::c_long) -> u64 {
    // On Linux both have the size of an address.
    field as usize as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_half_of_a_long_is_a_count() {
        assert_eq!(count(libc::c_long::MIN), 1 << (libc::c_long::BITS - 1));
        assert_eq!(count(-1), usize::MAX as u64);
    }

    #[test]
    fn touching_new_memory_counts() {
        let before = thread_usage().unwrap().page_faults;
        let fresh = vec![1u8; 8 << 20];
        assert!(std::hint::black_box(&fresh)[1 << 20] == 1);
        assert!(thread_usage().unwrap().page_faults > before);
    }
}
