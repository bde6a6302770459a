//! Runs work that a signal may end early; what has been done by then is kept.

use punctual_uapi::{self as uapi, Sig, SignalSet, Waited};
use punctual_units::Nanos;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Runs `work` beside a thread that waits for signals: the first signal is stored in `caught` and sets `stop`, and the
/// work must then end within [`punctual_watchdog::GRACE`]. If no thread can be started, a signal ends the program.
///
/// # Errors
/// The signals cannot be blocked.
pub fn catching<T>(stop: &AtomicBool, caught: &OnceLock<Sig>, work: impl FnOnce() -> T) -> Result<T, uapi::Error> {
    let signals = SignalSet::new(&[Sig::Hup, Sig::Int, Sig::Quit, Sig::Term]);
    uapi::block(&signals)?;
    let done = AtomicBool::new(false);
    Ok(std::thread::scope(|scope| {
        let hear = || {
            while !done.load(Relaxed) {
                if let Waited::Signal(signal) = uapi::wait(&signals, Some(Nanos::from_millis(100))) {
                    // Only the first signal is stored.
                    let _ = caught.set(signal);
                    let what = format!("the end after {}", signal.name());
                    let limit = punctual_watchdog::limit(what, punctual_watchdog::GRACE);
                    stop.store(true, Relaxed);
                    return Some(limit);
                }
            }
            None
        };
        let listener: io::Result<_> = std::thread::Builder::new().name("signals".into()).spawn_scoped(scope, hear);
        if listener.is_err() {
            // Signals then end the program immediately.
            let _ = uapi::unblock_all();
        }
        let result = work();
        done.store(true, Relaxed);
        drop(listener.map(std::thread::ScopedJoinHandle::join));
        result
    }))
}
