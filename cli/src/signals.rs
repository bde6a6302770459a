//! Work that a signal ends early, with what is done by then.

use punctual_uapi::{self as uapi, Sig, SignalSet, Waited};
use punctual_units::Nanos;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Does the work beside a thread that waits for signals: the first one is put into `caught` and sets `stop`, and the work has to end within
/// [`punctual_watchdog::GRACE`]. Without a thread a signal ends the program.
///
/// # Errors
/// The signals cannot be blocked.
pub fn heard<T>(stop: &AtomicBool, caught: &OnceLock<Sig>, work: impl FnOnce() -> T) -> Result<T, uapi::Error> {
    let signals = SignalSet::new(&[Sig::Hup, Sig::Int, Sig::Quit, Sig::Term]);
    uapi::block(&signals)?;
    let done = AtomicBool::new(false);
    Ok(std::thread::scope(|scope| {
        let hear = || {
            while !done.load(Relaxed) {
                if let Waited::Signal(signal) = uapi::wait(&signals, Some(Nanos::from_millis(100))) {
                    // It takes one signal only.
                    let _ = caught.set(signal);
                    let what = format!("the end after {}", signal.name());
                    let limit = punctual_watchdog::limit(what, punctual_watchdog::GRACE);
                    stop.store(true, Relaxed);
                    return Some(limit);
                }
            }
            None
        };
        let heard: io::Result<_> = std::thread::Builder::new().name("signals".into()).spawn_scoped(scope, hear);
        if heard.is_err() {
            // Then signals end the program at once; nothing else can be done.
            let _ = uapi::unblock_all();
        }
        let result = work();
        done.store(true, Relaxed);
        drop(heard.map(std::thread::ScopedJoinHandle::join));
        result
    }))
}
