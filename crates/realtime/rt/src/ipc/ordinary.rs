//! Helper threads that must not have the priority of the thread that makes them.

use punctual_uapi as uapi;
use punctual_units::Scheduling;
use std::io;
use std::thread::JoinHandle;

/// Starts a thread under SCHED_OTHER, nice 0, on the CPUs of the process's main thread: a real-time thread's child would inherit its
/// priority and its one CPU (sched(7)).
pub(super) fn spawn<R: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    std::thread::Builder::new().name(name.into()).spawn(move || {
        // Giving priority up is always allowed. Where the CPUs cannot be widened it stays on its maker's.
        let _ = uapi::set_scheduling(0, Scheduling::Other { nice: 0 }, true);
        let main = rustix::process::getpid().as_raw_nonzero().get();
        if let Ok(cpus) = uapi::affinity(main) {
            let _ = uapi::set_affinity(0, &cpus);
        }
        body()
    })
}
