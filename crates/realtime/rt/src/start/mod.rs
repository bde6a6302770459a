//! Checks the requirements of a real-time program and reports the results before its first task starts.

mod admission;
mod checks;
mod isolated;
mod probe;
mod report;
mod throttling;

pub(crate) use admission::explain as explain_admission;
pub use admission::{Admission, Reservation};
pub use checks::Check;
pub use report::{Checked, Outcome, Report, Severity};

use crate::interrupt::{InterruptTask, Source};
use crate::monotonic;
use crate::task::{PeriodicTask, Shared};
use probe::Machine;
use punctual_uapi as uapi;
use punctual_units::{Nanos, Scheduling};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Default size of the prefaulted part of a stack, bytes.
const STACK: usize = 256 << 10;

/// Requirements of a program, checked before it starts; created by [`Rt::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing is checked or locked before start()"]
pub struct Builder {
    lock: bool,
    silent: bool,
    stack: usize,
    checks: Vec<(Check, Severity)>,
}

impl Builder {
    /// Locks all memory of the program, present and future, and keeps the C library's heap from returning memory to the
    /// kernel: mlockall(2), mallopt(3). The stacks of threads started later are then fully resident.
    pub fn lock_memory(mut self) -> Builder {
        self.lock = true;
        self
    }

    /// Sets the number of bytes of each task's stack that are written before its first release; the stack is a little
    /// larger. The default is 256 KiB.
    pub fn prefault_stack(mut self, bytes: usize) -> Builder {
        self.stack = bytes;
        self
    }

    /// Refuses to start if this check fails or cannot be made.
    pub fn require(mut self, check: Check) -> Builder {
        self.checks.push((check, Severity::Required));
        self
    }

    /// Starts even if this check fails or cannot be made: [`Builder::start`] prints a warning on standard error, and
    /// the report contains the result.
    pub fn warn(mut self, check: Check) -> Builder {
        self.checks.push((check, Severity::Wanted));
        self
    }

    /// Prints no warnings, for a program that shows [`Rt::report`] itself.
    pub fn silence_warnings(mut self) -> Builder {
        self.silent = true;
        self
    }

    /// Runs the checks, prints a line on standard error for each that failed or could not be made (unless
    /// [`Builder::silence_warnings`] was called), locks memory, and sets the epoch of all tasks to the current time.
    ///
    /// # Errors
    /// [`StartError`]. If a required check failed, it contains the whole report.
    pub fn start(self) -> Result<Rt, StartError> {
        let machine = Machine::live();
        let checked = self.checks.iter().map(|(check, severity)| check.make(&machine, *severity)).collect();
        let report = Report { checked };
        if report.failed_required() {
            return Err(StartError::Required(report));
        }
        if !self.silent {
            // If standard error is closed, that is the program's choice.
            let _ = report.warn(&mut std::io::stderr().lock());
        }
        if self.lock {
            uapi::one_heap();
            uapi::keep_heap();
            uapi::lock_all().map_err(StartError::Lock)?;
        }
        uapi::install_wakeup().map_err(StartError::Signal)?;
        let tasks = Mutex::default();
        Ok(Rt { stack: self.stack.max(32 << 10), epoch: monotonic(), report, tasks })
    }
}

/// Why a program could not start.
#[derive(thiserror::Error)]
pub enum StartError {
    /// A required check failed.
    #[error("this machine is not ready for real time:\n{0}")]
    Required(Report),
    /// Memory cannot be locked.
    #[error(
        "cannot lock memory: {0}; run as root, or grant CAP_IPC_LOCK (setcap cap_ipc_lock,cap_sys_nice+ep PROGRAM), or raise \
         memlock in /etc/security/limits.d and log in again"
    )]
    Lock(uapi::Error),
    /// The signal that wakes sleeping tasks cannot be installed.
    #[error("cannot install the signal that wakes tasks: {0}")]
    Signal(uapi::Error),
}

/// A started real-time program: creates tasks, and stops them together.
///
/// ```no_run
/// use punctual_rt::{Check, CpuId, Miss, Nanos, Next, Rt, Scheduling};
/// let rt = Rt::builder().lock_memory().warn(Check::PreemptRt).require(Check::Priority(80)).start()?;
/// let scheduling = Scheduling::Fifo { priority: 80.try_into()? };
/// let task = rt.periodic("control", scheduling, Nanos::from_millis(1)).cpu(CpuId(1)).on_miss(Miss::Skip).spawn(|cycle| {
///     let _elapsed = cycle.scheduled;
///     Next::Continue
/// })?;
/// rt.until_signal();
/// println!("{}", task.stats());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rt {
    stack: usize,
    epoch: Nanos,
    report: Report,
    tasks: Mutex<Vec<Weak<Shared>>>,
}

impl Rt {
    /// Returns a builder without checks or memory locking.
    pub fn builder() -> Builder {
        Builder { lock: false, silent: false, stack: STACK, checks: Vec::new() }
    }

    /// Returns the results of the checks.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the epoch, the instant on CLOCK_MONOTONIC from which the releases of all tasks are counted.
    pub fn epoch(&self) -> Nanos {
        self.epoch
    }

    /// Describes a task that runs every `period`. [`PeriodicTask::spawn`] starts it.
    pub fn periodic(&self, name: &str, scheduling: Scheduling, period: Nanos) -> PeriodicTask<'_> {
        PeriodicTask::new(self, name, scheduling, period)
    }

    /// Describes a SCHED_DEADLINE task that runs every `period`, for up to `runtime`, and finishes by `deadline` after
    /// the release: sched(7), Documentation/scheduler/sched-deadline.rst. The kernel refuses a reservation that does
    /// not fit beside the existing ones ([`crate::Admission`] reports what would fit). It stops a task that has used up
    /// its runtime until its next period; [`Cycle::overruns`](crate::Cycle::overruns) counts how often.
    ///
    /// The task must not be pinned, except to the only CPU of its root domain (a cpuset partition of one CPU). It may
    /// run on any CPU of the domain. The kernel checks the runtime at ticks: a job may exceed it by one tick.
    ///
    /// Starting the task blocks SIGXCPU in the calling thread, so that the kernel delivers the signal to the task that
    /// overran.
    ///
    /// If the deadline is before the end of the period, the task skips one release after a late activation.
    /// [`PeriodicTask::late_activation`] explains this, and what the kernel would do otherwise.
    pub fn deadline(&self, name: &str, runtime: Nanos, deadline: Nanos, period: Nanos) -> PeriodicTask<'_> {
        let scheduling = Scheduling::Deadline { runtime_ns: runtime, deadline_ns: deadline, period_ns: period };
        PeriodicTask::new(self, name, scheduling, period).deadline(deadline)
    }

    /// Describes a task that runs on every event of `source`: an edge of a GPIO line, an interrupt of a UIO device, a
    /// timer. [`InterruptTask::spawn`] starts it.
    pub fn interrupt<S: Source + 'static>(
        &self,
        name: &str,
        scheduling: Scheduling,
        source: S,
    ) -> InterruptTask<'_, S> {
        InterruptTask::new(self, name, scheduling, source)
    }

    /// Stops every task and waits until each body has returned. The handles of the tasks still return the statistics.
    pub fn stop(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.iter().filter_map(Weak::upgrade).for_each(|task| task.stop());
    }

    /// Sleeps until SIGINT, SIGTERM or SIGHUP arrives, then calls [`Rt::stop`]. Block the signals with
    /// [`block_signals`] before the first thread starts.
    ///
    /// [`block_signals`]: crate::block_signals
    pub fn until_signal(&self) {
        let set = ending();
        // Blocks the signals at least in this thread. If another thread receives one, it ends the program.
        let _ = uapi::block(&set);
        while uapi::wait(&set, None) == uapi::Waited::TimedOut {}
        self.stop();
    }

    /// Like [`Rt::until_signal`], but waits at most until `until` on CLOCK_MONOTONIC. Returns true if a signal arrived;
    /// in this case all tasks have been stopped.
    pub fn until_signal_or(&self, until: Nanos) -> bool {
        let set = ending();
        let _ = uapi::block(&set);
        let left = Nanos(until.0.saturating_sub(monotonic().0));
        let came = uapi::wait(&set, Some(left)) != uapi::Waited::TimedOut;
        if came {
            self.stop();
        }
        came
    }

    pub(crate) fn stack(&self) -> usize {
        self.stack
    }

    pub(crate) fn add(&self, task: &Arc<Shared>) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(task));
    }
}

/// Returns the signals that end the program. An ignored SIGHUP is not one of them: nohup(1) started the program, and a
/// blocked SIGHUP would be received although it is ignored. SIGINT is always one of them, although shells make
/// background jobs of scripts ignore it.
fn ending() -> uapi::SignalSet {
    let all = [uapi::Sig::Int, uapi::Sig::Term, uapi::Sig::Hup];
    uapi::SignalSet::new(if uapi::is_ignored(uapi::Sig::Hup) { &all[..2] } else { &all })
}

/// Blocks SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup(1)) in the calling thread and in the threads that it
/// starts, so that [`Rt::until_signal`] receives them. Call it at the start of `main`.
///
/// # Errors
/// Cannot fail on Linux.
pub fn block_signals() -> Result<(), uapi::Error> {
    uapi::block(&ending())
}

punctual_units::debug_as_display!(StartError);
