//! A scheduling experiment, predicted and measured: `punctual sched`.

use punctual_units::{CpuId, CpuList, Nanos, Scheduling};
use serde::{Deserialize, Serialize};

/// The schema of [`Experiment`].
pub const EXPERIMENT_SCHEMA: &str = "punctual.sched/1";

/// A thread's time is accounted for where no more than this share of it is missing.
pub const ACCOUNTED: f64 = 0.005;
/// A thread's end is explained where no more than this share of its time is left over.
pub const EXPLAINED: f64 = 0.03;
/// Nor does less than this count: a wakeup's latency, a clock's read.
const TOO_SHORT: u64 = 1_000_000;

/// `experiment.json`: what was to run, what was predicted, what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Experiment {
    /// `punctual.sched/1`.
    pub schema: String,
    /// Its name: `case-3`.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// CPU time of an amount of 1.
    pub scale_ns: Nanos,
    /// The CPU of pinned threads.
    pub pinned: CpuId,
    /// The CPUs of free ones.
    pub free: CpuList,
    /// What the kernel's scheduler is set to.
    pub system: SchedSettings,
    /// In the order of their release where that is the same.
    pub threads: Vec<PlannedThread>,
    /// In the order they ran.
    pub repetitions: Vec<Repetition>,
    /// Why run, wait and sleep are not from sched_switch; `None`: they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untraced: Option<String>,
    /// What the reader should know but what decides nothing.
    pub notes: Vec<String>,
    /// Did a signal end it early?
    pub interrupted: bool,
}

/// What the predictions need to know of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SchedSettings {
    /// Slice of SCHED_RR: /proc/sys/kernel/sched_rr_timeslice_ms; `None`: not readable.
    pub rr_quantum_ns: Option<Nanos>,
    /// What real-time threads may use of a CPU; `None`: all of it.
    pub limit: Option<RtLimit>,
    /// CPUs that are online.
    pub online: CpuList,
}

/// A bound on real-time threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtLimit {
    /// CPU time in each period.
    pub runtime_ns: Nanos,
    /// The period.
    pub period_ns: Nanos,
    /// Who bounds them, and where that was read.
    pub by: String,
    /// Also where no ordinary thread wants the CPU: RT throttling, and not the fair server.
    #[serde(default)]
    pub always: bool,
}

/// A thread as it was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedThread {
    /// `App #1`.
    pub name: String,
    /// Policy with its parameters.
    pub scheduling: Scheduling,
    /// CPUs it may run on.
    pub cpus: CpuList,
    /// `canny`, `busy`, …
    pub workload: String,
    /// Released so long after the experiment's beginning.
    pub offset_ns: Nanos,
    /// Steps of its work; `None`: as many as fit until the experiment ends.
    pub steps: Option<u64>,
    /// CPU time of that work when calibrated alone (C).
    pub alone_ns: Option<Nanos>,
    /// What was predicted from it.
    pub predicted: Prediction,
    /// The bound of response-time analysis on each of its periods; `None`: it is not periodic, or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<Nanos>,
}

/// When a thread begins and ends, from its release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// From its release until it first has a CPU.
    pub begins_ns: Nanos,
    /// From its release to its end; `None`: not within the time simulated.
    pub ends_ns: Option<Nanos>,
}

/// One pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repetition {
    /// CLOCK_MONOTONIC of its beginning.
    pub start_mono_ns: u64,
    /// The threads, as in [`Experiment::threads`].
    pub threads: Vec<RanThread>,
    /// Who had which CPU when, since the beginning, in order of time; what is too short to draw is joined.
    pub spans: Vec<GanttSpan>,
    /// Times an ordinary task ran while a real-time thread of the experiment waited for the same CPU.
    pub held: Vec<Held>,
    /// Other tasks that took CPU time from the threads, the most first.
    pub others: Vec<OtherTask>,
    /// Why its figures are not whole.
    pub problems: Vec<String>,
}

/// A thread as it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RanThread {
    /// Its thread id.
    pub tid: i32,
    /// Did it do all its work?
    pub whole: bool,
    /// From the experiment's beginning to its release.
    pub released_ns: Nanos,
    /// From its release to its first step.
    pub begins_ns: Nanos,
    /// From its first step to its last: the seed's "Workload time".
    pub workload_ns: Nanos,
    /// From its release to its end: the seed's "Elapsed".
    pub elapsed_ns: Nanos,
    /// CPU time it was charged (CLOCK_THREAD_CPUTIME_ID).
    pub charged_ns: Nanos,
    /// Page faults in its work; `None`: not known.
    pub page_faults: Option<u64>,
    /// Where the elapsed time went.
    pub account: TimeAccount,
    /// What was predicted from the CPU time it was charged here instead of that calibrated alone.
    pub as_charged: Prediction,
    /// Steal, and CPU time of others, that delayed its end; `None`: not known.
    pub taken: Option<Taken>,
    /// How much later (negative: earlier) it ended than if every runnable ordinary thread had gone at once to the CPU with most room,
    /// as the prediction has it; `None`: it stays on one CPU, is a real-time thread, or that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance_ns: Option<i64>,
    /// Longest time from the beginning of a period to the end of its work, of periodic threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_response_ns: Option<Nanos>,
}

/// Where a thread's elapsed time went; `None`: not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeAccount {
    /// Runs as charged by the kernel, without steal.
    pub run_ns: Nanos,
    /// It was runnable, and something else had the CPU.
    pub wait_ns: Option<Nanos>,
    /// It slept.
    pub blocked_ns: Option<Nanos>,
    /// It had the CPU and was charged less: the hypervisor's, and interrupts where the kernel counts them apart.
    pub steal_ns: Option<Nanos>,
    /// The wait as /proc/thread-self/schedstat has it.
    pub schedstat_wait_ns: Option<Nanos>,
    /// Steal of all CPUs it may run on in that time (/proc/stat, steps of 10 ms).
    pub machine_steal_ns: Option<Nanos>,
}

/// What delayed a thread's end and is no part of the experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Taken {
    /// By the hypervisor.
    pub steal_ns: Nanos,
    /// By tasks that are none of the experiment's, where the prediction has nobody run.
    pub others_ns: Nanos,
}

/// A stretch of a thread's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GanttSpan {
    /// Which thread, from 0.
    pub thread: usize,
    /// The CPU it ran on or waits for; `None`: not known.
    pub cpu: Option<CpuId>,
    /// What it did.
    pub doing: Doing,
    /// Since the experiment's beginning.
    pub from_ns: Nanos,
    /// Since the experiment's beginning.
    pub to_ns: Nanos,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    /// It has the CPU.
    Runs,
    /// It has the CPU by turns too short to draw.
    Shares,
    /// It is runnable.
    Waits,
    /// It sleeps.
    Sleeps,
}

/// An ordinary task ran while a real-time thread of the experiment waited for the same CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Held {
    /// Since the experiment's beginning.
    pub from_ns: Nanos,
    /// How long.
    pub lasted_ns: Nanos,
    /// Where.
    pub cpu: CpuId,
}

/// A task that is none of the experiment's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherTask {
    /// Its name.
    pub comm: String,
    /// CPU time it had while a thread of the experiment waited there.
    pub took_ns: Nanos,
}

impl TimeAccount {
    /// Run, wait, sleep and steal together; `None` where one is not known.
    pub fn sum(&self) -> Option<Nanos> {
        let parts = [self.run_ns, self.wait_ns?, self.blocked_ns?, self.steal_ns?];
        Some(parts.into_iter().fold(Nanos::ZERO, |sum, part| Nanos(sum.0.saturating_add(part.0))))
    }
}

impl RanThread {
    /// What of the elapsed time is neither run, wait, sleep nor steal, as a share of it.
    pub fn unaccounted(&self) -> Option<f64> {
        let sum = self.account.sum()?;
        Some((self.elapsed_ns.0 as f64 - sum.0 as f64).abs() / self.elapsed_ns.0.max(1) as f64)
    }

    /// Measured minus what the prediction as charged, steal, others and the balancing of CPUs explain, ns.
    pub fn rest_ns(&self) -> Option<i64> {
        let (ends, taken) = (self.as_charged.ends_ns?, self.taken?);
        let explained = ends.0.saturating_add(taken.steal_ns.0).saturating_add(taken.others_ns.0);
        let moved = i128::from(self.balance_ns.unwrap_or(0));
        i64::try_from(i128::from(self.elapsed_ns.0) - i128::from(explained) - moved).ok()
    }

    /// That rest as a share of the elapsed time; its sign is that of the rest.
    pub fn rest(&self) -> Option<f64> {
        Some(self.rest_ns()? as f64 / self.elapsed_ns.0.max(1) as f64)
    }

    /// Are run, wait, sleep and steal the elapsed time? `None`: not all are known.
    pub fn is_accounted(&self) -> Option<bool> {
        Some(self.unaccounted()? <= ACCOUNTED)
    }

    /// Does the prediction, with what was charged and taken, explain its end? `None`: not all is known.
    pub fn is_explained(&self) -> Option<bool> {
        Some(self.rest()?.abs() <= EXPLAINED || self.rest_ns()?.unsigned_abs() < TOO_SHORT)
    }
}
