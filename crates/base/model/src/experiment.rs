//! Scheduling experiments, predicted and measured: `punctual sched`.

use punctual_units::{CpuId, CpuList, Nanos, Scheduling};
use serde::{Deserialize, Serialize};

/// Version 2: [`RanThread::as_charged`] takes steal time and the CPU time of other tasks into account.
pub const EXPERIMENT_SCHEMA: &str = "punctual.sched/2";

/// Maximum share of a thread's elapsed time that may be missing from the sum of its run, wait, sleep and steal time.
pub const ACCOUNTED: f64 = 0.005;
/// Maximum share of a thread's elapsed time that the prediction may leave unexplained.
pub const EXPLAINED: f64 = 0.03;
/// Largest difference between the latest and the earliest predicted end, as a share of the end. Bounds that are further
/// apart do not explain the measured end.
pub const NARROW: f64 = 0.1;
/// Unexplained times below this value, in ns, are always accepted, because a wakeup latency or a clock read can take as
/// long.
const TOO_SHORT: u64 = 1_000_000;

/// `experiment.json`: plan, prediction and measurement of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Experiment {
    pub schema: String,
    /// Name of the experiment, for example `case-3`.
    pub name: String,
    /// What the experiment shows.
    pub about: String,
    /// CPU time of one unit of work.
    pub scale_ns: Nanos,
    /// CPU of the pinned threads.
    pub pinned: CpuId,
    /// CPUs of the other threads.
    pub free: CpuList,
    /// Settings of the kernel's scheduler.
    pub system: SchedSettings,
    /// The threads; threads with the same release time are released in this order.
    pub threads: Vec<PlannedThread>,
    /// Repetitions in the order in which they ran.
    pub repetitions: Vec<Repetition>,
    /// The reason why run, wait and sleep times do not come from sched_switch; absent if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untraced: Option<String>,
    /// Remarks that do not affect the result.
    pub notes: Vec<String>,
    /// True if a signal ended the experiment early.
    pub interrupted: bool,
}

impl Experiment {
    /// Drops the predictions from the charged time if an earlier version wrote them, since their differences have
    /// another meaning. In that case, adds a note.
    pub fn comparable(mut self) -> Experiment {
        if self.schema != EXPERIMENT_SCHEMA {
            let threads = self.repetitions.iter_mut().flat_map(|repetition| &mut repetition.threads);
            threads.for_each(|thread| thread.as_charged = Prediction::default());
            self.notes.push(format!(
                "this run has schema {} instead of {EXPERIMENT_SCHEMA}: its predictions from the charged time have another \
                 meaning and are left out; repeat the run to judge it",
                self.schema
            ));
        }
        self
    }
}

/// Kernel settings on which the predictions depend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SchedSettings {
    /// SCHED_RR time slice, from /proc/sys/kernel/sched_rr_timeslice_ms; null if not readable.
    pub rr_quantum_ns: Option<Nanos>,
    /// Limit on the CPU time of real-time threads; null if there is none.
    pub limit: Option<RtLimit>,
    pub online: CpuList,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtLimit {
    /// CPU time that real-time threads may use per `period_ns`.
    pub runtime_ns: Nanos,
    pub period_ns: Nanos,
    /// Mechanism that imposes the limit, and the file from which the limit was read.
    pub by: String,
    /// True if the limit also applies when no fair thread is runnable, as with RT throttling; false for the fair
    /// server.
    #[serde(default)]
    pub always: bool,
    /// True if the kernel has fair servers with the same limit besides RT throttling, as with CONFIG_RT_GROUP_SCHED since
    /// Linux 6.12.
    #[serde(default)]
    pub fair_server: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedThread {
    /// Name in the experiment, for example `App #1`.
    pub name: String,
    pub scheduling: Scheduling,
    /// CPUs on which the thread may run.
    pub cpus: CpuList,
    /// Name of the workload, for example `canny` or `busy`.
    pub workload: String,
    /// Release time since the start of the experiment.
    pub offset_ns: Nanos,
    /// Number of steps; null to run until the experiment ends.
    pub steps: Option<u64>,
    /// CPU time of the work, calibrated without other threads (C in scheduling theory); null if not calibrated.
    pub alone_ns: Option<Nanos>,
    /// Prediction from the calibrated time.
    pub predicted: Prediction,
    /// Upper bound on the response time in each period, from response-time analysis. It is computed from the mean
    /// calibrated work, so longer jobs may exceed it. Absent if the thread is not periodic or no bound exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<Nanos>,
}

/// Predicted times at which a thread begins and ends, relative to its release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Time from the thread's release until it first gets a CPU.
    pub begins_ns: Nanos,
    /// Time from the thread's release to its end; null if it does not end within the simulated time.
    pub ends_ns: Option<Nanos>,
    /// Earliest end in simulations with slightly more or less work and with other outcomes of what the kernel leaves to
    /// chance; `ends_ns` is the median of all these ends. Absent if not before `ends_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earliest_ns: Option<Nanos>,
    /// Latest end in the simulations described at `earliest_ns`. Absent if not after `ends_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_ns: Option<Nanos>,
}

impl Prediction {
    /// Returns the earliest and the latest predicted end; `None` if the thread does not end within the simulated time.
    pub fn bounds(&self) -> Option<(Nanos, Nanos)> {
        let ends = self.ends_ns?;
        let (earliest, latest) = (self.earliest_ns.unwrap_or(ends), self.latest_ns.unwrap_or(ends));
        Some((earliest.min(ends), latest.max(ends)))
    }

    /// Returns the point in time nearest to `end` in the range from the earliest to the latest predicted end.
    pub fn nearest(&self, end: Nanos) -> Option<Nanos> {
        self.bounds().map(|(earliest, latest)| end.clamp(earliest, latest))
    }

    /// Returns the difference between the latest and the earliest end, as a share of the end.
    pub fn width(&self) -> Option<f64> {
        let (earliest, latest) = self.bounds()?;
        Some((latest.0 - earliest.0) as f64 / self.ends_ns?.0.max(1) as f64)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repetition {
    /// CLOCK_MONOTONIC time at the start of the repetition.
    pub start_mono_ns: u64,
    /// Results of the threads, in the order of [`Experiment::threads`].
    pub threads: Vec<RanThread>,
    /// Intervals in which a thread had a CPU, in chronological order; intervals too short to draw are merged.
    pub spans: Vec<GanttSpan>,
    /// Intervals in which a fair task ran while a real-time thread of the experiment waited for the same CPU.
    pub held: Vec<Held>,
    /// Other tasks that took CPU time from the threads, largest first.
    pub others: Vec<OtherTask>,
    /// Reasons why the results are incomplete.
    pub problems: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RanThread {
    pub tid: i32,
    /// True if the thread completed all of its work.
    pub whole: bool,
    /// Time from the start of the experiment to the thread's release.
    pub released_ns: Nanos,
    /// Time from the thread's release to its first step.
    pub begins_ns: Nanos,
    /// Time from the thread's first step to its last ("Workload time" of the original experiment).
    pub workload_ns: Nanos,
    /// Time from the thread's release to its end ("Elapsed" of the original experiment).
    pub elapsed_ns: Nanos,
    /// CPU time charged to the thread (CLOCK_THREAD_CPUTIME_ID).
    pub charged_ns: Nanos,
    /// Number of page faults during the thread's work; null if unknown.
    pub page_faults: Option<u64>,
    pub account: TimeAccount,
    /// Prediction computed from the CPU time charged in this run, not from the calibrated time.
    pub as_charged: Prediction,
    /// Steal time and CPU time of other tasks that delayed the thread's end; null if unknown.
    pub taken: Option<Taken>,
    /// Longest response time of a periodic thread, from the start of a period to the end of its work; absent if the
    /// thread is not periodic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_response_ns: Option<Nanos>,
}

/// Breakdown of a thread's elapsed time. Null values are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeAccount {
    /// Run time charged by the kernel, without steal time.
    pub run_ns: Nanos,
    /// Time for which the thread was runnable while another task had the CPU.
    pub wait_ns: Option<Nanos>,
    pub blocked_ns: Option<Nanos>,
    /// Time for which the thread had the CPU but was not charged: time used by the hypervisor, and by interrupts if the
    /// kernel accounts them separately.
    pub steal_ns: Option<Nanos>,
    /// Wait time according to /proc/thread-self/schedstat.
    pub schedstat_wait_ns: Option<Nanos>,
    /// Steal time of all CPUs on which the thread may run, from /proc/stat, in steps of 10 ms.
    pub machine_steal_ns: Option<Nanos>,
}

/// Times by which causes outside the experiment delayed the end of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Taken {
    /// Steal time that delayed the thread's end.
    pub steal_ns: Nanos,
    /// CPU time of tasks outside the experiment, which the prediction ignores.
    pub others_ns: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GanttSpan {
    /// Index of the thread in [`Experiment::threads`].
    pub thread: usize,
    /// CPU on which the thread ran or for which it waits; null if unknown.
    pub cpu: Option<CpuId>,
    pub doing: Doing,
    /// Start of the interval, measured from the start of the experiment.
    pub from_ns: Nanos,
    /// End of the interval, measured from the start of the experiment.
    pub to_ns: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    Runs,
    /// The thread runs in intervals that are too short to draw separately.
    Shares,
    Waits,
    Sleeps,
}

/// A fair task ran while a real-time thread of the experiment waited for the same CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Held {
    /// Start of the interval, measured from the start of the experiment.
    pub from_ns: Nanos,
    pub lasted_ns: Nanos,
    pub cpu: CpuId,
    /// The interval ended when the timer of RT throttling started a period, which ends throttling.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_at_period: bool,
}

/// A task outside the experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherTask {
    pub comm: String,
    /// CPU time used while a thread of the experiment waited for that CPU.
    pub took_ns: Nanos,
}

impl TimeAccount {
    /// Returns the sum of run, wait, sleep and steal time; `None` if one of them is unknown.
    pub fn sum(&self) -> Option<Nanos> {
        let parts = [self.run_ns, self.wait_ns?, self.blocked_ns?, self.steal_ns?];
        Some(parts.into_iter().fold(Nanos::ZERO, |sum, part| Nanos(sum.0.saturating_add(part.0))))
    }
}

impl RanThread {
    /// Returns the share of the elapsed time that is neither run, wait, sleep nor steal time; `None` if one of these
    /// times is unknown.
    pub fn unaccounted(&self) -> Option<f64> {
        let sum = self.account.sum()?;
        Some((self.elapsed_ns.0 as f64 - sum.0 as f64).abs() / self.elapsed_ns.0.max(1) as f64)
    }

    /// Returns the elapsed time minus the nearest end predicted from the charged time, steal time and other tasks, ns;
    /// 0 if the thread ended between its earliest and latest predicted end; `None` if the steal time and the CPU time
    /// of other tasks are unknown.
    pub fn rest_ns(&self) -> Option<i64> {
        self.beyond(self.as_charged.nearest(self.elapsed_ns))
    }

    fn beyond(&self, predicted: Option<Nanos>) -> Option<i64> {
        self.taken?;
        i64::try_from(i128::from(self.elapsed_ns.0) - i128::from(predicted?.0)).ok()
    }

    /// Returns the unexplained time as a share of the elapsed time; negative if the thread ended earlier than
    /// explained.
    pub fn rest(&self) -> Option<f64> {
        Some(self.rest_ns()? as f64 / self.elapsed_ns.0.max(1) as f64)
    }

    /// Returns the difference between the measured end and the predicted end itself (not its bounds), as a share of the
    /// elapsed time.
    pub fn miss(&self) -> Option<f64> {
        Some(self.beyond(self.as_charged.ends_ns)? as f64 / self.elapsed_ns.0.max(1) as f64)
    }

    /// Returns true if run, wait, sleep and steal time add up to the elapsed time; `None` if one of them is unknown.
    pub fn is_accounted(&self) -> Option<bool> {
        Some(self.unaccounted()? <= ACCOUNTED)
    }

    /// Returns true if the end predicted from the charged time, steal time and other tasks explains when the thread
    /// ended; `None` if one of these times is unknown, if it is explained only by bounds that are wider than
    /// [`NARROW`], or if other tasks took at least as much time as is unexplained: on other CPUs, the threads might
    /// have avoided these tasks.
    pub fn is_explained(&self) -> Option<bool> {
        let elapsed = self.elapsed_ns.0.max(1) as f64;
        let small = |rest: i64| rest.unsigned_abs() as f64 / elapsed <= EXPLAINED || rest.unsigned_abs() < TOO_SHORT;
        if small(self.beyond(self.as_charged.ends_ns)?) {
            return Some(true);
        }
        let (rest, others) = (self.rest_ns()?, self.taken?.others_ns.0);
        match (small(rest), self.as_charged.width()? <= NARROW) {
            (true, narrow) => narrow.then_some(true),
            (false, _) => (rest.unsigned_abs() > others).then_some(false),
        }
    }
}
