//! Results of `punctual bench`.
//!
//! A benchmark repeats one task and records the conditions of each repetition. It appends [`BenchRecord`]s to a log
//! while it runs. [`Bench`] is built from this log in the same way, whether the run was killed, resumed or completed.

use crate::{ContextSample, Event, Reading, Series};
use punctual_units::{CpuId, Histogram, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub const BENCH_SCHEMA: &str = "punctual.bench/1";

/// `bench.json`: all results of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bench {
    pub schema: String,
    pub plan: BenchPlan,
    /// Completed repetitions, in the order in which they ended.
    pub repetitions: Vec<BenchRepetition>,
    /// One series per measured quantity, with one point for each repetition that was not interrupted, followed by
    /// series of the temperatures.
    pub series: Vec<Series>,
    /// Distributions of the time per step, over all repetitions.
    pub distributions: Vec<BenchDistribution>,
    /// True if the benchmark ended before all planned repetitions were done.
    pub interrupted: bool,
}

/// Plan of a benchmark; the first record of its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchPlan {
    pub settings: BenchSettings,
    pub repetitions: u64,
    /// Quantities that cannot be measured on this machine, with the reason.
    pub not_measured: Vec<String>,
    /// Remarks needed to interpret the results.
    pub notes: Vec<String>,
}

/// Subject of a benchmark (`axis`), and its settings, including those left at their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "axis", rename_all = "snake_case")]
pub enum BenchSettings {
    Nqueens(NqueensSettings),
    /// Images are sent by HTTP POST to a server that stores them.
    Network(NetworkSettings),
    Memory {
        /// Number of concurrent threads, each on a separate CPU.
        threads: u32,
        /// Number of bytes that each thread reads or writes per pass.
        bytes: u64,
    },
    /// Latency of synchronous writes: time until written data is on the disk.
    Disk {
        folder: PathBuf,
        bytes: u64,
        /// Number of writes of each kind per repetition.
        writes: u32,
    },
    /// Cost of waking a thread and of switching between threads.
    Switch {
        /// Number of round trips of each kind per repetition.
        rounds: u32,
        /// CPU shared by both threads; in the two-CPU case, the CPU of the first thread.
        cpu: CpuId,
        /// The second CPU; null if there is none.
        other: Option<CpuId>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NqueensSettings {
    pub mode: NqueensMode,
    /// Number of queens; the board has `n` × `n` squares.
    pub n: u32,
    pub threads: u32,
    /// Number of times a repetition counts all solutions; determined once, so that all repetitions do the same work.
    pub batch: u64,
    /// Instruction set used for counting, for example `avx2`; absent for the published search, which uses no special
    /// instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NqueensMode {
    /// The backtracking algorithm of the published benchmark, compiled to machine code.
    Compat,
    /// The fastest search available.
    Native,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkSettings {
    /// HOST:PORT of a `punctual serve --store` process; null if the server runs in this process and is reached over
    /// loopback.
    pub to: Option<String>,
    /// File that contains the secret required by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,
    /// Directory in which the server in this process stores the images; null if it does not store them.
    pub folder: Option<PathBuf>,
    pub bytes: u64,
    /// Time for which each repetition sends images.
    pub duration_ns: Nanos,
    /// Task that runs, and is measured, while the images are sent.
    pub beside: Beside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Beside {
    Nothing,
    /// The published N-queens search, repeated until the images have been sent.
    Nqueens {
        n: u32,
        threads: u32,
    },
    /// Wakeup latency, measured by one thread per CPU.
    Measure,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchRepetition {
    pub number: u64,
    /// CLOCK_MONOTONIC time at the end of the repetition. A resumed benchmark may span boots; the value then belongs to
    /// the boot in which the repetition ended.
    pub ended_mono_ns: u64,
    /// CLOCK_REALTIME time at the end of the repetition, ns since 1970.
    pub ended_real_ns: u64,
    /// Elapsed time, ns; the sum over all runs if the repetition was resumed.
    pub elapsed_ns: u64,
    /// CPU time of all threads of this program, ns; null if unknown.
    pub cpu_ns: Option<u64>,
    /// Number of times the repetition was interrupted and resumed. If not 0, the repetition is omitted from the series.
    pub resumed: u32,
    pub figures: Vec<BenchFigure>,
    /// Computed results, with their correct values where known.
    pub checks: Vec<BenchCheck>,
    pub distributions: Vec<BenchDistribution>,
    pub notes: Vec<String>,
    pub conditions: Conditions,
}

/// State of the machine during one repetition. Unavailable readings are omitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// Temperature of each sensor at the end of the repetition, m°C.
    pub temperatures: Vec<Reading>,
    /// Mean frequency of each CPU over the samples taken during the repetition, kHz.
    pub khz: Vec<(CpuId, u64)>,
    /// Throttling during the repetition: the increase of each counter, and the flags that were set. Empty if it
    /// cannot be read.
    pub throttling: Vec<Reading>,
    /// Time in which the hypervisor ran something else, summed over all CPUs, ns; null if not reported.
    pub steal_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchFigure {
    /// Conditions of the measurement, for example `N-queens, N = 12, 4 threads, compat`.
    pub of: String,
    /// Name of the measured quantity, for example `time of a count`.
    pub name: String,
    /// Unit, for example `s`, `ns`, `MiB/s`; larger is better if it ends in `/s`.
    pub unit: String,
    pub value: f64,
}

/// A result and its expected value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchCheck {
    /// Name of the computed quantity, for example `solutions, N = 12`.
    pub what: String,
    pub got: u64,
    /// Correct value; null if unknown.
    pub expected: Option<u64>,
}

impl BenchCheck {
    /// Returns true if the result differs from the known correct value.
    pub fn is_wrong(&self) -> bool {
        self.expected.is_some_and(|expected| expected != self.got)
    }
}

/// Distribution of the times of one kind of step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchDistribution {
    /// The timed step, for example `pipe, same CPU`.
    pub of: String,
    /// Name of the time, for example `round trip`.
    pub name: String,
    pub histogram: Histogram,
}

/// Completed parts of the current repetition, which a resumed benchmark does not repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchParts {
    /// Number of the repetition, counted from 1.
    pub repetition: u64,
    pub done: Vec<(u64, u64)>,
    /// Elapsed time of the repetition so far, ns.
    pub elapsed_ns: u64,
    /// CPU time of the repetition so far, ns; null if unknown.
    pub cpu_ns: Option<u64>,
    /// Number of times the repetition has been resumed so far.
    pub resumed: u32,
}

/// One line of `bench.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum BenchRecord {
    /// The plan; always the first record.
    Plan(Box<BenchPlan>),
    Parts(BenchParts),
    Repetition(Box<BenchRepetition>),
}

/// Contents of a benchmark log.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchLog {
    pub plan: BenchPlan,
    pub repetitions: Vec<BenchRepetition>,
    /// Completed parts of the next repetition, and the time they took.
    pub parts: BenchParts,
}

impl BenchLog {
    /// Builds the log from its records. Returns `None` if the first record is not a plan.
    pub fn of(records: impl IntoIterator<Item = BenchRecord>) -> Option<BenchLog> {
        let mut records = records.into_iter();
        let Some(BenchRecord::Plan(plan)) = records.next() else { return None };
        let mut log = BenchLog { plan: *plan, repetitions: Vec::new(), parts: BenchParts::default() };
        let mut done = BTreeMap::new();
        for record in records {
            match record {
                BenchRecord::Plan(_) => {}
                // Parts of any other repetition are ignored, so that none is counted twice.
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

    pub fn next(&self) -> u64 {
        self.repetitions.len() as u64 + 1
    }
}

impl Bench {
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

    /// Returns all wrong results, each with the number of its repetition.
    pub fn wrong(&self) -> impl Iterator<Item = (u64, &BenchCheck)> {
        let of = |r: &'_ BenchRepetition| r.number;
        self.repetitions.iter().flat_map(move |r| r.checks.iter().filter(|c| c.is_wrong()).map(move |c| (of(r), c)))
    }

    /// Returns the conditions of each repetition in the form of run events.
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
    /// Returns the CPU temperature in °C: the reading of a sensor whose name contains `cpu`, `x86_pkg` or `soc`,
    /// otherwise of the first sensor that does not belong to the GPU.
    pub fn cpu_celsius(&self) -> Option<f64> {
        let names_cpu = |r: &&Reading| ["cpu", "x86_pkg", "soc"].iter().any(|n| r.name.to_lowercase().contains(n));
        let known = self.temperatures.iter().filter(|r| !r.name.starts_with("GPU"));
        let found = known.clone().find(names_cpu).or_else(|| known.clone().next());
        found.map(|r| r.value as f64 / 1e3)
    }

    pub fn gpu_celsius(&self) -> Option<f64> {
        self.temperatures.iter().find(|r| r.name.starts_with("GPU")).map(|r| r.value as f64 / 1e3)
    }
}

/// Returns each measured quantity, and each temperature, as a [`Series`] with one point per repetition. Resumed
/// repetitions are omitted, because caches were cold and CPU frequencies may have been low when they were resumed.
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
