//! Counts, for each thread, how often the thread overruns its SCHED_DEADLINE runtime (SCHED_FLAG_DL_OVERRUN, SIGXCPU).

use crate::Error;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};

thread_local! {
    // Constant initialisers and no destructors: reading them is async-signal-safe.
    static WATCHED: AtomicBool = const { AtomicBool::new(false) };
    static COUNT: AtomicU64 = const { AtomicU64::new(0) };
}

/// The previous disposition of SIGXCPU.
static HANDLER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static FLAGS: AtomicI32 = AtomicI32::new(0);

/// Number of threads that count overruns; `WATCHER` holds the ID of the thread that started counting last.
static WATCHERS: AtomicI32 = AtomicI32::new(0);
static WATCHER: AtomicI32 = AtomicI32::new(0);

/// Blocks SIGXCPU in the calling thread and in the threads that it starts later. The kernel sends the signal to the
/// process, so it is then delivered only to threads that count overruns ([`watch_overruns`] unblocks it). The soft
/// limits of RLIMIT_CPU and RLIMIT_RTTIME have no effect on threads that block the signal.
///
/// # Errors
/// Cannot fail for a valid signal.
pub fn leave_overruns() -> Result<(), Error> {
    mask(libc::SIG_BLOCK)
}

/// Guard that keeps counting overruns of the calling thread until it is dropped, which must happen in the same thread.
#[derive(Debug)]
#[must_use = "counting ends when the guard is dropped"]
pub struct Overruns(std::marker::PhantomData<*const ()>);

/// Starts counting the SIGXCPU signals of the calling thread. The kernel sends the signal to the process, preferably to
/// the thread that overran, at a tick while that thread runs (check_dl_overrun() in kernel/time/posix-cpu-timers.c).
/// Several overruns before this tick therefore count as one.
///
/// If the signal is delivered to a thread that does not count overruns and does not block it ([`leave_overruns`]), the
/// handler passes it on to the counting thread. If several threads count overruns, the signal is lost. If the process
/// has used up its RLIMIT_CPU, the signal has its previous effect.
///
/// # Errors
/// Cannot fail for a valid handler and signal.
pub fn watch_overruns() -> Result<Overruns, Error> {
    static INSTALLED: Once = Once::new();
    let mut result = Ok(());
    INSTALLED.call_once(|| result = install());
    result?;
    WATCHED.with(|watched| watched.store(true, Relaxed));
    WATCHER.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
    WATCHERS.fetch_add(1, Relaxed);
    let overruns = Overruns(std::marker::PhantomData);
    mask(libc::SIG_UNBLOCK)?;
    Ok(overruns)
}

impl Drop for Overruns {
    fn drop(&mut self) {
        // Blocking a valid signal cannot fail. If it did, the signal would just be handled.
        let _ = mask(libc::SIG_BLOCK);
        WATCHERS.fetch_sub(1, Relaxed);
        WATCHED.with(|watched| watched.store(false, Relaxed));
    }
}

/// Returns the number of overruns of the calling thread so far. Makes no system call.
pub fn overruns() -> u64 {
    COUNT.with(|count| count.load(Relaxed))
}

fn mask(how: libc::c_int) -> Result<(), Error> {
    // SAFETY: a zeroed sigset_t is valid storage for sigemptyset, which initialises it; the old mask is not wanted.
    let rc = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGXCPU);
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut())
    };
    if rc == 0 {
        return Ok(());
    }
    Err(Error { call: "pthread_sigmask", on: "SIGXCPU".into(), source: std::io::Error::from_raw_os_error(rc) })
}

/// Returns true if the process has used up its soft RLIMIT_CPU, in which case the kernel also sends SIGXCPU. This
/// function is async-signal-safe.
fn is_over_limit() -> bool {
    // SAFETY: both calls write live structs.
    unsafe {
        let (mut limit, mut used): (libc::rlimit, libc::timespec) = (std::mem::zeroed(), std::mem::zeroed());
        libc::getrlimit(libc::RLIMIT_CPU, &raw mut limit) == 0
            && limit.rlim_cur != libc::RLIM_INFINITY
            && libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut used) == 0
            && libc::rlim_t::try_from(used.tv_sec).is_ok_and(|used| used >= limit.rlim_cur)
    }
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
    // SAFETY: plain numbers; the thread may have ended, which is an error.
    let pass = |to: i32| unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), to, libc::SIGXCPU) };
    if !is_over_limit() {
        if WATCHERS.load(Relaxed) == 1 {
            // SAFETY: the calling thread's errno, which the interrupted code may read.
            let errno = unsafe { *libc::__errno_location() };
            pass(WATCHER.load(Relaxed));
            // SAFETY: as above.
            unsafe { *libc::__errno_location() = errno };
        }
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

    fn raise() {
        // SAFETY: plain numbers; raise(3) signals the calling thread.
        unsafe { libc::raise(libc::SIGXCPU) };
    }

    #[test]
    fn overruns_are_counted_by_the_thread_that_watches_and_end_nothing() {
        std::thread::spawn(|| {
            let watching = watch_overruns().unwrap();
            raise();
            assert_eq!(overruns(), 1);
            // Another thread that takes the signal passes it on.
            std::thread::spawn(|| {
                mask(libc::SIG_UNBLOCK).unwrap();
                raise();
                assert_eq!(overruns(), 0);
            })
            .join()
            .unwrap();
            assert_eq!(overruns(), 2);
            drop(watching);
            // A signal after the last task has ended is harmless.
            mask(libc::SIG_UNBLOCK).unwrap();
            raise();
            assert_eq!(overruns(), 2);
        })
        .join()
        .unwrap();
    }
}
