use punctual_model::{Event, Phase, Run};
use punctual_units::{CpuId, Histogram};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(crate) const RUN: &str = "run.json";
/// Trials made by `tune` before the run.
pub const TUNE: &str = "tune.json";
pub(crate) const SUITE: &str = "suite.json";
pub(crate) const APPLICATION: &str = "application.json";
pub(crate) const EXPERIMENT: &str = "experiment.json";
/// Results of a benchmark, computed from the log [`BENCH_LOG`].
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
/// Size limit of a trace, bytes; typical windows have a few MiB.
pub(crate) const LARGEST_TRACE: u64 = 256 << 20;
pub(crate) const HIST: &str = "hist";

/// `hist/<phase>/<cpu>.json`: raw, skipped and corrected latencies of one phase on one CPU, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistogramFile {
    /// `punctual.hist/1`.
    pub schema: String,
    /// Identifier of the phase, as in `run.json`.
    pub phase: String,
    pub cpu: CpuId,
    /// Latencies of the jobs that ran.
    pub raw: Histogram,
    /// Lateness of the skipped periods.
    pub skipped: Histogram,
    /// Sum of `raw` and `skipped`. Since 1.7, omitted if disk space is limited (`watch`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Histogram>,
}

pub(crate) const HIST_SCHEMA: &str = "punctual.hist/1";

/// Returns the name of the JSON file that describes the trace `traces/NAME.dat`.
pub(crate) fn capture_note(file: &str) -> String {
    format!("{}.json", file.strip_suffix(".dat").unwrap_or(file))
}

/// Returns true if the ID is the name of a single directory. Run directories are untrusted, and `../x` would be a path.
pub(crate) fn is_phase_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 255 && !id.starts_with('.') && !id.chars().any(|c| c == '/' || c.is_control())
}

pub(crate) fn hist_path(phase: &str, cpu: CpuId) -> String {
    format!("{HIST}/{phase}/{cpu}.json")
}

/// `manifest.json`: sizes and checksums of the files of a finished run.
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

/// A line of a segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// First line of every segment: the run as recorded so far.
    Run(Box<Run>),
    /// Start of a phase.
    Phase(Box<Phase>),
    /// All results of a CPU in the running phase so far; replaces earlier results.
    Progress(Box<Progress>),
    /// Length and checksum of the complete part of `events.jsonl`.
    Events(FileSum),
}

/// Results of a CPU in the running phase so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    pub phase: String,
    pub cpu: CpuId,
    /// CLOCK_MONOTONIC when the results were read.
    pub mono_ns: u64,
    /// Latencies of the jobs that ran.
    pub raw: Histogram,
    /// Latencies of the skipped periods.
    pub skipped: Histogram,
    /// The worst wakeups so far, worst first.
    pub worst: Vec<punctual_model::Worst>,
    /// Late episodes so far above each limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub episodes: Vec<punctual_model::Episodes>,
}

pub(crate) fn event_line(event: &Event) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    Ok(line)
}
