//! A run, its phases, and its settings.

use crate::{
    AppValue, BlockMaximum, Blocks, Blur, Claim, Episodes, Event, Import, LoadReport, Look, MachineFacts, OwnCost,
    PhaseTrace, Problem, Round, Tracing, UntilDecided, Worst,
};
use punctual_units::{CpuId, CpuList, Histogram, Nanos, Scheduling, WakeupSource};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of [`Run::schema`]; the number after the slash is the major version.
pub const RUN_SCHEMA: &str = "punctual.run/1";
/// Value of [`Run::schema_version`]: major and minor version. A new minor version only adds fields.
pub const RUN_SCHEMA_VERSION: &str = "1.9";

/// `run.json`: everything about a run except its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Schema: `punctual.run/1`. Readers accept any newer minor version and refuse a newer major version.
    pub schema: String,
    /// Version as `major.minor`, for example `1.0`.
    pub schema_version: String,
    pub tool: Tool,
    pub kind: Kind,
    /// True if every phase ran to its planned end.
    pub complete: bool,
    /// How the run ended; null while it runs, or if it was killed.
    pub ended_by: Option<EndedBy>,
    /// Start of the run; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Stamp>,
    /// End of the run; null while it runs, or if unknown.
    pub ended: Option<Stamp>,
    /// Host name, if the user permits its disclosure, otherwise a substitute; absent if an imported file does not state
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub command: Vec<String>,
    pub settings: Settings,
    /// Origin of an imported run, and the information it lacks; absent if measured by this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<Import>,
    /// Clock model of an emulator whose clock counts instructions; absent for real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_time: Option<VirtualTime>,
    pub machine: MachineFacts,
    /// How late wakeups were traced; absent if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// Phases in the order in which they ran.
    pub phases: Vec<Phase>,
    /// Each check of the claims that decided whether to continue measuring; empty if the length was fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<Look>,
    /// Problems that make every phase inconclusive. Problems of a single phase are in [`Phase::problems`].
    pub problems: Vec<Problem>,
    /// Remarks that do not affect the verdict, for example about a fallback or a setting that was not changed.
    pub notes: Vec<String>,
    /// Cost of the measurement; null if unknown.
    pub cost: Option<OwnCost>,
}

impl Run {
    /// Creates an incomplete run without settings, phases or machine facts.
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
    /// `punctual`, or the tool that wrote the imported file.
    pub name: String,
    /// Version; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Tool {
    /// Returns the name and version of this program.
    pub fn punctual() -> Tool {
        Tool { name: "punctual".into(), version: Some(env!("CARGO_PKG_VERSION").into()) }
    }
}

/// Kind of the results in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Latency,
    /// Results read from another tool's file.
    Imported,
    /// The event suite. All results are in `suite.json`, none in the phases.
    Events,
    /// A scheduling experiment. All results are in `experiment.json`, none in the phases.
    Sched,
    /// A benchmark. All results are in `bench.json`, none in the phases.
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
    /// A signal ended the run. The results up to this time are complete.
    Signal {
        number: i32,
        /// Name of the signal, for example `SIGINT`.
        name: String,
    },
    Error {
        text: String,
    },
    /// Set when reading a run without a recorded end: the process was killed, or power failed.
    Killed,
    /// A value from a later version.
    #[serde(other)]
    Unknown,
}

/// Settings of a run, with every default filled in. In an imported run, null or absent values were not stated in the
/// file. [`Settings::default`] is for a run without measuring threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// Clock and system call, for example `CLOCK_MONOTONIC, clock_nanosleep absolute`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Wakeup source of the measuring threads; if absent, [`Settings::clock`] contains what is known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<WakeupSource>,
    /// Requested policy and priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
    /// True if the user chose the policy or priority. The run then ends with an error if the kernel refuses it;
    /// otherwise a fallback is used.
    pub scheduling_explicit: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<Nanos>,
    /// Measured CPUs; empty for an imported run, whose phases list them.
    pub cpus: CpuList,
    /// How the releases on different CPUs are aligned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<Alignment>,
    /// Total measurement time over all phases, without warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<Nanos>,
    /// Warm-up time at the start of each phase, which is not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_ns: Option<Nanos>,
    /// The load of each phase, in order.
    pub loads: Vec<String>,
    /// Exit-latency limit set through /dev/cpu_dma_latency during the measurement, µs; null if not set or not stated.
    pub cpu_dma_latency_us: Option<i32>,
    /// True if the machine's counters were sampled.
    pub context: bool,
    /// Number of worst wakeups kept per phase and CPU.
    pub worst_kept: usize,
    /// Deadline of a wakeup; null if none was given.
    pub deadline_ns: Option<Nanos>,
    pub claims: Vec<Claim>,
    /// Present if measuring continued until the claims were decided. In that case `duration_ns` is the time until the
    /// first check, otherwise the total time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_decided: Option<UntilDecided>,
    /// Length of the blocks whose maxima were kept; absent if no maxima were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maxima_block_ns: Option<Nanos>,
}

/// A clock that counts instructions, as in QEMU with `-icount shift=N,sleep=off`. It models the work of the kernel, not
/// a board: every instruction takes the same time, there are no caches and no firmware, and several CPUs take turns
/// running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualTime {
    /// Name and version of the emulator.
    pub emulator: String,
    pub machine: String,
    /// The booted kernel, as named by the user.
    pub kernel: String,
    pub instruction_ns: u32,
    /// Number of virtual CPUs. With more than one, claims are judged only if the control measurement passes.
    pub cpus: u32,
    /// Seed that varies the phase of the releases, the order of the loads and the memory layout.
    pub seed: u64,
}

/// How the releases on different CPUs are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Alignment {
    /// All CPUs are released at the same instant.
    Aligned,
    /// The releases of the CPUs are spread evenly over one period.
    Staggered,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// Identifier, unique in the run and usable as a directory name: `1-idle`, `2-cpu`.
    pub id: String,
    /// Name of the load: `idle`, `cpu`, `cmd:make -j4`, …; `unknown` if an imported file does not state it.
    pub load: String,
    /// For an imported phase, the kind of its values, for example `IRQ latency`, and the file that contains them;
    /// absent for wakeup latency under the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Quantity measured on an application's threads; absent for wakeup latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<AppValue>,
    /// Period of the phase's values; absent if it is the period of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<Nanos>,
    /// CLOCK_MONOTONIC time of the first recorded release; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_mono_ns: Option<u64>,
    /// CLOCK_MONOTONIC time of the end of recording; null while the phase runs, or if an imported file does not state
    /// it.
    pub end_mono_ns: Option<u64>,
    /// Planned recording time; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_ns: Option<Nanos>,
    /// One entry per measured CPU.
    pub cpus: Vec<CpuResult>,
    /// Report of the load; null for an idle phase.
    pub load_report: Option<LoadReport>,
    /// Share of the measured CPUs' time, 0 to 1, in which something other than the measurement ran during an idle
    /// phase; absent if unknown, and for other loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_with_others: Option<f64>,
    /// Result of tracing; absent if nothing was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<PhaseTrace>,
    /// Intervals in which the phase was measured, if it was measured in rounds. The results cover all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// Problems that make this phase inconclusive.
    pub problems: Vec<Problem>,
}

impl Phase {
    /// Returns true if each sample belongs to a release: wakeup latencies, or response times of an application.
    pub fn is_of_releases(&self) -> bool {
        self.value.as_ref().is_none_or(AppValue::is_of_releases)
    }

    /// Returns the intervals in which the phase was measured: start, and end if known; empty if an imported file does
    /// not state them.
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
    /// Thread ID; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<i32>,
    /// Policy and priority read back from the kernel; absent if an imported file does not state them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<Scheduling>,
    /// Number of releases, always `ran + skipped`; absent if an imported file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<u64>,
    /// Number of periods in which the thread woke.
    pub ran: u64,
    /// Number of periods that passed without a wakeup because the thread was late; absent if an imported file does not
    /// state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<u64>,
    /// Exact smallest wakeup latency of the periods in which the thread woke; null if it never woke.
    pub min_ns: Option<u64>,
    /// Exact largest latency; null if the thread never woke.
    pub max_ns: Option<u64>,
    /// Exact mean latency; null if the thread never woke.
    pub mean_ns: Option<f64>,
    /// Page faults (minor and major) of the thread during the recording; null if not readable.
    pub page_faults: Option<u64>,
    /// Involuntary context switches of the thread during the recording; null if not readable.
    pub involuntary_switches: Option<u64>,
    /// Time for which the thread was runnable but not running (schedstat), ns; null if not readable.
    pub run_delay_ns: Option<u64>,
    /// How far the samples can differ from the recorded values; absent if they are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blur: Option<Blur>,
    /// Late episodes for each claimed limit and for a fixed grid of limits, in ascending order of their limits; empty
    /// if the order of the samples was not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub episodes: Vec<Episodes>,
    /// For each claimed quantile, the number of latencies above its limit in each block of time; empty if not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Blocks>,
}

impl CpuResult {
    /// Returns the number of periods with a latency: all periods with a release or, if their number is unknown, the
    /// periods in which the thread woke.
    pub fn scored(&self) -> u64 {
        self.released.unwrap_or(self.ran)
    }
}

/// Latencies of wakeups and, recorded separately, of skipped periods.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Latencies of the periods in which the thread woke.
    pub raw: Histogram,
    /// For each skipped period, the time from its release until the thread woke.
    pub skipped: Histogram,
}

impl Distribution {
    /// Returns the latencies of all releases, including skipped periods, which corrects for coordinated omission.
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
    /// Wakeups of `worst.jsonl`, worst first.
    pub worst: Vec<Worst>,
    /// Trace windows of late wakeups (`traces/*.json`), by phase and time.
    pub captures: Vec<crate::Capture>,
    /// Worst wakeups that a trace explains (`causes.jsonl`), worst first.
    pub explained: Vec<crate::Explained>,
    /// Events of `events.jsonl`, ordered by time.
    pub events: Vec<Event>,
    /// Largest latency of each block (`maxima.jsonl`), ordered by time; empty if not recorded.
    pub maxima: Vec<BlockMaximum>,
    /// Findings of the audit; empty if no audit was made.
    pub findings: Vec<crate::Finding>,
    /// Result of `tune` on this machine before the run; `None` if `tune` was not run.
    pub tuned: Option<crate::Tuned>,
    /// Results of the event suite; only for runs of [`Kind::Events`].
    pub suite: Option<crate::Suite>,
    /// Results of the measured application (`application.json`); `None` if no application was measured.
    pub application: Option<crate::Application>,
    /// The scheduling experiment (`experiment.json`); only for runs of [`Kind::Sched`].
    pub experiment: Option<crate::Experiment>,
    /// Results of the benchmark; only for runs of [`Kind::Bench`]. [`Recording::events`] also contains the conditions
    /// of its repetitions.
    pub bench: Option<crate::Bench>,
    /// Descriptions of damage to the files, for example a partial last line that was dropped, or a checksum mismatch.
    pub damage: Vec<String>,
}

impl Recording {
    /// Creates a recording that holds only the contents of `run.json`.
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
            application: None,
            experiment: None,
            bench: None,
            damage: Vec::new(),
        }
    }

    pub fn distribution(&self, phase: &str, cpu: CpuId) -> Option<&Distribution> {
        self.distributions.get(&(phase.to_owned(), cpu))
    }

    /// Returns reasons why the results may be wrong: damaged files, and contradictions or truncation in another tool's
    /// file.
    pub fn damaged(&self) -> Vec<&str> {
        let imported = self.run.import.iter().flat_map(|_| {
            let of_phases = self.run.phases.iter().flat_map(|phase| &phase.problems);
            self.run.problems.iter().chain(of_phases).map(|problem| problem.text.as_str())
        });
        self.damage.iter().map(String::as_str).chain(imported).collect()
    }

    /// Returns the explanation of one of the worst wakeups; `None` if no trace explains it.
    pub fn explained_of(&self, worst: &Worst) -> Option<&crate::Explained> {
        let same = |e: &&crate::Explained| e.cpu == worst.cpu && e.release_mono_ns == worst.release_mono_ns;
        self.explained.iter().filter(|e| e.phase == worst.phase).find(same)
    }

    /// Returns the worst wakeups kept for one phase and CPU, worst first.
    pub fn worst_of<'a>(&'a self, phase: &'a str, cpu: CpuId) -> impl Iterator<Item = &'a Worst> {
        self.worst.iter().filter(move |w| w.phase == phase && w.cpu == cpu)
    }
}
