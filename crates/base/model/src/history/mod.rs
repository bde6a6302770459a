//! Runs as a history keeps them, and what it says of them: plain types, figures only.

mod told;

pub use told::{
    Difference, Gate, GateMethod, GateOutcome, GateTest, History, HistoryGroup, HistoryPoint, HistorySeries,
    HistoryShift, HistoryTrend, LeftOut,
};

use crate::Outcome;
use punctual_units::CpuId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One run, as much of it as is kept. `None` is what the run did not tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimOutcome {
    /// The claim.
    pub claim: String,
    /// How it came out.
    pub outcome: Outcome,
}

/// One phase on one CPU. Latencies are corrected: skipped periods are scored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
