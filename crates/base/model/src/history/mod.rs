//! Runs stored in a history database, and results computed from them.

mod document;
mod report;

pub use document::{AddResult, AddedRun, Baseline, BaselineResult, NotAdded, RemoveResult};
pub use report::{
    Difference, Gate, GateMethod, GateOutcome, GateTest, History, HistoryBounds, HistoryGroup, HistoryLevel,
    HistoryPoint, HistorySeries, HistoryShift, LeftOut,
};

use crate::Outcome;
use punctual_units::CpuId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Summary of one run, as stored in the database. Values that the run does not report are null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// Identifier that does not depend on the location of the run: 16 hexadecimal digits.
    pub id: String,
    /// Directory of the run when it was added.
    pub folder: Option<String>,
    /// Start of the run, CLOCK_REALTIME, ns since 1970.
    pub started_ns: Option<u64>,
    pub host: Option<String>,
    /// Program that wrote the run, for example `punctual 0.1.0`.
    pub tool: String,
    /// True if every phase ran to its planned end.
    pub complete: bool,
    pub machine: MachineId,
    /// Clock model of a run in virtual time, without kernel and seed; null for real time.
    pub virtual_time: Option<String>,
    pub kernel: KernelId,
    pub settings: RunSettings,
    /// Highest temperature during the run, m°C.
    pub temperature_max_mc: Option<i64>,
    /// Outcome of all claims together; null if the run had no claim.
    pub outcome: Option<Outcome>,
    pub claims: Vec<ClaimOutcome>,
    /// Results of every phase and CPU, in the order measured.
    pub cells: Vec<SummaryCell>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineId {
    /// Board name (device tree or DMI).
    pub board: Option<String>,
    pub cpu_model: Option<String>,
    /// Output of `uname -m`.
    pub architecture: Option<String>,
    /// Online CPUs as a cpulist.
    pub cpus: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelId {
    /// Output of `uname -r`.
    pub release: Option<String>,
    /// Output of `uname -v`.
    pub version: Option<String>,
    /// Active preemption mode: `none`, `voluntary`, `full`, `lazy`, `rt`.
    pub preemption: Option<String>,
}

/// Settings that must be equal for runs to be comparable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSettings {
    pub measured_by: String,
    pub period_ns: Option<u64>,
    /// Policy and priority of the threads, for example `SCHED_FIFO 90`.
    pub scheduling: Option<String>,
    /// Measured CPUs as a cpulist.
    pub cpus: String,
    /// The load of each phase, in order.
    pub loads: Vec<String>,
    /// Wakeup source of the threads.
    pub via: Option<String>,
    /// Alignment of the releases on different CPUs; null if not reported.
    pub alignment: Option<String>,
    /// Exit-latency limit set through /dev/cpu_dma_latency, µs; null if it was not set, or not reported.
    pub cpu_dma_latency_us: Option<i32>,
    /// True if the kernel was traced, which adds latency.
    pub traced: bool,
    /// Total measurement time, if it was fixed in advance. It affects only the largest latency.
    pub duration_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimOutcome {
    pub claim: String,
    pub outcome: Outcome,
}

/// Results of one phase on one CPU. Latencies are corrected: they include skipped periods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SummaryCell {
    pub phase: String,
    /// Name of the load; in an imported phase, the kind of its values.
    pub load: String,
    pub cpu: CpuId,
    /// Number of periods with a latency.
    pub samples: u64,
    /// Number of skipped periods; null if unknown.
    pub skipped: Option<u64>,
    /// Median, ns. Like all quantiles in this struct, it is null if no sample is larger, because it would then equal
    /// the maximum.
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p999_ns: Option<u64>,
    pub p9999_ns: Option<u64>,
    /// Largest latency; null if there are no samples.
    pub max_ns: Option<u64>,
    /// Highest temperature during the phase, m°C.
    pub temperature_max_mc: Option<i64>,
    /// Main cause of the worst wakeup, if a trace shows it.
    pub cause: Option<String>,
    /// Reason why the results do not represent the machine, for example that the load did not run or the phase was
    /// interrupted; null if they do.
    pub doubt: Option<String>,
}

/// A statistic of a run's latencies under one load, on the CPU on which it is largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Figure {
    #[serde(rename = "max")]
    Max,
    #[serde(rename = "p50")]
    P50,
    #[serde(rename = "p99")]
    P99,
    #[serde(rename = "p99.9")]
    P999,
    #[serde(rename = "p99.99")]
    P9999,
}

impl Figure {
    pub const ALL: [Figure; 5] = [Figure::Max, Figure::P50, Figure::P99, Figure::P999, Figure::P9999];

    /// Returns the name of the statistic as given on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Max => "max",
            Figure::P50 => "p50",
            Figure::P99 => "p99",
            Figure::P999 => "p99.9",
            Figure::P9999 => "p99.99",
        }
    }

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
        found.ok_or_else(|| format!("`{text}` is not a statistic of the history: use max, p50, p99, p99.9 or p99.99"))
    }
}

const UNKNOWN: &str = "unknown";

impl MachineId {
    /// Returns a short description, for example `Raspberry Pi 4 Model B, CPUs 0-3`.
    pub fn name(&self) -> String {
        let model = self.board.as_ref().or(self.cpu_model.as_ref()).or(self.architecture.as_ref());
        let Some(model) = model else { return "unnamed machine".into() };
        match &self.cpus {
            Some(cpus) => format!("{model}, CPUs {cpus}"),
            None => model.clone(),
        }
    }
}

impl RunSettings {
    /// Returns the names and values of the settings that must be equal for a comparison. Unreported settings have the
    /// value `unknown`.
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let or_unknown = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.into());
        vec![
            ("measured by", self.measured_by.clone()),
            ("period", or_unknown(self.period_ns.map(|ns| punctual_units::Nanos(ns).to_string()))),
            ("scheduling", or_unknown(self.scheduling.clone())),
            ("CPUs", self.cpus.clone()),
            ("loads", self.loads.join(", ")),
            ("woken by", or_unknown(self.via.clone())),
            ("releases", or_unknown(self.alignment.clone())),
            ("cpu_dma_latency", self.cpu_dma_latency_us.map_or_else(|| "not set".into(), |us| format!("{us} µs"))),
            ("traced", if self.traced { "yes" } else { "no" }.into()),
        ]
    }
}

impl RunSummary {
    /// Returns the names and values of the machine properties, clock model and settings. Runs are comparable if all of
    /// them are equal.
    pub fn comparable(&self) -> Vec<(&'static str, String)> {
        let clock = self.virtual_time.clone().unwrap_or_else(|| "real".into());
        let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.into());
        let machine = [
            ("board", or_unknown(&self.machine.board)),
            ("processor", or_unknown(&self.machine.cpu_model)),
            ("architecture", or_unknown(&self.machine.architecture)),
            ("CPUs online", or_unknown(&self.machine.cpus)),
            ("time", clock),
        ];
        machine.into_iter().chain(self.settings.named()).collect()
    }

    /// Returns the loads of the phases in measurement order, without duplicates.
    pub fn loads(&self) -> Vec<&str> {
        let mut loads: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !loads.contains(&cell.load.as_str()) {
                loads.push(&cell.load);
            }
        }
        loads
    }

    /// Returns the statistic under a load, in ns, on the CPU on which it is largest; `None` if it is unknown on any
    /// CPU, because that CPU could have the largest value.
    pub fn figure(&self, load: &str, figure: Figure) -> Option<u64> {
        let mut cells = self.cells.iter().filter(|c| c.load == load).peekable();
        cells.peek()?;
        cells.try_fold(0, |largest: u64, cell| Some(largest.max(figure.of(cell)?)))
    }

    /// Returns the reason why the results under a load do not represent the machine; `None` if they do.
    pub fn doubt(&self, load: &str) -> Option<&str> {
        self.cells.iter().filter(|c| c.load == load).find_map(|c| c.doubt.as_deref())
    }

    /// Returns the length of the measurement under a load, as stated for statistics that grow with it: `60.0 s in all`
    /// or, if the length was not fixed, the largest number of samples on a CPU, rounded to two digits.
    pub fn length(&self, load: &str) -> String {
        if let Some(ns) = self.settings.duration_ns {
            return format!("{} in all", punctual_units::Nanos(ns));
        }
        let samples = self.cells.iter().filter(|c| c.load == load).map(|c| c.samples).max().unwrap_or(0);
        format!("about {:.1e} samples", samples as f64)
    }
}
