//! A run, its phases and the machine it ran on.

use crate::{
    BlockMaximum, Blur, Claim, Event, Import, LoadReport, Look, MachineFacts, OwnCost, PhaseTrace, Problem, Round,
    Tracing, UntilDecided, Worst,
};
use punctual_units::{CpuId, CpuList, Histogram, Nanos, Scheduling, Way};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Format of `run.json`; the number after the slash is the major version.
pub const RUN_SCHEMA: &str = "punctual.run/1";
/// Major and minor version. A minor version adds fields only.
pub const RUN_SCHEMA_VERSION: &str = "1.7";

/// `run.json`: everything about a run but its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// `punctual.run/1`; readers accept any newer minor version and refuse a newer major one.
    pub schema: String,
    /// `major.minor`, for example `1.0`.
    pub schema_version: String,
    /// Who wrote it.
    pub tool: Tool,
    /// What was measured.
    pub kind: Kind,
    /// Did every phase run to its planned end?
    pub complete: bool,
    /// How it ended; `None` while it runs (or where it was killed before it could say).
    pub ended_by: Option<EndedBy>,
    /// When it began; `None` where an imported file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Stamp>,
    /// When it ended.
    pub ended: Option<Stamp>,
    /// The machine's name, as the user may show it; `None` where an imported file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// What was asked for.
    pub settings: Settings,
    /// Where it was imported from, and what was lost; `None`: measured by this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<Import>,
    /// The clock model, where the machine is an emulator whose clock counts instructions; `None`: real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_time: Option<VirtualTime>,
    /// What it ran on.
    pub machine: MachineFacts,
    /// How late wakeups were traced; `None`: nobody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// In the order they ran.
    pub phases: Vec<Phase>,
    /// How often the claims were looked at to decide whether to measure on; empty where the length was fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<Look>,
    /// What makes every phase inconclusive, however it came out (a phase's own are in the phase).
    pub problems: Vec<Problem>,
    /// What the reader should know but what decides nothing: a fallback taken, a setting left alone.
    pub notes: Vec<String>,
    /// What measuring itself cost.
    pub cost: Option<OwnCost>,
}

impl Run {
    /// A run as it begins: not complete, nothing asked for, measured or known.
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

/// Name and version of the program that wrote a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// `punctual`, or the tool an imported file came from.
    pub name: String,
    /// Its version; `None` where an imported file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Tool {
    /// This program, in this version.
    pub fn punctual() -> Tool {
        Tool { name: "punctual".into(), version: Some(env!("CARGO_PKG_VERSION").into()) }
    }
}

/// What a run measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Wakeup latency.
    Latency,
    /// Read from another tool's file.
    Imported,
    /// The event suite: everything is in `suite.json`, nothing in the phases.
    Events,
    /// A scheduling experiment: everything is in `experiment.json`, nothing in the phases.
    Sched,
    /// A benchmark: everything is in `bench.json`, nothing in the phases.
    Bench,
}

/// One instant on three clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stamp {
    /// CLOCK_MONOTONIC.
    pub mono_ns: u64,
    /// CLOCK_BOOTTIME: differs from the former by the time suspended.
    pub boot_ns: u64,
    /// CLOCK_REALTIME, nanoseconds since 1970: may step.
    pub real_ns: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum EndedBy {
    /// As planned.
    Duration,
    /// By a signal; results up to then are complete.
    Signal {
        /// Its number.
        number: i32,
        /// For example `SIGINT`.
        name: String,
    },
    /// By an error.
    Error {
        /// What failed.
        text: String,
    },
    /// The reader found no end: killed, or power was cut.
    Killed,
}

/// What the user asked for, with every default filled in. `None`: an imported file does not tell. [`Settings::default`] is that of a
/// run without measuring threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// Measuring clock and way of sleeping: `CLOCK_MONOTONIC, clock_nanosleep absolute`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// By what the measuring threads were woken; `None`: [`Settings::clock`] says it as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Way>,
    /// Policy and priority asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
    /// Did the user name policy or priority (then a refusal is an error), or is it the default (then it falls back)?
    pub scheduling_explicit: bool,
    /// Period of every measuring thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<Nanos>,
    /// The CPUs measured; empty for an imported run: it has those of its phases.
    pub cpus: CpuList,
    /// How the threads' releases lie to each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<Alignment>,
    /// Total measuring time over all phases, without warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<Nanos>,
    /// Time run but not recorded at the start of each phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_ns: Option<Nanos>,
    /// One phase each, in this order.
    pub loads: Vec<String>,
    /// Exit-latency limit held in /dev/cpu_dma_latency while measuring, µs; `None`: left alone, or not told.
    pub cpu_dma_latency_us: Option<i32>,
    /// Was the machine's context sampled?
    pub context: bool,
    /// How many worst wakeups are kept per phase and CPU.
    pub worst_kept: usize,
    /// The deadline a wakeup must meet, where one was given.
    pub deadline_ns: Option<Nanos>,
    /// What was claimed.
    pub claims: Vec<Claim>,
    /// Measured until the claims were decided; `None`: for `duration_ns`. Where it is told, `duration_ns` is that of the first
    /// look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_decided: Option<UntilDecided>,
    /// Length of the blocks of which the maxima were kept; `None`: none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maxima_block_ns: Option<Nanos>,
}

/// A clock that counts instructions: QEMU's `-icount shift=N,sleep=off`. A model of the kernel's work, not of a board: every
/// instruction takes the same time, there are no caches and no firmware, and several CPUs take turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualTime {
    /// The emulator and its version.
    pub emulator: String,
    /// The machine it emulates.
    pub machine: String,
    /// The kernel that was booted, as it was named.
    pub kernel: String,
    /// What one instruction takes.
    pub instruction_ns: u32,
    /// Virtual CPUs; with more than one the control must pass before anything is claimed.
    pub cpus: u32,
    /// What the phase, the order of the loads and the memory layout were varied by.
    pub seed: u64,
}

/// How the releases of the threads on several CPUs lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Alignment {
    /// All at the same instant.
    Aligned,
    /// Evenly spread over one period.
    Staggered,
}

/// One stretch of measuring under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// Unique in the run and usable as a folder name: `1-idle`, `2-cpu`.
    pub id: String,
    /// The load: `idle`, `cpu`, `cmd:make -j4`, …; `unknown` where an imported file does not tell.
    pub load: String,
    /// What an imported phase's figures are, and of which file: `IRQ latency`. `None`: wakeup latency under the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// CLOCK_MONOTONIC of the first recorded release; `None` where an imported file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_mono_ns: Option<u64>,
    /// CLOCK_MONOTONIC after which nothing was recorded; `None` while it runs, or where an imported file does not tell.
    pub end_mono_ns: Option<u64>,
    /// Planned recording time; `None` where an imported file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_ns: Option<Nanos>,
    /// One entry a measured CPU.
    pub cpus: Vec<CpuResult>,
    /// What the load did; `None` for idle.
    pub load_report: Option<LoadReport>,
    /// What was traced; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<PhaseTrace>,
    /// The stretches it was measured in, where it was measured in rounds: its figures are those of all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// What makes this phase inconclusive.
    pub problems: Vec<Problem>,
}

impl Phase {
    /// The stretches it was measured in: from, and to where that is known; none where an imported file does not tell.
    pub fn stretches(&self) -> Vec<(u64, Option<u64>)> {
        match self.rounds.as_slice() {
            [] => self.start_mono_ns.map(|start| (start, self.end_mono_ns)).into_iter().collect(),
            rounds => rounds.iter().map(|r| (r.start_mono_ns, r.end_mono_ns)).collect(),
        }
    }
}

/// The totals of one measuring thread in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuResult {
    /// Where it ran; in an imported run without affinities the number of the thread.
    pub cpu: CpuId,
    /// Its thread id; `None` where an imported file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<i32>,
    /// Policy and priority read back from the kernel; `None` where an imported file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<Scheduling>,
    /// Periods released; always `ran + skipped`. `None` where an imported file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<u64>,
    /// Periods in which the thread woke.
    pub ran: u64,
    /// Periods that passed while it was late for an earlier one; `None` where an imported file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<u64>,
    /// Exact smallest wakeup latency of the periods that ran.
    pub min_ns: Option<u64>,
    /// Exact largest.
    pub max_ns: Option<u64>,
    /// Exact mean.
    pub mean_ns: Option<f64>,
    /// Page faults (minor and major) of the thread while recording; `None` where it could not be read.
    pub page_faults: Option<u64>,
    /// Times the thread was preempted while recording.
    pub involuntary_switches: Option<u64>,
    /// Time it was runnable but not running (schedstat), ns.
    pub run_delay_ns: Option<u64>,
    /// How much its samples can differ from what is told; `None`: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blur: Option<Blur>,
}

impl CpuResult {
    /// Periods that have a latency: all released, or where those are not told the ones that ran.
    pub fn scored(&self) -> u64 {
        self.released.unwrap_or(self.ran)
    }
}

/// Raw wakeups and the skipped periods they caused, kept apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// One sample a period that ran.
    pub raw: Histogram,
    /// One sample a skipped period: how late the thread was for it when it came back.
    pub skipped: Histogram,
}

impl Distribution {
    /// Every released period scored: raw plus skipped. Corrects coordinated omission.
    pub fn corrected(&self) -> Histogram {
        let mut all = self.raw.clone();
        all.merge(&self.skipped);
        all
    }
}

/// A whole run directory in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// `run.json`.
    pub run: Run,
    /// `hist/<phase>/<cpu>.json`.
    pub distributions: BTreeMap<(String, CpuId), Distribution>,
    /// `worst.jsonl`, the worst first.
    pub worst: Vec<Worst>,
    /// `traces/*.json`, by phase and time: windows of a trace around late wakeups.
    pub captures: Vec<crate::Capture>,
    /// `causes.jsonl`, the worst first: those of them that a trace explains. Empty where none was recorded.
    pub explained: Vec<crate::Explained>,
    /// `events.jsonl`, in order of time.
    pub events: Vec<Event>,
    /// `maxima.jsonl`, in order of time: the largest latency of each block; empty where none were kept.
    pub maxima: Vec<BlockMaximum>,
    /// The audit's findings, where one was made.
    pub findings: Vec<crate::Finding>,
    /// What was tried on the machine before, and what it bought.
    pub tuned: Option<crate::Tuned>,
    /// What the event suite found; runs of [`Kind::Events`] only.
    pub suite: Option<crate::Suite>,
    /// What a scheduling experiment measured; runs of [`Kind::Sched`] only.
    pub experiment: Option<crate::Experiment>,
    /// What a benchmark measured; runs of [`Kind::Bench`] only. Its conditions are [`Recording::events`] as well.
    pub bench: Option<crate::Bench>,
    /// What was wrong with the files themselves: a torn tail dropped, a checksum that fails.
    pub damage: Vec<String>,
}

impl Recording {
    /// A run of which nothing but its description is known.
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

    /// The distribution of one phase on one CPU.
    pub fn distribution(&self, phase: &str, cpu: CpuId) -> Option<&Distribution> {
        self.distributions.get(&(phase.to_owned(), cpu))
    }

    /// What a trace says of one of the worst wakeups.
    pub fn explained_of(&self, worst: &Worst) -> Option<&crate::Explained> {
        let same = |e: &&crate::Explained| e.cpu == worst.cpu && e.release_mono_ns == worst.release_mono_ns;
        self.explained.iter().filter(|e| e.phase == worst.phase).find(same)
    }

    /// The kept worst wakeups of one phase on one CPU, the worst first.
    pub fn worst_of<'a>(&'a self, phase: &'a str, cpu: CpuId) -> impl Iterator<Item = &'a Worst> {
        self.worst.iter().filter(move |w| w.phase == phase && w.cpu == cpu)
    }
}
