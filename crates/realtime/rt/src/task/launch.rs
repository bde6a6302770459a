//! Start and end of every task's thread.

use crate::task::handle::message;
use crate::task::{End, Shared, Task, TaskUsage};
use crate::{Applied, Attributes, Refused, Rt, stack};
use punctual_units::Nanos;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, mpsc};

/// Why a task was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// Policy, priority or CPU was refused.
    #[error("task {name}: {source}{}", advice(source))]
    Refused {
        /// Name of the task.
        name: String,
        /// What was refused and why.
        source: Refused,
    },
    /// The thread cannot be created: clone(2).
    #[error("task {name}: cannot start its thread: {source}; look at ulimit -u and the memory that is left")]
    Thread {
        /// Name of the task.
        name: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The thread ended before it was ready.
    #[error("task {0}: its thread ended before it was ready")]
    Gone(String),
}

fn advice(refused: &Refused) -> String {
    let known = match refused {
        Refused::Scheduling { wanted, source } => crate::refusal_advice(*wanted, source.errno()),
        Refused::Cpu { .. } => {
            Some("choose one of /sys/devices/system/cpu/online that the cpuset allows (taskset -cp $$)")
        }
        Refused::ReadBack(_) => None,
    };
    known.map(|text| format!(": {text}")).unwrap_or_default()
}

/// Sent by a thread when it is ready.
struct Ready {
    applied: Applied,
    not_resident: Option<String>,
    first: Nanos,
}

/// Starts the thread of a task: memory first, then CPU and policy, then `prepare`, which returns the first release or
/// the current time, then `work` until it ends.
pub(crate) fn launch<P, W>(
    rt: &Rt,
    attributes: Attributes,
    shared: Arc<Shared>,
    prepare: P,
    work: W,
) -> Result<Task, SpawnError>
where
    P: FnOnce() -> Nanos + Send + 'static,
    W: FnOnce(&Shared, Nanos) -> End + Send + 'static,
{
    let (ready, answer) = mpsc::channel();
    let (theirs, stack, name) = (shared.clone(), rt.stack(), shared.name.clone());
    let thread = std::thread::Builder::new()
        .name(name.chars().filter(|c| *c != '\0').collect())
        .stack_size(stack + stack::MARGIN)
        .spawn(move || {
            stack::prefault(stack);
            let not_resident = theirs.record.make_resident().err().map(|error| error.to_string());
            // Nobody receives the answer only if the program itself is ending.
            let applied = match attributes.apply() {
                Ok(applied) => applied,
                Err(refused) => {
                    let _ = ready.send(Err(refused));
                    return End::Stopped;
                }
            };
            let first = prepare();
            theirs.tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
            let _ = ready.send(Ok(Ready { applied, not_resident, first }));
            measured(&theirs, || work(&theirs, first))
        })
        .map_err(|source| SpawnError::Thread { name: name.clone(), source })?;
    match answer.recv() {
        Ok(Ok(Ready { applied, not_resident, first })) => {
            rt.add(&shared);
            Ok(Task { shared, thread, applied, not_resident, first })
        }
        Ok(Err(source)) => Err(SpawnError::Refused { name, source }),
        Err(_) => Err(SpawnError::Gone(name)),
    }
}

/// Runs the work and reads the kernel's counters before and after it; a panic ends only this task.
fn measured(shared: &Shared, work: impl FnOnce() -> End) -> End {
    let tid = shared.tid.load(Relaxed);
    let before = TaskUsage::of(tid);
    shared.usage.lock().unwrap_or_else(PoisonError::into_inner).0 = before;
    let start = TaskUsage::of_caller();
    let end = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| End::Panicked(message(&*panic)));
    let mut used = TaskUsage::of_caller().since(&start);
    used.migrations = TaskUsage::of(tid).since(&before).migrations;
    shared.usage.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(used);
    shared.ended.store(true, Relaxed);
    end
}
