//! What a benchmark measured: `punctual bench`.
//!
//! A benchmark is a number of repetitions of one thing, each with the conditions it ran under. [`BenchRecord`]s are appended while
//! it runs; [`Bench`] is made of them, so that a run that was killed, one that was resumed and one that ended well are read alike.

use crate::{ContextSample, Event, Reading, Series};
use punctual_units::{CpuId, Histogram, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The schema of [`Bench`].
pub const BENCH_SCHEMA: &str = "punctual.bench/1";

/// `bench.json`: everything a benchmark measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bench {
    /// `punctual.bench/1`.
    pub schema: String,
    /// What was to be done.
    pub plan: BenchPlan,
    /// In the order they ended.
    pub repetitions: Vec<BenchRepetition>,
    /// The figures of the repetitions that ran in one go, one point each; with the temperatures after them.
    pub series: Vec<Series>,
    /// What each step took, all repetitions together.
    pub distributions: Vec<BenchDistribution>,
    /// Are repetitions missing, because it was ended early?
    pub interrupted: bool,
}

/// What a benchmark is to do: the first record of its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchPlan {
    /// On which axis, and how.
    pub settings: BenchSettings,
    /// How often.
    pub repetitions: u64,
    /// What cannot be measured here, and why.
    pub not_measured: Vec<String>,
    /// What the reader must know to read the figures.
    pub notes: Vec<String>,
}

/// The axis and what was asked for, with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "axis", rename_all = "snake_case")]
pub enum BenchSettings {
    /// Solutions of the N-queens problem counted.
    Nqueens(NqueensSettings),
    /// Images sent by HTTP POST and stored.
    Network(NetworkSettings),
    /// Bandwidth of memory.
    Memory {
        /// Threads at once, each on a CPU of its own.
        threads: u32,
        /// Bytes each of them reads or writes in one pass.
        bytes: u64,
    },
    /// Time until written data is on the disk.
    Disk {
        /// The folder written in.
        folder: PathBuf,
        /// Bytes of one write.
        bytes: u64,
        /// Writes of each kind in one repetition.
        writes: u32,
    },
    /// Cost of waking and switching threads.
    Switch {
        /// Round trips of each kind in one repetition.
        rounds: u32,
        /// The CPU both threads share, and the first of the two.
        cpu: CpuId,
        /// The other CPU; `None`: there is none.
        other: Option<CpuId>,
    },
}

/// How N-queens are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NqueensSettings {
    /// The published search, or the fastest.
    pub mode: NqueensMode,
    /// Queens, and rows of the board.
    pub n: u32,
    /// Threads that count.
    pub threads: u32,
    /// Counts in one repetition, one after the other; chosen once, so that all repetitions are alike.
    pub batch: u64,
    /// The instructions that count: `avx2`; `None`: the published search, which has no choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

/// Which search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NqueensMode {
    /// The backtracking of the published benchmark, in native code.
    Compat,
    /// The fastest counting there is.
    Native,
}

/// How images are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkSettings {
    /// HOST:PORT of a `punctual serve --store`; `None`: a server in this process, over loopback.
    pub to: Option<String>,
    /// Where the server in this process stores them.
    pub folder: Option<PathBuf>,
    /// Bytes of an image.
    pub bytes: u64,
    /// How long images are sent in each repetition.
    pub duration_ns: Nanos,
    /// What runs beside it, and is measured as well.
    pub beside: Beside,
}

/// What runs while images are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// The published search for N queens, again and again.
    Nqueens {
        /// Queens.
        n: u32,
        /// Threads that count.
        threads: u32,
    },
    /// Wakeup latency, one thread a CPU.
    Measure,
}

/// One repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchRepetition {
    /// Counts from 1.
    pub number: u64,
    /// CLOCK_MONOTONIC at its end, of the boot it ended in.
    pub ended_mono_ns: u64,
    /// CLOCK_REALTIME at its end, ns since 1970.
    pub ended_real_ns: u64,
    /// What it took, all stretches together.
    pub elapsed_ns: u64,
    /// Processor time of this program in it, all threads; `None`: not known.
    pub cpu_ns: Option<u64>,
    /// How often it was broken off and gone on with; then its times are not among the series.
    pub resumed: u32,
    /// What was measured.
    pub figures: Vec<BenchFigure>,
    /// Results that are right or wrong.
    pub checks: Vec<BenchCheck>,
    /// What each step took.
    pub distributions: Vec<BenchDistribution>,
    /// What the reader should know of this repetition.
    pub notes: Vec<String>,
    /// The machine while it ran.
    pub conditions: Conditions,
}

/// The machine during one repetition. What cannot be read is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// Temperatures at its end, m°C, by sensor.
    pub temperatures: Vec<Reading>,
    /// Mean frequency of each CPU over the samples taken while it ran, kHz.
    pub khz: Vec<(CpuId, u64)>,
    /// Throttling while it ran: counters by how much they rose, flags that were up. `[]` where nothing can be read.
    pub throttling: Vec<Reading>,
    /// Time the hypervisor ran something else, all CPUs, ns; `None`: not told.
    pub steal_ns: Option<u64>,
}

/// One figure of a repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchFigure {
    /// What it is of: `N-queens, N = 12, 4 threads, compat`.
    pub of: String,
    /// What it is: `time of a count`.
    pub name: String,
    /// `s`, `ns`, `MiB/s`; more is better where it ends in `/s`.
    pub unit: String,
    /// The figure.
    pub value: f64,
}

/// A result beside what it has to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchCheck {
    /// What: `solutions, N = 12`.
    pub what: String,
    /// As counted.
    pub got: u64,
    /// As it is known; `None`: it is not.
    pub expected: Option<u64>,
}

impl BenchCheck {
    /// Is it known to be wrong?
    pub fn is_wrong(&self) -> bool {
        self.expected.is_some_and(|expected| expected != self.got)
    }
}

/// The times of one kind of step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchDistribution {
    /// What it is of: `pipe, same CPU`.
    pub of: String,
    /// What each time is: `round trip`.
    pub name: String,
    /// ns.
    pub histogram: Histogram,
}

/// Parts of the running repetition that are done: none of them is ever done again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchParts {
    /// Of which repetition, from 1.
    pub repetition: u64,
    /// Part and its result.
    pub done: Vec<(u64, u64)>,
    /// What the repetition took so far.
    pub elapsed_ns: u64,
    /// Processor time of it so far; `None`: not known.
    pub cpu_ns: Option<u64>,
    /// How often it had been gone on with.
    pub resumed: u32,
}

/// One line of `bench.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum BenchRecord {
    /// The first: what is to be done.
    Plan(Box<BenchPlan>),
    /// Parts of the running repetition.
    Parts(BenchParts),
    /// A repetition that is over.
    Repetition(Box<BenchRepetition>),
}

/// A log as it is read: what is done and what need not be done again.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchLog {
    /// What is to be done.
    pub plan: BenchPlan,
    /// What is done.
    pub repetitions: Vec<BenchRepetition>,
    /// Of the next repetition: every part with its result, and what it took.
    pub parts: BenchParts,
}

impl BenchLog {
    /// From the records of a log; `None` where it does not begin with a plan.
    pub fn of(records: impl IntoIterator<Item = BenchRecord>) -> Option<BenchLog> {
        let mut records = records.into_iter();
        let Some(BenchRecord::Plan(plan)) = records.next() else { return None };
        let mut log = BenchLog { plan: *plan, repetitions: Vec::new(), parts: BenchParts::default() };
        let mut done = BTreeMap::new();
        for record in records {
            match record {
                BenchRecord::Plan(_) => {}
                // Only of the repetition that is next: no figure is taken twice.
                BenchRecord::Parts(parts) if parts.repetition == log.next() => {
                    done.extend(parts.done.iter().copied());
                    log.parts = BenchParts { done: Vec::new(), ..parts };
                }
                BenchRecord::Repetition(one) if one.number == log.next() => {
                    log.repetitions.push(*one);
                    done.clear();
                    log.parts = BenchParts::default();
                }
                BenchRecord::Parts(_) | BenchRecord::Repetition(_) => {}
            }
        }
        log.parts.done = done.into_iter().collect();
        Some(log)
    }

    /// The number of the next repetition.
    pub fn next(&self) -> u64 {
        self.repetitions.len() as u64 + 1
    }
}

impl Bench {
    /// From what was logged.
    pub fn of(log: BenchLog) -> Bench {
        let BenchLog { plan, repetitions, .. } = log;
        Bench {
            schema: BENCH_SCHEMA.into(),
            interrupted: (repetitions.len() as u64) < plan.repetitions,
            series: series(&repetitions),
            distributions: distributions(&repetitions),
            plan,
            repetitions,
        }
    }

    /// Every result that is known to be wrong, with its repetition.
    pub fn wrong(&self) -> impl Iterator<Item = (u64, &BenchCheck)> {
        let of = |r: &'_ BenchRepetition| r.number;
        self.repetitions.iter().flat_map(move |r| r.checks.iter().filter(|c| c.is_wrong()).map(move |c| (of(r), c)))
    }

    /// The conditions of each repetition as events of a run.
    pub fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for one in &self.repetitions {
            let (mono_ns, conditions) = (one.ended_mono_ns, &one.conditions);
            events.push(Event::Context(ContextSample {
                mono_ns,
                interval_ns: one.elapsed_ns,
                temperatures: conditions.temperatures.clone(),
                throttling: conditions.throttling.clone(),
                ..ContextSample::default()
            }));
            if !conditions.khz.is_empty() {
                events.push(Event::Frequency { mono_ns, khz: conditions.khz.clone() });
            }
        }
        events
    }
}

impl Conditions {
    /// The temperature of the CPU, °C: of the sensor that says so, else the first that is not the GPU's.
    pub fn cpu_celsius(&self) -> Option<f64> {
        let names_cpu = |r: &&Reading| ["cpu", "x86_pkg", "soc"].iter().any(|n| r.name.to_lowercase().contains(n));
        let known = self.temperatures.iter().filter(|r| !r.name.starts_with("GPU"));
        let found = known.clone().find(names_cpu).or_else(|| known.clone().next());
        found.map(|r| r.value as f64 / 1e3)
    }

    /// The temperature of the GPU, °C.
    pub fn gpu_celsius(&self) -> Option<f64> {
        self.temperatures.iter().find(|r| r.name.starts_with("GPU")).map(|r| r.value as f64 / 1e3)
    }
}

/// Each figure as a row of points, and the temperatures beside them as [`Series`] of the same name. Repetitions that were broken
/// off are left out: their caches and clocks began anew in the middle.
fn series(repetitions: &[BenchRepetition]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    let mut push = |of: &str, name: &str, unit: &str, value: f64| match all
        .iter_mut()
        .find(|s| s.of == of && s.name == name && s.unit == unit)
    {
        Some(series) => series.push(value),
        None => {
            let mut series = Series::new(of, name, unit);
            series.push(value);
            all.push(series);
        }
    };
    for one in repetitions.iter().filter(|r| r.resumed == 0) {
        let mut seen: Vec<&str> = Vec::new();
        for figure in &one.figures {
            push(&figure.of, &figure.name, &figure.unit, figure.value);
            if !seen.contains(&figure.of.as_str()) {
                seen.push(&figure.of);
            }
        }
        let heats = [
            ("CPU temperature after it", one.conditions.cpu_celsius()),
            ("GPU temperature after it", one.conditions.gpu_celsius()),
        ];
        for (of, (name, heat)) in seen.iter().flat_map(|of| heats.iter().map(move |heat| (*of, *heat))) {
            heat.into_iter().for_each(|heat| push(of, name, "°C", heat));
        }
    }
    all.into_iter().filter(|s| s.count > 0).collect()
}

fn distributions(repetitions: &[BenchRepetition]) -> Vec<BenchDistribution> {
    let mut all: Vec<BenchDistribution> = Vec::new();
    for one in repetitions.iter().flat_map(|r| &r.distributions) {
        match all.iter_mut().find(|d| d.of == one.of && d.name == one.name) {
            Some(same) => same.histogram.merge(&one.histogram),
            None => all.push(one.clone()),
        }
    }
    all
}

#[cfg(test)]
mod tests;
