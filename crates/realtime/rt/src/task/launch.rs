//! Starts the thread of a task and measures it.

use crate::task::handle::message;
use crate::task::{End, Shared, Task, TaskUsage};
use crate::{Applied, Attributes, Refused, Rt, stack};
use punctual_uapi::SchedFlags;
use punctual_units::Nanos;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, mpsc};

/// Why a task could not be started.
#[derive(thiserror::Error)]
pub enum SpawnError {
    /// The policy, the priority or the CPU was refused.
    #[error("task {name}: {}", source.advised())]
    Refused {
        /// Name of the task.
        name: String,
        /// What was refused and why.
        source: Box<Refused>,
    },
    /// The thread cannot be created: clone(2).
    #[error("task {name}: cannot start its thread: {source}; see `ulimit -u` and `free`")]
    Thread {
        /// Name of the task.
        name: String,
        /// Error of creating the thread.
        source: std::io::Error,
    },
    /// The thread ended before it reported that it was ready.
    #[error("task {0}: its thread ended before it was ready")]
    Gone(String),
}

/// Flags of every task: the threads that it starts get SCHED_OTHER.
pub(crate) const RESET: SchedFlags = SchedFlags { reset_on_fork: true, reclaim: false, overrun_signal: false };

/// Sent by a thread when it is ready.
struct Ready {
    applied: Applied,
    not_resident: Option<String>,
    first: Nanos,
}

/// Starts the thread of a task. The thread first locks its memory, then calls `prepare`, then sets CPU and policy. Then
/// `first` returns the first release or the current time, and `work` runs until the task ends.
///
/// Everything else precedes setting the policy, since it would consume the budget of a SCHED_DEADLINE thread.
pub(crate) fn launch<T, P, F, W>(
    rt: &Rt,
    (attributes, flags): (Attributes, SchedFlags),
    shared: Arc<Shared>,
    prepare: P,
    first: F,
    work: W,
) -> Result<Task, SpawnError>
where
    P: FnOnce() -> T + Send + 'static,
    F: FnOnce() -> Nanos + Send + 'static,
    W: FnOnce(&Shared, Nanos, T) -> End + Send + 'static,
{
    // With a capacity of one, the channel does not allocate when the thread sends.
    let (ready, answer) = mpsc::sync_channel(1);
    let (theirs, stack, name) = (shared.clone(), rt.stack(), shared.name.clone());
    let thread = std::thread::Builder::new()
        .name(name.chars().filter(|c| !c.is_control()).collect())
        .stack_size(stack + stack::MARGIN)
        .spawn(move || {
            stack::prefault(stack);
            let not_resident = theirs.record.make_resident().err().map(|error| error.to_string());
            let prepared = prepare();
            let before = Before::read(&theirs);
            // Sending fails only if the program itself is ending.
            let applied = match attributes.apply_flags(flags) {
                Ok(applied) => applied,
                Err(refused) => {
                    let _ = ready.send(Err(refused));
                    return End::Stopped;
                }
            };
            let first = first();
            let _ = ready.send(Ok(Ready { applied, not_resident, first }));
            before.measure(&theirs, || work(&theirs, first, prepared))
        })
        .map_err(|source| SpawnError::Thread { name: name.clone(), source })?;
    match answer.recv() {
        Ok(Ok(Ready { applied, not_resident, first })) => {
            rt.add(&shared);
            Ok(Task { shared, thread, applied, not_resident, first })
        }
        Ok(Err(source)) => Err(SpawnError::Refused { name, source: source.into() }),
        Err(_) => Err(SpawnError::Gone(name)),
    }
}

/// The kernel's counters of a thread before the task's first release.
struct Before {
    tid: i32,
    by_proc: TaskUsage,
    by_call: TaskUsage,
}

impl Before {
    fn read(shared: &Shared) -> Before {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        shared.tid.store(tid, Relaxed);
        let by_proc = TaskUsage::of(tid);
        shared.usage.lock().unwrap_or_else(PoisonError::into_inner).0 = by_proc;
        Before { tid, by_proc, by_call: TaskUsage::of_caller() }
    }

    /// Runs `work` and reads the counters after it. A panic in `work` ends only this task.
    fn measure(self, shared: &Shared, work: impl FnOnce() -> End) -> End {
        let end = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| End::Panicked(message(&*panic)));
        let mut used = TaskUsage::of_caller().since(&self.by_call);
        used.migrations = TaskUsage::of(self.tid).since(&self.by_proc).migrations;
        shared.usage.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(used);
        shared.ended.store(true, Relaxed);
        end
    }
}

punctual_units::debug_as_display!(SpawnError);
