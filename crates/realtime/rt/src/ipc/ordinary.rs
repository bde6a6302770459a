//! Helper threads without the real-time priority of their creator.

use punctual_uapi::{self as uapi, Sig, SignalSet};
use punctual_units::Scheduling;
use std::io;
use std::thread::JoinHandle;

/// Starts a thread under SCHED_OTHER, nice 0, on the CPUs of the process's main thread: the child of a real-time thread
/// would inherit its priority and its CPU (sched(7)).
pub(super) fn spawn<R: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    std::thread::Builder::new().name(name.into()).spawn(move || {
        // If the reader has closed its end, write(2) should fail instead of ending the program, because C programs do
        // not ignore SIGPIPE. This cannot fail for a valid signal.
        let _ = uapi::block(&SignalSet::new(&[Sig::Pipe]));
        // Lowering the priority is always allowed. If the affinity cannot be widened, the thread stays on its creator's
        // CPUs.
        let _ = uapi::set_scheduling(0, Scheduling::Other { nice: 0 }, true);
        let main = rustix::process::getpid().as_raw_nonzero().get();
        if let Ok(cpus) = uapi::affinity(main) {
            let _ = uapi::set_affinity(0, &cpus);
        }
        body()
    })
}
