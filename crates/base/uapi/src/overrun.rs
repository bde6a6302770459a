//! Overruns of SCHED_DEADLINE runtimes, counted by each thread: SCHED_FLAG_DL_OVERRUN, SIGXCPU.

use crate::Error;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};

thread_local! {
    // Constant initialisers and no destructors: reading them is async-signal-safe.
    static WATCHED: AtomicBool = const { AtomicBool::new(false) };
    static COUNT: AtomicU64 = const { AtomicU64::new(0) };
}

/// The disposition before ours.
static HANDLER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static FLAGS: AtomicI32 = AtomicI32::new(0);

/// Counts from now on the SIGXCPU that the calling thread gets. The kernel sends it to the process and prefers the
/// thread that overran, at a tick in which that runs (check_dl_overrun() in kernel/time/posix-cpu-timers.c): several
/// overruns before such a tick are one. Other threads' SIGXCPU (RLIMIT_CPU, RLIMIT_RTTIME) have the effect they had.
///
/// # Errors
/// Cannot fail for a valid handler and signal.
pub fn watch_overruns() -> Result<(), Error> {
    static INSTALLED: Once = Once::new();
    let mut result = Ok(());
    INSTALLED.call_once(|| result = install());
    result?;
    WATCHED.with(|watched| watched.store(true, Relaxed));
    // SAFETY: a zeroed sigset_t is valid storage for sigemptyset, which initialises it; the old mask is not wanted.
    let rc = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGXCPU);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut())
    };
    if rc == 0 {
        return Ok(());
    }
    Err(Error { call: "pthread_sigmask", on: "SIGXCPU".into(), source: std::io::Error::from_raw_os_error(rc) })
}

/// Overruns of the calling thread since [`watch_overruns`]. No system call.
pub fn overruns() -> u64 {
    COUNT.with(|count| count.load(Relaxed))
}

fn install() -> Result<(), Error> {
    // SAFETY: all-zero sigactions are valid; the handler only touches atomics and calls async-signal-safe functions.
    let rc = unsafe {
        let (mut action, mut before): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
        action.sa_sigaction = handle as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        let rc = libc::sigaction(libc::SIGXCPU, std::ptr::null(), &raw mut before);
        HANDLER.store(before.sa_sigaction, Relaxed);
        FLAGS.store(before.sa_flags, Relaxed);
        if rc == 0 { libc::sigaction(libc::SIGXCPU, &raw const action, std::ptr::null_mut()) } else { rc }
    };
    if rc == 0 { Ok(()) } else { Err(Error::last("sigaction", "SIGXCPU")) }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if WATCHED.with(|watched| watched.load(Relaxed)) {
        COUNT.with(|count| count.fetch_add(1, Relaxed));
        return;
    }
    match HANDLER.load(Relaxed) {
        libc::SIG_IGN => {}
        // SAFETY: both calls are async-signal-safe; the signal is delivered again, with its default effect, when this
        // handler returns.
        libc::SIG_DFL => unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        },
        // SAFETY: the address is that of the program's handler, of the form that its flags name.
        before if FLAGS.load(Relaxed) & libc::SA_SIGINFO != 0 => unsafe {
            std::mem::transmute::<usize, extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void)>(before)(
                signal, info, context,
            );
        },
        // SAFETY: as above.
        before => unsafe {
            std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(before)(signal);
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watched_thread_counts_its_own() {
        std::thread::spawn(|| {
            watch_overruns().unwrap();
            let before = overruns();
            // SAFETY: plain numbers; raise(3) signals the calling thread.
            unsafe { libc::raise(libc::SIGXCPU) };
            assert_eq!(overruns(), before + 1);
        })
        .join()
        .unwrap();
        assert_eq!(overruns(), 0);
    }
}
