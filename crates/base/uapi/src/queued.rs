//! Signals with their data: sigwaitinfo(2), rt_tgsigqueueinfo(2).

use crate::{Error, Sig, SignalSet};
use rustix::io::Errno;
use std::mem::MaybeUninit;

/// Origin of a signal (sigaction(2), si_code).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The signal comes from a POSIX timer (SI_TIMER).
    Timer,
    /// The signal comes from [`queue`] or sigqueue(3) (SI_QUEUE).
    Queue,
    Other,
}

/// A signal received by [`take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub origin: Origin,
    /// For a timer, the number of further expiries between the expiry that queued the signal and the receipt of the
    /// signal (timer_getoverrun(2)); otherwise 0.
    pub overrun: u64,
    /// For a signal from [`queue`], the value that was passed to it; otherwise 0.
    pub value: u32,
}

/// Prefix of siginfo_t with the fields for timers and queued signals (include/uapi/asm-generic/siginfo.h). On MIPS,
/// errno and code are in the opposite order.
#[repr(C)]
struct Info {
    signal: libc::c_int,
    #[cfg(not(any(target_arch = "mips", target_arch = "mips64")))]
    errno: libc::c_int,
    code: libc::c_int,
    #[cfg(any(target_arch = "mips", target_arch = "mips64"))]
    errno: libc::c_int,
    fields: Fields,
}

/// The union within siginfo_t, which has the alignment of a pointer.
#[repr(C)]
#[derive(Clone, Copy)]
struct Fields {
    /// Timer id, or process id of the sender.
    first: libc::c_int,
    /// Overrun count, or user id of the sender.
    second: libc::c_int,
    value: libc::sigval,
}

const _: () = assert!(size_of::<Info>() <= size_of::<libc::siginfo_t>());

/// Sleeps until one of the signals is pending for the calling thread, and receives it with a single system call. The
/// signals must be blocked.
///
/// # Errors
/// `EINTR`: another signal was handled meanwhile.
#[inline]
pub fn take(set: &SignalSet) -> Result<Taken, Errno> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the set is valid, and the buffer holds a siginfo_t that the kernel fills.
    let number = unsafe { libc::sigwaitinfo(&raw const set.0, info.as_mut_ptr()) };
    if number < 0 {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINTR);
        return Err(Errno::from_raw_os_error(errno));
    }
    // SAFETY: zeroed before and filled by the kernel; `Info` is a prefix of siginfo_t, whose fields are
    // numbers for every origin.
    let info = unsafe { &*info.as_ptr().cast::<Info>() };
    let origin = match info.code {
        libc::SI_TIMER => Origin::Timer,
        libc::SI_QUEUE => Origin::Queue,
        _ => Origin::Other,
    };
    let overrun = if origin == Origin::Timer { u64::try_from(info.fields.second).unwrap_or(0) } else { 0 };
    let value = if origin == Origin::Queue { info.fields.value.sival_ptr.addr() as u32 } else { 0 };
    Ok(Taken { origin, overrun, value })
}

/// Queues `signal` with a value for the thread `tid` of this process. No signal is lost unless the queue is full.
///
/// # Errors
/// `EAGAIN`: RLIMIT_SIGPENDING is used up. `ESRCH`: the thread has ended.
#[inline]
pub fn queue(tid: i32, signal: Sig, value: u32) -> Result<(), Errno> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: zeroed, so initialised; `Info` is a prefix of siginfo_t. The kernel accepts the fields of SI_QUEUE only
    // from the process itself (rt_sigqueueinfo(2)).
    let rc = unsafe {
        let fields = &mut *info.as_mut_ptr().cast::<Info>();
        fields.signal = signal.number();
        fields.code = libc::SI_QUEUE;
        fields.fields.first = libc::getpid();
        fields.fields.second = libc::getuid() as libc::c_int;
        fields.fields.value = libc::sigval { sival_ptr: value as usize as *mut libc::c_void };
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), tid, signal.number(), info.as_ptr())
    };
    if rc == 0 {
        return Ok(());
    }
    let errno = Error::last("rt_tgsigqueueinfo", String::new()).errno().unwrap_or(libc::EAGAIN);
    Err(Errno::from_raw_os_error(errno))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PosixTimer, block};
    use punctual_units::Nanos;

    fn tid() -> i32 {
        rustix::thread::gettid().as_raw_nonzero().get()
    }

    #[test]
    fn queued_signals_keep_their_values_and_their_order() {
        std::thread::spawn(|| {
            let set = SignalSet::new(&[Sig::RtMin]);
            block(&set).unwrap();
            for value in [7, u32::MAX, 0] {
                queue(tid(), Sig::RtMin, value).unwrap();
            }
            for value in [7, u32::MAX, 0] {
                assert_eq!(take(&set), Ok(Taken { origin: Origin::Queue, overrun: 0, value }));
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_timer_reports_its_overrun() {
        std::thread::spawn(|| {
            let set = SignalSet::new(&[Sig::Alrm]);
            block(&set).unwrap();
            let timer = PosixTimer::new(false, Sig::Alrm).unwrap();
            timer.set(false, Nanos::from_millis(1), Nanos::from_millis(1)).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            let taken = take(&set).unwrap();
            assert_eq!(taken.origin, Origin::Timer);
            assert!(taken.overrun >= 15, "{taken:?}");
            assert_eq!(taken.overrun, timer.overrun());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_that_is_not_there_is_reported() {
        assert_eq!(queue(i32::MAX, Sig::RtMin, 0), Err(Errno::SRCH));
    }
}
