//! Runs as a history keeps them, and what it says of them: plain types, figures only.

use crate::Outcome;
use punctual_units::CpuId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One run, as much of it as is kept. `None` is what the run did not tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// What tells it from every other run, wherever its folder lies: 16 hexadecimal digits.
    pub id: String,
    /// Where it lay when it was added.
    pub folder: Option<String>,
    /// When it began, ns since 1970.
    pub started_ns: Option<u64>,
    /// The machine's name.
    pub host: Option<String>,
    /// Who wrote it: `punctual 0.1.0`.
    pub tool: String,
    /// Did every phase run to its planned end?
    pub complete: bool,
    /// What it ran on.
    pub machine: MachineId,
    /// The clock model where it ran in virtual time, without kernel and seed; `None`: real time.
    pub virtual_time: Option<String>,
    /// The kernel.
    pub kernel: KernelId,
    /// What was asked for.
    pub settings: RunSettings,
    /// The highest temperature seen, m°C.
    pub temperature_max_mc: Option<i64>,
    /// The verdict; `None` where nothing was claimed.
    pub outcome: Option<Outcome>,
    /// Every claim.
    pub claims: Vec<ClaimOutcome>,
    /// Every phase and CPU, in the order measured.
    pub cells: Vec<SummaryCell>,
}

/// Which kind of machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MachineId {
    /// Board name (device tree or DMI).
    pub board: Option<String>,
    /// Processor.
    pub cpu_model: Option<String>,
    /// `uname -m`.
    pub architecture: Option<String>,
    /// CPUs online, as the kernel writes them.
    pub cpus: Option<String>,
}

/// Which kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelId {
    /// `uname -r`.
    pub release: Option<String>,
    /// `uname -v`.
    pub version: Option<String>,
    /// The active preemption mode: `none`, `voluntary`, `full`, `lazy`, `rt`.
    pub preemption: Option<String>,
}

/// What has to be the same for runs to be comparable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSettings {
    /// The program that measured.
    pub measured_by: String,
    /// Period of every measuring thread.
    pub period_ns: Option<u64>,
    /// Policy and priority that the threads had: `SCHED_FIFO 90`.
    pub scheduling: Option<String>,
    /// The CPUs measured, as the kernel writes them.
    pub cpus: String,
    /// One phase each, in this order.
    pub loads: Vec<String>,
    /// By what the threads were woken.
    pub via: Option<String>,
    /// How the threads' releases lie to each other.
    pub alignment: Option<String>,
    /// Exit-latency limit held in /dev/cpu_dma_latency, µs; `None`: left alone, or not told.
    pub cpu_dma_latency_us: Option<i32>,
    /// Was the kernel traced meanwhile? That costs.
    pub traced: bool,
    /// Total measuring time, where it was fixed beforehand. It matters to the maximum only.
    pub duration_ns: Option<u64>,
}

/// How a claim came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimOutcome {
    /// The claim.
    pub claim: String,
    /// How it came out.
    pub outcome: Outcome,
}

/// One phase on one CPU. Latencies are corrected: skipped periods are scored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryCell {
    /// Phase id.
    pub phase: String,
    /// The load; of an imported phase what its figures are.
    pub load: String,
    /// CPU.
    pub cpu: CpuId,
    /// Periods that have a latency.
    pub samples: u64,
    /// Periods skipped.
    pub skipped: Option<u64>,
    /// Median; like every quantile here `None` where no sample lies above it, for then it is the maximum.
    pub p50_ns: Option<u64>,
    /// 99 % of the periods are no later.
    pub p99_ns: Option<u64>,
    /// 99.9 %.
    pub p999_ns: Option<u64>,
    /// 99.99 %.
    pub p9999_ns: Option<u64>,
    /// The latest.
    pub max_ns: Option<u64>,
    /// The highest temperature seen during the phase, m°C.
    pub temperature_max_mc: Option<i64>,
    /// The main cause of the latest wakeup, where a trace shows it.
    pub cause: Option<String>,
    /// Why its figures say nothing of the machine: the load did not run, the phase was interrupted.
    pub doubt: Option<String>,
}

/// A figure of a run under a load: that of the CPU on which it is largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Figure {
    /// The latest wakeup.
    #[serde(rename = "max")]
    Max,
    /// Median.
    #[serde(rename = "p50")]
    P50,
    /// 99 %.
    #[serde(rename = "p99")]
    P99,
    /// 99.9 %.
    #[serde(rename = "p99.9")]
    P999,
    /// 99.99 %.
    #[serde(rename = "p99.99")]
    P9999,
}

impl Figure {
    /// All of them.
    pub const ALL: [Figure; 5] = [Figure::Max, Figure::P50, Figure::P99, Figure::P999, Figure::P9999];

    /// As people type it.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Max => "max",
            Figure::P50 => "p50",
            Figure::P99 => "p99",
            Figure::P999 => "p99.9",
            Figure::P9999 => "p99.99",
        }
    }

    /// This figure of a cell.
    pub fn of(self, cell: &SummaryCell) -> Option<u64> {
        match self {
            Figure::Max => cell.max_ns,
            Figure::P50 => cell.p50_ns,
            Figure::P99 => cell.p99_ns,
            Figure::P999 => cell.p999_ns,
            Figure::P9999 => cell.p9999_ns,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Figure {
    type Err = String;

    fn from_str(text: &str) -> Result<Figure, String> {
        let found = Figure::ALL.into_iter().find(|f| f.name() == text.trim());
        found.ok_or_else(|| format!("`{text}` is no figure of the history: use max, p50, p99, p99.9 or p99.99"))
    }
}

const NOT_TOLD: &str = "not told";

impl MachineId {
    /// In a few words: `Raspberry Pi 4 Model B, CPUs 0-3`.
    pub fn name(&self) -> String {
        let model = self.board.as_ref().or(self.cpu_model.as_ref()).or(self.architecture.as_ref());
        let Some(model) = model else { return "a machine that is not named".into() };
        match &self.cpus {
            Some(cpus) => format!("{model}, CPUs {cpus}"),
            None => model.clone(),
        }
    }
}

impl RunSettings {
    /// What must be the same, by name; `not told` is a value of its own.
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let told = |text: Option<String>| text.unwrap_or_else(|| NOT_TOLD.into());
        vec![
            ("measured by", self.measured_by.clone()),
            ("period", told(self.period_ns.map(|ns| punctual_units::Nanos(ns).to_string()))),
            ("scheduling", told(self.scheduling.clone())),
            ("CPUs", self.cpus.clone()),
            ("loads", self.loads.join(", ")),
            ("woken by", told(self.via.clone())),
            ("releases", told(self.alignment.clone())),
            ("cpu_dma_latency", self.cpu_dma_latency_us.map_or_else(|| "left alone".into(), |us| format!("{us} µs"))),
            ("traced", if self.traced { "yes" } else { "no" }.into()),
        ]
    }
}

impl RunSummary {
    /// Machine, clock model and settings: runs with the same can be compared.
    pub fn comparable(&self) -> Vec<(&'static str, String)> {
        let clock = self.virtual_time.clone().unwrap_or_else(|| "real".into());
        let told = |text: &Option<String>| text.clone().unwrap_or_else(|| NOT_TOLD.into());
        let machine = [
            ("board", told(&self.machine.board)),
            ("processor", told(&self.machine.cpu_model)),
            ("architecture", told(&self.machine.architecture)),
            ("CPUs online", told(&self.machine.cpus)),
            ("time", clock),
        ];
        machine.into_iter().chain(self.settings.named()).collect()
    }

    /// The loads of its phases, in the order measured, each once.
    pub fn loads(&self) -> Vec<&str> {
        let mut loads: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !loads.contains(&cell.load.as_str()) {
                loads.push(&cell.load);
            }
        }
        loads
    }

    /// The figure under a load on the CPU where it is largest, ns; `None` where that of one CPU is not known, for it could be
    /// the largest.
    pub fn figure(&self, load: &str, figure: Figure) -> Option<u64> {
        let mut cells = self.cells.iter().filter(|c| c.load == load).peekable();
        cells.peek()?;
        cells.try_fold(0, |largest: u64, cell| Some(largest.max(figure.of(cell)?)))
    }

    /// Why the figures under a load say nothing, where that is so.
    pub fn doubt(&self, load: &str) -> Option<&str> {
        self.cells.iter().filter(|c| c.load == load).find_map(|c| c.doubt.as_deref())
    }

    /// How long it was measured under a load, for figures that grow with it: `60.0 s in all`, or where the length was not fixed
    /// the samples to two digits.
    pub fn length(&self, load: &str) -> String {
        if let Some(ns) = self.settings.duration_ns {
            return format!("{} in all", punctual_units::Nanos(ns));
        }
        let samples = self.cells.iter().filter(|c| c.load == load).map(|c| c.samples).max().unwrap_or(0);
        format!("about {:.1e} samples", samples as f64)
    }
}

/// What a history says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// Which figures were looked at.
    pub figures: Vec<Figure>,
    /// P(a false claim of a trend or a shift anywhere) is at most this where nothing changed.
    pub alpha: f64,
    /// Tests made, which each p is corrected for.
    pub tests: usize,
    /// Runs by machine and settings, the ones with the latest run first.
    pub groups: Vec<HistoryGroup>,
}

/// Comparable runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryGroup {
    /// The machine in a few words.
    pub machine: String,
    /// The clock model; `None`: real time.
    pub virtual_time: Option<String>,
    /// The settings by name.
    pub settings: Vec<(&'static str, String)>,
    /// In the order of time; those without a time last.
    pub runs: Vec<RunSummary>,
    /// Hosts the runs come from, each once.
    pub hosts: Vec<String>,
    /// One a load and figure (and length, where the figure grows with it).
    pub series: Vec<HistorySeries>,
}

/// One figure under one load over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistorySeries {
    /// The load.
    pub load: String,
    /// The figure.
    pub figure: Figure,
    /// How long was measured, where the figure grows with it.
    pub length: Option<String>,
    /// In the order of time.
    pub points: Vec<HistoryPoint>,
    /// Runs that could not be used.
    pub left_out: LeftOut,
    /// Runs from which on a shift and a trend can be told at all.
    pub least_runs: usize,
    /// Up or down over time; `None`: too few runs.
    pub trend: Option<HistoryTrend>,
    /// P(so clear a shift) where there is none, Pettitt's, corrected for all tests; `None`: too few runs.
    pub shift_p: Option<f64>,
    /// Where it shifted, in the order of time.
    pub shifts: Vec<HistoryShift>,
}

/// Runs that a series does not hold, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Without a time.
    pub undated: usize,
    /// Not measured to their end.
    pub incomplete: usize,
    /// Whose load did not run, or whose phase is otherwise in doubt.
    pub doubtful: usize,
    /// Too short to have the figure.
    pub unknown: usize,
    /// Older than the latest 2000.
    pub older: usize,
}

/// One run in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryPoint {
    /// The run.
    pub run: String,
    /// When it began, ns since 1970.
    pub started_ns: u64,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// The figure.
    pub ns: u64,
}

/// Does it rise or fall?
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HistoryTrend {
    /// By what factor it changes in 30 days: Theil–Sen's slope of the logarithms.
    pub per_30_days: f64,
    /// Sen's interval; `None`: too few runs.
    pub interval: Option<(f64, f64)>,
    /// The interval's confidence.
    pub confidence: f64,
    /// P(so clear a trend) where there is none, Mann–Kendall's, corrected for all tests.
    pub p: f64,
    /// Is it one: p is at most alpha, and a line fits better than steps?
    pub claimed: bool,
}

/// A shift.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryShift {
    /// The first run after it: its place in the series.
    pub at: usize,
    /// The first run after it.
    pub run: String,
    /// When that began, ns since 1970.
    pub started_ns: u64,
    /// Kernel of the run before.
    pub kernel_before: Option<String>,
    /// Kernel of the run.
    pub kernel: Option<String>,
    /// Median of the runs back to the shift before, ns.
    pub before_ns: f64,
    /// Median of the runs up to the next shift, ns.
    pub after_ns: f64,
    /// The ratio of after and before: Hodges–Lehmann's on logarithms.
    pub ratio: f64,
    /// Its rank interval; `None`: too few runs.
    pub interval: Option<(f64, f64)>,
    /// The interval's confidence.
    pub confidence: f64,
    /// P(so clear a shift) where there is none; of the clearest one corrected for all tests.
    pub p: f64,
    /// What else differs between the run before and this one.
    pub differs: Vec<Difference>,
}

/// One thing in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its name.
    pub what: String,
    /// In the earlier run, or in the baseline.
    pub before: String,
    /// In the run.
    pub now: String,
}

/// How a run compares with its baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// The run.
    pub run: String,
    /// Its kernel.
    pub kernel: Option<String>,
    /// The baseline as the user named it.
    pub baseline: String,
    /// Its runs that were used, in the order of time.
    pub baseline_runs: Vec<String>,
    /// How it came out.
    pub outcome: GateOutcome,
    /// How it was decided; `None`: it was not.
    pub method: Option<GateMethod>,
    /// Runs the baseline lacks to judge at all; to judge without a model where it could be judged with one.
    pub runs_needed: usize,
    /// How much worse is still fine, 0.1 for 10 %.
    pub tolerance: f64,
    /// P(called worse anywhere) of a run that is not.
    pub alpha: f64,
    /// One a load and figure.
    pub tests: Vec<GateTest>,
    /// What could not be judged, and why.
    pub left_out: Vec<String>,
    /// Where nothing was comparable: in what the run differs from the nearest of the baseline.
    pub differs: Vec<Difference>,
}

/// How a gate came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// Nothing is worse.
    NotWorse,
    /// Something is worse.
    Worse,
    /// Too few runs, or a figure that could not be judged.
    Inconclusive,
    /// No run of the baseline was measured alike.
    NotComparable,
}

/// How a gate was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateMethod {
    /// By the rank of the run among its baseline: no assumption but that runs are exchangeable.
    Rank,
    /// By the interval that a normal distribution of the logarithms predicts for the next run; and it must be beyond every
    /// run of the baseline.
    LogNormal,
}

/// One figure under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateTest {
    /// The load.
    pub load: String,
    /// The figure.
    pub figure: Figure,
    /// Of the run, ns.
    pub ns: u64,
    /// Median of the baseline, ns.
    pub baseline_ns: f64,
    /// The baseline's largest, ns.
    pub baseline_max_ns: u64,
    /// From about here on it would have been called worse, ns.
    pub limit_ns: Option<f64>,
    /// P(so late or later, tolerance taken off) of a run that is not worse, corrected for all tests of the gate.
    pub p: Option<f64>,
    /// Is it worse?
    pub worse: bool,
}
