//! Forks a short-lived copy of the process, which causes copy-on-write faults in the process.

use crate::Error;
use punctual_units::Nanos;

/// Forks this process with fork(2) and waits with waitpid(2) for the child, which only sleeps for the given time and
/// exits. Meanwhile all private pages are shared with the child, so the first write to each page causes a copy-on-write
/// fault, even if the page is locked.
///
/// # Errors
/// `EAGAIN`: RLIMIT_NPROC is reached. `ENOMEM`: not enough memory.
pub fn copy_process(for_so_long: Nanos) -> Result<(), Error> {
    let time = libc::timespec {
        tv_sec: libc::time_t::try_from(for_so_long.0 / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (for_so_long.0 % 1_000_000_000) as _,
    };
    // SAFETY: the child calls only nanosleep and _exit, which are async-signal-safe, as fork(2) requires of a process
    // with several threads; `time` lives in the child's copy of the stack.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above; the remaining time is not needed.
        unsafe {
            libc::nanosleep(&raw const time, std::ptr::null_mut());
            libc::_exit(0);
        }
    }
    if child < 0 {
        return Err(Error::last("fork", "this process"));
    }
    loop {
        // SAFETY: it is our child, and no status is requested.
        let ended = unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        if ended == child {
            return Ok(());
        }
        let error = Error::last("waitpid", format!("child {child}"));
        if error.errno() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_ends_after_its_time() {
        let begun = std::time::Instant::now();
        copy_process(Nanos::from_millis(5)).unwrap();
        assert!(begun.elapsed().as_millis() >= 5);
    }
}
