//! The handle of a task, through which the rest of the program stops it and reads its statistics.

use crate::task::{Counted, Record, TaskUsage};
use crate::{Applied, monotonic};
use punctual_uapi as uapi;
use punctual_units::Nanos;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The body, or the [`crate::Miss::SafeState`] function, returned [`crate::Next::Stop`].
    Returned,
    /// The program stopped the task: [`Task::stop`], [`crate::Rt::stop`].
    Stopped,
    /// The task has run its number of cycles ([`crate::PeriodicTask::cycles`]).
    Cycles,
    /// The task was late by a period, and its [`crate::Miss`] policy is [`crate::Miss::Stop`].
    Missed,
    /// The task's source of events failed; [`crate::InterruptStats::failed`] contains the error.
    Failed,
    /// The task's body panicked with this message. Other tasks continue.
    Panicked(String),
}

/// State shared by a task and its handle.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) record: Record,
    pub(crate) stop: AtomicBool,
    /// Thread ID; 0 before the thread runs.
    pub(crate) tid: AtomicI32,
    pub(crate) ended: AtomicBool,
    /// The kernel's counters of the thread when the task began, and, if it has ended, at its end.
    pub(crate) usage: Mutex<(TaskUsage, Option<TaskUsage>)>,
    pub(crate) period: Nanos,
}

impl Shared {
    pub(crate) fn new(name: &str, period: Nanos) -> Shared {
        Shared {
            name: name.into(),
            record: Record::new(period),
            stop: AtomicBool::new(false),
            tid: AtomicI32::new(0),
            ended: AtomicBool::new(false),
            usage: Mutex::default(),
            period,
        }
    }

    /// Asks the task to end, and wakes it repeatedly until it has noticed.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Relaxed);
        let mut pause = Duration::from_micros(100);
        while !self.ended.load(Relaxed) {
            match self.tid.load(Relaxed) {
                0 => {}
                tid if uapi::wake(tid).is_err() => return,
                _ => {}
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    pub(crate) fn usage(&self) -> TaskUsage {
        let (before, end) = *self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        match end {
            Some(end) => end,
            None => TaskUsage::of(self.tid.load(Relaxed)).since(&before),
        }
    }
}

/// A started task. It continues if the handle is dropped; [`Task::stop`] and [`Task::join`] end it.
pub struct Task {
    pub(crate) shared: Arc<Shared>,
    pub(crate) thread: JoinHandle<End>,
    pub(crate) applied: Applied,
    pub(crate) not_resident: Option<String>,
    pub(crate) first: Nanos,
}

/// Statistics of a task, read while it runs or at its end.
#[derive(Clone)]
pub struct TaskStats {
    /// Name of the task.
    pub name: String,
    /// Period of the task.
    pub period: Nanos,
    /// Time at which the statistics were read, CLOCK_MONOTONIC.
    pub at: Nanos,
    /// Releases, lateness and execution times.
    pub counted: Counted,
    /// Counters that the kernel keeps for the task's thread, since its first release.
    pub usage: TaskUsage,
}

/// A task that has ended.
#[derive(Clone)]
pub struct Finished {
    /// How the task ended.
    pub end: End,
    /// The task's final statistics.
    pub stats: TaskStats,
}

impl Task {
    /// Returns the name of the task. Its first 15 bytes are the name of the thread.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns the policy, priority and CPUs in force, as read back from the kernel.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Returns why the task's memory is not locked; `None` if it is locked.
    pub fn not_resident(&self) -> Option<&str> {
        self.not_resident.as_deref().or(self.applied.not_locked.as_deref())
    }

    /// Returns the time of the task's first release, CLOCK_MONOTONIC.
    pub fn first(&self) -> Nanos {
        self.first
    }

    /// Returns true if the task has ended.
    pub fn is_finished(&self) -> bool {
        self.shared.ended.load(Relaxed)
    }

    /// Returns the current statistics, without stopping or slowing the task: reads its counters and a few files of
    /// proc(5). Do not call this from a real-time thread.
    pub fn stats(&self) -> TaskStats {
        stats(&self.shared)
    }

    /// Asks the task to end and waits until it has ended. A running body is not interrupted; a sleeping task is woken.
    pub fn stop(self) -> Finished {
        self.shared.stop();
        self.join()
    }

    /// Waits until the task ends on its own.
    pub fn join(self) -> Finished {
        let Task { shared, thread, .. } = self;
        let end = thread.join().unwrap_or_else(|panic| End::Panicked(message(&*panic)));
        Finished { end, stats: stats(&shared) }
    }
}

fn stats(shared: &Shared) -> TaskStats {
    TaskStats {
        name: shared.name.clone(),
        period: shared.period,
        at: monotonic(),
        counted: shared.record.counted(),
        usage: shared.usage(),
    }
}

/// Returns the message of a panic.
pub(crate) fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".into())
}
