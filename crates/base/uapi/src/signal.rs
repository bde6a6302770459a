//! Signals for which programs wait instead of installing a handler: pthread_sigmask(3), sigtimedwait(2), tgkill(2).

use crate::Error;
use punctual_units::Nanos;
use std::mem::MaybeUninit;

/// The signals for which the programs of this workspace wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sig {
    /// SIGHUP: the terminal or ssh connection closed.
    Hup,
    /// SIGINT: Ctrl-C.
    Int,
    /// SIGQUIT: Ctrl-\.
    Quit,
    Term,
    /// SIGCHLD: a child ended.
    Chld,
    /// SIGUSR1: the user requests the results so far.
    Usr1,
    /// SIGUSR2: the user requests that the results so far be written to shared memory.
    Usr2,
    /// SIGALRM: a timer expired.
    Alrm,
    /// SIGPIPE: a pipe without a reader was written to. If the signal is blocked, write(2) only fails with EPIPE.
    Pipe,
    /// SIGRTMIN: the first real-time signal that the C library does not reserve. It is queued and carries a value.
    RtMin,
}

impl Sig {
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
            Sig::Pipe => libc::SIGPIPE,
            Sig::RtMin => libc::SIGRTMIN(),
        }
    }

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
            Sig::Pipe => "SIGPIPE",
            Sig::RtMin => "SIGRTMIN",
        }
    }

    fn from_number(n: i32) -> Option<Sig> {
        [Sig::Hup, Sig::Int, Sig::Quit, Sig::Term, Sig::Chld, Sig::Usr1, Sig::Usr2, Sig::Alrm, Sig::Pipe, Sig::RtMin]
            .into_iter()
            .find(|s| s.number() == n)
    }
}

#[derive(Clone, Copy)]
pub struct SignalSet(pub(crate) libc::sigset_t);

impl SignalSet {
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

/// Blocks the signals in the calling thread; threads and programs that it starts inherit the mask.
///
/// # Errors
/// Cannot fail for a valid set.
pub fn block(set: &SignalSet) -> Result<(), Error> {
    // SAFETY: a valid, initialised set; the old mask is not requested.
    let rc = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set.0, std::ptr::null_mut()) };
    if rc == 0 {
        return Ok(());
    }
    Err(Error { call: "pthread_sigmask", on: "SIG_BLOCK".into(), source: std::io::Error::from_raw_os_error(rc) })
}

/// Runs `work` with all signals blocked in the calling thread: threads that it starts inherit the mask and never receive
/// a signal, whose default action would end the program. Afterwards the mask is as before.
pub fn with_all_blocked<T>(work: impl FnOnce() -> T) -> T {
    let mut before = MaybeUninit::uninit();
    // SAFETY: sigfillset initialises the set; pthread_sigmask(3) cannot fail with it and writes the old mask.
    let before: libc::sigset_t = unsafe {
        let mut all = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    };
    let done = work();
    // SAFETY: the mask that the kernel returned above; the old mask is not requested.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    done
}

/// Unblocks all signals in the calling thread. Call it before starting a program, which inherits the mask.
///
/// # Errors
/// Cannot fail for an empty set.
pub fn unblock_all() -> Result<(), Error> {
    let none = SignalSet::new(&[]);
    // SAFETY: a valid, initialised set; the old mask is not requested.
    let rc = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none.0, std::ptr::null_mut()) };
    if rc == 0 {
        return Ok(());
    }
    Err(Error { call: "pthread_sigmask", on: "SIG_SETMASK".into(), source: std::io::Error::from_raw_os_error(rc) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    Signal(Sig),
    TimedOut,
}

/// Sleeps until one of the signals, which must be blocked, is pending, or until `timeout` has passed; `None` means no
/// timeout. Does not wake up periodically.
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

/// Converts a duration, clamped to the range of time_t (68 years if it has 32 bits). A truncated value would be
/// negative, so the kernel would refuse it and the caller would retry immediately. The caller waits again for the rest.
fn timespec(left: std::time::Duration) -> libc::timespec {
    let tv_sec = libc::time_t::try_from(left.as_secs()).unwrap_or(libc::time_t::MAX);
    libc::timespec { tv_sec, tv_nsec: left.subsec_nanos() as _ }
}

/// Returns true if the program ignores the signal, for example because nohup(1) started it.
pub fn is_ignored(signal: Sig) -> bool {
    // SAFETY: an all-zero sigaction is valid; only the current action is read.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal.number(), std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Installs a handler without SA_RESTART for SIGURG, so that [`wake`] interrupts system calls. SIGURG is ignored by
/// default, and this workspace uses it for nothing else.
///
/// # Errors
/// Cannot fail for a valid handler.
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

/// Interrupts the system call in which the thread `tid` of this process sleeps, so that it returns `EINTR`. It has no
/// effect on a thread that is just about to sleep, so repeat it until the thread reacts.
///
/// # Errors
/// `ESRCH`: the thread has ended.
pub fn wake(tid: i32) -> Result<(), Error> {
    // SAFETY: plain numbers; a thread that has ended is an error.
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
    fn a_thread_started_with_all_blocked_receives_nothing() {
        let usr2 = SignalSet::new(&[Sig::Usr2]);
        let pending = |number: i32| {
            // SAFETY: signals the calling thread, then reads whether that signal is pending in an initialised set.
            unsafe {
                libc::raise(number);
                let mut set = MaybeUninit::uninit();
                libc::sigpending(set.as_mut_ptr()) == 0 && libc::sigismember(set.as_ptr(), number) == 1
            }
        };
        // If the signal were not blocked, it would end this process.
        let thread = with_all_blocked(|| std::thread::spawn(move || (pending(libc::SIGUSR2), wait(&usr2, None))));
        assert_eq!(thread.join().unwrap(), (true, Waited::Signal(Sig::Usr2)));
        // SAFETY: only the current mask is read, into a set that the call initialises.
        let is_blocked = unsafe {
            let mut mask = MaybeUninit::uninit();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), libc::SIGUSR2)
        };
        assert_eq!(is_blocked, 0, "the caller's mask is as before");
    }

    /// The Rust runtime ignores SIGPIPE from the start of a program.
    #[test]
    fn an_ignored_signal_is_known() {
        assert!(is_ignored(Sig::Pipe) && !is_ignored(Sig::Chld));
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
