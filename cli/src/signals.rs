//! Work that a signal ends early, with what is done by then.

use punctual_uapi::{self as uapi, Sig, SignalSet, Waited};
use punctual_units::Nanos;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Does the work beside a thread that waits for signals: the first one is put into `caught` and sets `stop`.
///
/// # Errors
/// The signals cannot be blocked.
pub fn heard<T>(stop: &AtomicBool, caught: &OnceLock<Sig>, work: impl FnOnce() -> T) -> Result<T, uapi::Error> {
    let signals = SignalSet::new(&[Sig::Hup, Sig::Int, Sig::Quit, Sig::Term]);
    uapi::block(&signals)?;
    let done = AtomicBool::new(false);
    Ok(std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                if let Waited::Signal(signal) = uapi::wait(&signals, Some(Nanos::from_millis(100))) {
                    // It takes one signal only.
                    let _ = caught.set(signal);
                    stop.store(true, Relaxed);
                    return;
                }
            }
        });
        let result = work();
        done.store(true, Relaxed);
        result
    }))
}
