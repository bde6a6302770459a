//! A run, its phases, and its settings.

use crate::{
    BlockMaximum, Blocks, Blur, Claim, Episodes, Event, Import, LoadReport, Look, MachineFacts, OwnCost, PhaseTrace,
    Problem, Round, Tracing, UntilDecided, Worst,
};
use punctual_units::{CpuId, CpuList, Histogram, Nanos, Scheduling, WakeupSource};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of [`Run::schema`]; the number after the slash is the major version.
pub const RUN_SCHEMA: &str = "punctual.run/1";
/// Major and minor version. A new minor version only adds fields.
pub const RUN_SCHEMA_VERSION: &str = "1.8";

/// `run.json`: everything about a run except its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// `punctual.run/1`. Readers accept any newer minor version and refuse a newer major version.
    pub schema: String,
    /// `major.minor`, for example `1.0`.
    pub schema_version: String,
    pub tool: Tool,
    pub kind: Kind,
    /// Whether every phase ran to its planned end.
    pub complete: bool,
    /// How it ended; null while it runs, or if it was killed.
    pub ended_by: Option<EndedBy>,
    /// Start; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Stamp>,
    /// End; null while it runs, or if unknown.
    pub ended: Option<Stamp>,
    /// Host name in the form that the user allows to be disclosed; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub command: Vec<String>,
    pub settings: Settings,
    /// Origin and losses of an imported run; absent if measured by this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<Import>,
    /// Clock model of an emulator whose clock counts instructions; absent for real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_time: Option<VirtualTime>,
    pub machine: MachineFacts,
    /// How late wakeups were traced; absent if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// In the order in which they ran.
    pub phases: Vec<Phase>,
    /// Each check of the claims that decided whether to continue measuring; empty if the length was fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<Look>,
    /// Problems that make every phase inconclusive; those of a single phase are in the phase.
    pub problems: Vec<Problem>,
    /// Remarks that do not affect the verdict, for example a fallback that was used or a setting that was not changed.
    pub notes: Vec<String>,
    /// Cost of measuring; null if unknown.
    pub cost: Option<OwnCost>,
}

impl Run {
    /// An incomplete run without settings, phases or machine facts.
    pub fn new(tool: Tool, kind: Kind) -> Run {
        Run {
            schema: RUN_SCHEMA.into(),
            schema_version: RUN_SCHEMA_VERSION.into(),
            tool,
            kind,
            complete: false,
            ended_by: None,
            started: None,
            ended: None,
            host: None,
            command: Vec::new(),
            settings: Settings::default(),
            import: None,
            virtual_time: None,
            machine: MachineFacts::default(),
            tracing: None,
            phases: Vec::new(),
            looks: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            cost: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// `punctual`, or the tool an imported file came from.
    pub name: String,
    /// Absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Tool {
    /// This program in its version.
    pub fn punctual() -> Tool {
        Tool { name: "punctual".into(), version: Some(env!("CARGO_PKG_VERSION").into()) }
    }
}

/// What a run contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Latency,
    /// Read from another tool's file.
    Imported,
    /// The event suite: all results are in `suite.json`, none in the phases.
    Events,
    /// A scheduling experiment: all results are in `experiment.json`, none in the phases.
    Sched,
    /// A benchmark: all results are in `bench.json`, none in the phases.
    Bench,
    /// A kind from a later version.
    #[serde(other)]
    Unknown,
}

/// One instant on three clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stamp {
    pub mono_ns: u64,
    /// CLOCK_BOOTTIME; differs from CLOCK_MONOTONIC by the time suspended.
    pub boot_ns: u64,
    /// CLOCK_REALTIME, ns since 1970; may step.
    pub real_ns: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum EndedBy {
    Duration,
    /// By a signal; results up to then are complete.
    Signal {
        number: i32,
        /// For example `SIGINT`.
        name: String,
    },
    Error {
        text: String,
    },
    /// Set by the reader if no end was recorded: the process was killed, or power failed.
    Killed,
    /// A value from a later version.
    #[serde(other)]
    Unknown,
}

/// Settings of a run, with every default filled in. Null or absent values are not stated by an imported file.
/// [`Settings::default`] is for a run without measuring threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// Clock and system call, for example `CLOCK_MONOTONIC, clock_nanosleep absolute`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Wakeup source of the measuring threads; if absent, [`Settings::clock`] has all that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<WakeupSource>,
    /// Requested policy and priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
    /// Whether the user chose policy or priority: if so a refusal is an error, otherwise there is a fallback.
    pub scheduling_explicit: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<Nanos>,
    /// Measured CPUs; empty for an imported run, whose phases have them.
    pub cpus: CpuList,
    /// How the releases on different CPUs are aligned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<Alignment>,
    /// Total measuring time over all phases, without warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<Nanos>,
    /// Time at the start of each phase that is not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_ns: Option<Nanos>,
    /// The load of each phase, in order.
    pub loads: Vec<String>,
    /// Exit-latency limit held in /dev/cpu_dma_latency while measuring, µs; null if not set or not stated.
    pub cpu_dma_latency_us: Option<i32>,
    /// Whether the machine's counters were sampled.
    pub context: bool,
    /// Number of worst wakeups kept per phase and CPU.
    pub worst_kept: usize,
    /// Deadline of a wakeup; null if none was given.
    pub deadline_ns: Option<Nanos>,
    pub claims: Vec<Claim>,
    /// Present if measuring continued until the claims were decided; `duration_ns` is then the time until the first
    /// check. Absent if `duration_ns` was the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_decided: Option<UntilDecided>,
    /// Length of the blocks whose maxima were kept; absent if none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maxima_block_ns: Option<Nanos>,
}

/// A clock that counts instructions: QEMU's `-icount shift=N,sleep=off`. It models the kernel's work, not a board:
/// every instruction takes the same time, there are no caches and no firmware, and several CPUs take turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualTime {
    /// Name and version of the emulator.
    pub emulator: String,
    pub machine: String,
    /// The booted kernel, as named by the user.
    pub kernel: String,
    pub instruction_ns: u32,
    /// Number of virtual CPUs; with more than one, claims are judged only if the control passes.
    pub cpus: u32,
    /// Seed that varies the phase, the order of the loads and the memory layout.
    pub seed: u64,
}

/// How the releases on different CPUs are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Alignment {
    /// All at the same instant.
    Aligned,
    /// Spread evenly over one period.
    Staggered,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// Unique in the run and usable as a folder name: `1-idle`, `2-cpu`.
    pub id: String,
    /// Name of the load: `idle`, `cpu`, `cmd:make -j4`, …; `unknown` if an imported file does not state it.
    pub load: String,
    /// Kind of the figures in an imported phase, for example `IRQ latency`, and their file; absent for wakeup latency
    /// under the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// CLOCK_MONOTONIC of the first recorded release; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_mono_ns: Option<u64>,
    /// CLOCK_MONOTONIC of the end of recording; null while it runs, or if an imported file does not state it.
    pub end_mono_ns: Option<u64>,
    /// Planned recording time; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_ns: Option<Nanos>,
    /// One entry per measured CPU.
    pub cpus: Vec<CpuResult>,
    /// Report of the load; null for idle.
    pub load_report: Option<LoadReport>,
    /// What was traced; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<PhaseTrace>,
    /// Intervals in which the phase was measured, if it was measured in rounds; its figures cover all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// Problems that make this phase inconclusive.
    pub problems: Vec<Problem>,
}

impl Phase {
    /// Intervals in which the phase was measured: start, and end if known; empty if an imported file does not state
    /// them.
    pub fn stretches(&self) -> Vec<(u64, Option<u64>)> {
        match self.rounds.as_slice() {
            [] => self.start_mono_ns.map(|start| (start, self.end_mono_ns)).into_iter().collect(),
            rounds => rounds.iter().map(|r| (r.start_mono_ns, r.end_mono_ns)).collect(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuResult {
    /// CPU of the thread; in an imported run without affinities, the number of the thread.
    pub cpu: CpuId,
    /// Thread id; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<i32>,
    /// Policy and priority read back from the kernel; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<Scheduling>,
    /// Released periods, always `ran + skipped`; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<u64>,
    /// Periods in which the thread woke.
    pub ran: u64,
    /// Periods that passed before the late thread woke; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<u64>,
    /// Exact smallest wakeup latency of the periods that ran; null without any.
    pub min_ns: Option<u64>,
    /// Exact largest latency.
    pub max_ns: Option<u64>,
    /// Exact mean latency.
    pub mean_ns: Option<f64>,
    /// Page faults (minor and major) of the thread while recording; null if not readable.
    pub page_faults: Option<u64>,
    /// Involuntary context switches of the thread while recording; null if not readable.
    pub involuntary_switches: Option<u64>,
    /// Time it was runnable but not running (schedstat), ns; null if not readable.
    pub run_delay_ns: Option<u64>,
    /// How far the samples can differ from the recorded values; absent if they are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blur: Option<Blur>,
    /// Late episodes above each claimed limit and a fixed grid of limits, ascending; empty if the order of the samples
    /// was not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub episodes: Vec<Episodes>,
    /// Counts per block of time above the limit of each claimed quantile; empty if not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Blocks>,
}

impl CpuResult {
    /// Periods with a latency: all released ones, or, if those are unknown, the ones that ran.
    pub fn scored(&self) -> u64 {
        self.released.unwrap_or(self.ran)
    }
}

/// Latencies of wakeups, kept separately from those of the periods they skipped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// One sample per period that ran.
    pub raw: Histogram,
    /// One sample per skipped period: how late the thread woke for it.
    pub skipped: Histogram,
}

impl Distribution {
    /// All released periods: raw plus skipped. Corrects for coordinated omission.
    pub fn corrected(&self) -> Histogram {
        let mut all = self.raw.clone();
        all.merge(&self.skipped);
        all
    }
}

/// A whole run directory in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    pub run: Run,
    pub distributions: BTreeMap<(String, CpuId), Distribution>,
    /// From `worst.jsonl`, worst first.
    pub worst: Vec<Worst>,
    /// From `traces/*.json`, by phase and time: trace windows around late wakeups.
    pub captures: Vec<crate::Capture>,
    /// From `causes.jsonl`, worst first: the worst wakeups that a trace explains. Empty if none was recorded.
    pub explained: Vec<crate::Explained>,
    /// From `events.jsonl`, ordered by time.
    pub events: Vec<Event>,
    /// From `maxima.jsonl`, ordered by time: the largest latency of each block; empty if none were kept.
    pub maxima: Vec<BlockMaximum>,
    /// Findings of the audit; empty if none was made.
    pub findings: Vec<crate::Finding>,
    /// Result of an earlier `tune` on the machine.
    pub tuned: Option<crate::Tuned>,
    /// Only for runs of [`Kind::Events`].
    pub suite: Option<crate::Suite>,
    /// Only for runs of [`Kind::Sched`].
    pub experiment: Option<crate::Experiment>,
    /// Only for runs of [`Kind::Bench`]. Its conditions are in [`Recording::events`] as well.
    pub bench: Option<crate::Bench>,
    /// Damage to the files: a torn tail that was dropped, a failed checksum.
    pub damage: Vec<String>,
}

impl Recording {
    /// A recording that holds only the run's description.
    pub fn new(run: Run) -> Recording {
        Recording {
            run,
            distributions: BTreeMap::new(),
            worst: Vec::new(),
            captures: Vec::new(),
            explained: Vec::new(),
            events: Vec::new(),
            maxima: Vec::new(),
            findings: Vec::new(),
            tuned: None,
            suite: None,
            experiment: None,
            bench: None,
            damage: Vec::new(),
        }
    }

    pub fn distribution(&self, phase: &str, cpu: CpuId) -> Option<&Distribution> {
        self.distributions.get(&(phase.to_owned(), cpu))
    }

    /// Why the figures may be wrong: damaged files, and contradictions or truncation in another tool's file.
    pub fn damaged(&self) -> Vec<&str> {
        let imported = self.run.import.iter().flat_map(|_| {
            let of_phases = self.run.phases.iter().flat_map(|phase| &phase.problems);
            self.run.problems.iter().chain(of_phases).map(|problem| problem.text.as_str())
        });
        self.damage.iter().map(String::as_str).chain(imported).collect()
    }

    /// The explanation of one of the worst wakeups, if a trace explains it.
    pub fn explained_of(&self, worst: &Worst) -> Option<&crate::Explained> {
        let same = |e: &&crate::Explained| e.cpu == worst.cpu && e.release_mono_ns == worst.release_mono_ns;
        self.explained.iter().filter(|e| e.phase == worst.phase).find(same)
    }

    /// The worst wakeups kept for one phase and CPU, worst first.
    pub fn worst_of<'a>(&'a self, phase: &'a str, cpu: CpuId) -> impl Iterator<Item = &'a Worst> {
        self.worst.iter().filter(move |w| w.phase == phase && w.cpu == cpu)
    }
}
