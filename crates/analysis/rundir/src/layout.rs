//! Names of files and their formats.

use punctual_model::{Event, Phase, Run};
use punctual_units::{CpuId, Histogram};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(crate) const RUN: &str = "run.json";
/// What was tried before, of a run that `tune` ended with.
pub const TUNE: &str = "tune.json";
/// What the event suite found.
pub(crate) const SUITE: &str = "suite.json";
/// What a scheduling experiment measured.
pub(crate) const EXPERIMENT: &str = "experiment.json";
/// What a benchmark measured, and the log it is made of.
pub(crate) const BENCH: &str = "bench.json";
pub(crate) const BENCH_LOG: &str = "bench.jsonl";
pub(crate) const FINDINGS: &str = "findings.json";
pub(crate) const WORST: &str = "worst.jsonl";
pub(crate) const CAUSES: &str = "causes.jsonl";
pub(crate) const TRACES: &str = "traces";
pub(crate) const EVENTS: &str = "events.jsonl";
pub(crate) const MAXIMA: &str = "maxima.jsonl";
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const SEGMENTS: &str = "segments";
pub(crate) const RESERVE: &str = "segments/reserve";
/// A window of a trace is a few MiB at most.
pub(crate) const LARGEST_TRACE: u64 = 256 << 20;
pub(crate) const HIST: &str = "hist";

/// `hist/<phase>/<cpu>.json`: raw, skipped and corrected latencies of one phase on one CPU, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistogramFile {
    /// `punctual.hist/1`.
    pub schema: String,
    /// Phase id.
    pub phase: String,
    /// CPU.
    pub cpu: CpuId,
    /// One sample a period that ran.
    pub raw: Histogram,
    /// One sample a skipped period.
    pub skipped: Histogram,
    /// Both. Left out since 1.7 where room is scarce (`watch`): it is the sum of the two, bin by bin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Histogram>,
}

pub(crate) const HIST_SCHEMA: &str = "punctual.hist/1";

/// What stands beside `traces/NAME.dat`.
pub(crate) fn capture_note(file: &str) -> String {
    format!("{}.json", file.strip_suffix(".dat").unwrap_or(file))
}

pub(crate) fn hist_path(phase: &str, cpu: CpuId) -> String {
    format!("{HIST}/{phase}/{cpu}.json")
}

/// `manifest.json`: sizes and checksums of a finished run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Manifest {
    pub schema: String,
    pub files: BTreeMap<String, FileSum>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FileSum {
    pub bytes: u64,
    pub crc32: u32,
}

/// One line of a segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// First of every segment: the run as far as it is known.
    Run(Box<Run>),
    /// A phase has begun.
    Phase(Box<Phase>),
    /// All results of the running phase on one CPU so far; supersedes the last.
    Progress(Progress),
    /// So much of `events.jsonl` is whole.
    Events(FileSum),
}

/// Results of one CPU in the running phase so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// Phase id.
    pub phase: String,
    /// CPU.
    pub cpu: CpuId,
    /// CLOCK_MONOTONIC when they were read.
    pub mono_ns: u64,
    /// Periods that ran.
    pub raw: Histogram,
    /// Periods skipped.
    pub skipped: Histogram,
    /// The worst so far, the worst first.
    pub worst: Vec<punctual_model::Worst>,
}

pub(crate) fn event_line(event: &Event) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    Ok(line)
}
