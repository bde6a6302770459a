//! POSIX timers that signal one thread (timer_create(2), SIGEV_THREAD_ID), and the interval timer of the process
//! (setitimer(2)).

use crate::{Error, Sig};
use punctual_units::Nanos;
use std::mem::MaybeUninit;

const SECOND: u64 = 1_000_000_000;

/// A timer that signals the thread that created it. Deleted on drop.
#[derive(Debug)]
pub struct PosixTimer(libc::timer_t);

// SAFETY: a timer_t identifies a timer of the process; any thread may set, query and delete it.
unsafe impl Send for PosixTimer {}

impl PosixTimer {
    /// Creates a timer on CLOCK_REALTIME or CLOCK_MONOTONIC. Block `signal` first, and receive it with [`crate::wait`].
    ///
    /// # Errors
    /// `EAGAIN`: there is no memory, or the limit of queued signals (RLIMIT_SIGPENDING) is reached.
    pub fn new(is_realtime: bool, signal: Sig) -> Result<PosixTimer, Error> {
        let clock = if is_realtime { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
        let mut timer = MaybeUninit::<libc::timer_t>::uninit();
        // SAFETY: an all-zero sigevent is valid; the three fields set are those SIGEV_THREAD_ID reads; the result is
        // written if the call succeeds.
        let rc = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal.number();
            event.sigev_notify_thread_id = libc::syscall(libc::SYS_gettid) as libc::c_int;
            libc::timer_create(clock, &raw mut event, timer.as_mut_ptr())
        };
        if rc != 0 {
            return Err(Error::last("timer_create", "SIGEV_THREAD_ID"));
        }
        // SAFETY: timer_create succeeded and so wrote it.
        Ok(PosixTimer(unsafe { timer.assume_init() }))
    }

    /// Arms the timer. It first expires at the time `first` if `is_absolute`, otherwise `first` after the call, and
    /// then every `interval`. `first` = 0 disarms it.
    ///
    /// # Errors
    /// Cannot fail for valid times.
    pub fn set(&self, is_absolute: bool, first: Nanos, interval: Nanos) -> Result<(), Error> {
        let value = libc::itimerspec { it_interval: timespec(interval), it_value: timespec(first) };
        let flags = if is_absolute { libc::TIMER_ABSTIME } else { 0 };
        // SAFETY: the timer exists until this is dropped; the times live through the call; the old value is not wanted.
        let rc = unsafe { libc::timer_settime(self.0, flags, &raw const value, std::ptr::null_mut()) };
        if rc == 0 { Ok(()) } else { Err(Error::last("timer_settime", format!("every {interval}"))) }
    }

    /// Returns the overrun count of the last received signal: how often the timer expired between queuing and receipt
    /// of the signal (timer_getoverrun(2)).
    pub fn overrun(&self) -> u64 {
        // SAFETY: the timer exists until this is dropped.
        let count = unsafe { libc::timer_getoverrun(self.0) };
        u64::try_from(count).unwrap_or(0)
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: it exists, and nothing uses it afterwards.
        unsafe { libc::timer_delete(self.0) };
    }
}

fn timespec(time: Nanos) -> libc::timespec {
    let tv_sec = libc::time_t::try_from(time.0 / SECOND).unwrap_or(libc::time_t::MAX);
    libc::timespec { tv_sec, tv_nsec: (time.0 % SECOND) as _ }
}

/// Sets the real-time interval timer of the process, which sends SIGALRM after `first` and then every `interval`.
/// `first` = 0 disarms it.
///
/// # Errors
/// Cannot fail for valid times.
pub fn set_interval_timer(first: Nanos, interval: Nanos) -> Result<(), Error> {
    let timeval = |time: Nanos| {
        let tv_sec = libc::time_t::try_from(time.0 / SECOND).unwrap_or(libc::time_t::MAX);
        libc::timeval { tv_sec, tv_usec: (time.0 % SECOND / 1000) as _ }
    };
    let value = libc::itimerval { it_interval: timeval(interval), it_value: timeval(first) };
    // SAFETY: the times live through the call; the old value is not wanted.
    let rc = unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const value, std::ptr::null_mut()) };
    if rc == 0 { Ok(()) } else { Err(Error::last("setitimer", "ITIMER_REAL")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SignalSet, Waited, block, wait};

    #[test]
    fn a_timer_signals_the_thread_that_made_it() {
        std::thread::spawn(|| {
            let set = SignalSet::new(&[Sig::Alrm]);
            block(&set).unwrap();
            let timer = PosixTimer::new(false, Sig::Alrm).unwrap();
            timer.set(false, Nanos::from_millis(1), Nanos::from_millis(1)).unwrap();
            for _ in 0..3 {
                assert_eq!(wait(&set, Some(Nanos::from_secs(5))), Waited::Signal(Sig::Alrm));
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_eq!(wait(&set, Some(Nanos::from_secs(5))), Waited::Signal(Sig::Alrm));
            assert!(timer.overrun() > 3);
            timer.set(false, Nanos::ZERO, Nanos::ZERO).unwrap();
        })
        .join()
        .unwrap();
    }
}
