//! Signals, waited for instead of handled: pthread_sigmask(3), sigtimedwait(2), tgkill(2).

use crate::Error;
use punctual_units::Nanos;
use std::mem::MaybeUninit;

/// A signal this program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sig {
    /// SIGHUP: the terminal or ssh connection is gone.
    Hup,
    /// SIGINT: Ctrl-C.
    Int,
    /// SIGQUIT: Ctrl-\.
    Quit,
    /// SIGTERM.
    Term,
    /// SIGCHLD: a child ended.
    Chld,
    /// SIGUSR1: the user wants to see how it stands.
    Usr1,
    /// SIGUSR2: the same, into shared memory.
    Usr2,
    /// SIGALRM: a timer ran out.
    Alrm,
    /// SIGRTMIN: the first real-time signal that the C library leaves to programs; queued, with a value.
    RtMin,
}

impl Sig {
    /// Its number.
    pub fn number(self) -> i32 {
        match self {
            Sig::Hup => libc::SIGHUP,
            Sig::Int => libc::SIGINT,
            Sig::Quit => libc::SIGQUIT,
            Sig::Term => libc::SIGTERM,
            Sig::Chld => libc::SIGCHLD,
            Sig::Usr1 => libc::SIGUSR1,
            Sig::Usr2 => libc::SIGUSR2,
            Sig::Alrm => libc::SIGALRM,
            Sig::RtMin => libc::SIGRTMIN(),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Sig::Hup => "SIGHUP",
            Sig::Int => "SIGINT",
            Sig::Quit => "SIGQUIT",
            Sig::Term => "SIGTERM",
            Sig::Chld => "SIGCHLD",
            Sig::Usr1 => "SIGUSR1",
            Sig::Usr2 => "SIGUSR2",
            Sig::Alrm => "SIGALRM",
            Sig::RtMin => "SIGRTMIN",
        }
    }

    fn from_number(n: i32) -> Option<Sig> {
        [Sig::Hup, Sig::Int, Sig::Quit, Sig::Term, Sig::Chld, Sig::Usr1, Sig::Usr2, Sig::Alrm, Sig::RtMin]
            .into_iter()
            .find(|s| s.number() == n)
    }
}

/// A set of signals, blocked in every thread started after [`block`].
#[derive(Clone, Copy)]
pub struct SignalSet(pub(crate) libc::sigset_t);

impl SignalSet {
    /// These signals.
    pub fn new(signals: &[Sig]) -> SignalSet {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set, sigaddset changes an initialised one; the numbers are valid.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in signals {
                libc::sigaddset(set.as_mut_ptr(), signal.number());
            }
            SignalSet(set.assume_init())
        }
    }
}

/// Blocks the signals in the calling thread; threads and programs it starts inherit that.
///
/// # Errors
/// None that a valid set can meet; passed on for honesty.
pub fn block(set: &SignalSet) -> Result<(), Error> {
    // SAFETY: a valid, initialised set; the old mask is not asked for.
    let rc = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set.0, std::ptr::null_mut()) };
    if rc == 0 {
        return Ok(());
    }
    Err(Error { call: "pthread_sigmask", on: "SIG_BLOCK".into(), source: std::io::Error::from_raw_os_error(rc) })
}

/// Blocks no signal in the calling thread: for a program that is about to start one that expects the usual.
///
/// # Errors
/// None that an empty set can meet; passed on for honesty.
pub fn unblock_all() -> Result<(), Error> {
    let none = SignalSet::new(&[]);
    // SAFETY: a valid, initialised set; the old mask is not asked for.
    let rc = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none.0, std::ptr::null_mut()) };
    if rc == 0 {
        return Ok(());
    }
    Err(Error { call: "pthread_sigmask", on: "SIG_SETMASK".into(), source: std::io::Error::from_raw_os_error(rc) })
}

/// What ended a [`wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// One of the signals.
    Signal(Sig),
    /// The time.
    TimedOut,
}

/// Sleeps until one of the (blocked) signals is pending or `timeout` has passed; `None` waits for ever. No thread is
/// woken in between.
pub fn wait(set: &SignalSet, timeout: Option<Nanos>) -> Waited {
    let give_up = timeout.map(|t| std::time::Instant::now() + t.into());
    loop {
        let left = give_up.map(|at| at.saturating_duration_since(std::time::Instant::now()));
        let spec = left.map(timespec);
        let spec = spec.as_ref().map_or(std::ptr::null(), |s| &raw const *s);
        // SAFETY: a valid set, no siginfo wanted, and a timespec (or null) that lives through the call.
        let number = unsafe { libc::sigtimedwait(&raw const set.0, std::ptr::null_mut(), spec) };
        match Sig::from_number(number) {
            Some(signal) => return Waited::Signal(signal),
            None if left.is_some_and(|l| l.is_zero()) => return Waited::TimedOut,
            None => {}
        }
    }
}

/// At most what a time_t holds, which on 32 bits is 68 years: cut off it would be negative, refused, and asked again at
/// once. The wait is for what is left, so a shorter one only takes another turn.
fn timespec(left: std::time::Duration) -> libc::timespec {
    let tv_sec = libc::time_t::try_from(left.as_secs()).unwrap_or(libc::time_t::MAX);
    libc::timespec { tv_sec, tv_nsec: left.subsec_nanos() as _ }
}

/// Makes SIGURG (ignored by default, and used by nothing here) interrupt system calls, for [`wake`].
///
/// # Errors
/// None that a valid handler can meet; passed on for honesty.
pub fn install_wakeup() -> Result<(), Error> {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: an all-zero sigaction is valid (no flags, so no SA_RESTART, and an empty mask); the handler does
    // nothing and so is async-signal-safe.
    let rc = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut())
    };
    if rc == 0 { Ok(()) } else { Err(Error::last("sigaction", "SIGURG")) }
}

/// Interrupts the system call that thread `tid` of this process sleeps in: it returns `EINTR`. A thread that is about
/// to sleep is missed: repeat until it has answered.
///
/// # Errors
/// `ESRCH`: the thread has ended.
pub fn wake(tid: i32) -> Result<(), Error> {
    // SAFETY: plain numbers; a thread that is gone is an error.
    let rc = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGURG) };
    if rc == 0 { Ok(()) } else { Err(Error::last("tgkill", format!("thread {tid}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_with_the_time() {
        let set = SignalSet::new(&[Sig::Hup]);
        block(&set).unwrap();
        assert_eq!(wait(&set, Some(Nanos::from_millis(2))), Waited::TimedOut);
        assert_eq!(wait(&set, Some(Nanos::ZERO)), Waited::TimedOut);
    }

    #[test]
    fn a_long_wait_is_never_negative() {
        assert!(timespec(Nanos(u64::MAX).into()).tv_sec > 0);
        assert_eq!(timespec(std::time::Duration::new(5, 7)).tv_sec, 5);
    }

    #[test]
    fn a_sleeper_can_be_woken() {
        install_wakeup().unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            send.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let long = rustix::time::Timespec { tv_sec: 60, tv_nsec: 0 };
            rustix::thread::clock_nanosleep_relative(rustix::thread::ClockId::Monotonic, &long)
        });
        let tid = receive.recv().unwrap();
        while !sleeper.is_finished() {
            let _ = wake(tid);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let slept = sleeper.join().unwrap();
        assert!(matches!(slept, rustix::thread::NanosleepRelativeResult::Interrupted(_)));
    }
}
