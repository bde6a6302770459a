//! The documents of `--json` as types: what the commands put together by hand. Nothing is written from these; that real documents
//! hold to them is tested (cli/tests/it/schemas.rs).

#![allow(dead_code, reason = "only their schemas are used")]

use super::tails::TailPart;
use punctual_model as model;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// What every command prints with `--json`: one document, `schema` and `schema_version` first.
#[derive(JsonSchema, Serialize)]
pub struct Document<T> {
    /// `punctual.COMMAND/1`; another major number is another format.
    #[schemars(regex(pattern = r"^punctual\..+/1$"))]
    pub schema: String,
    /// `major.minor`; a minor version only adds keys.
    #[schemars(regex(pattern = r"^1\.\d+$"))]
    pub schema_version: String,
    /// Who wrote it.
    pub tool: Writer,
    /// The exit code of the command: 0 pass or done, 1 fail, 2 usage, 3 inconclusive, 4 environment, 128+n signal n.
    pub exit_code: u8,
    /// What came of it.
    pub result: T,
}

/// Name and version of the program.
#[derive(JsonSchema, Serialize)]
pub struct Writer {
    /// `punctual`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A result, or why there is none.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Answer<T> {
    /// Why there is none.
    Error {
        /// What failed, on what, why, and what to do.
        error: String,
    },
    /// The result.
    Result(T),
}

/// Of `report`, `measure` and `prove`: the run and its verdict.
#[derive(JsonSchema, Serialize)]
pub struct ReportResult {
    /// How it came out.
    pub verdict: VerdictPart,
    /// What run.json says of the whole run.
    pub run: RunPart,
    /// In the order measured.
    pub phases: Vec<PhasePart>,
    /// What makes every phase inconclusive.
    pub problems: Vec<model::Problem>,
    /// What the reader should know.
    pub notes: Vec<String>,
    /// What was wrong with the files themselves.
    pub damage: Vec<String>,
    /// The worst wakeups, the worst first.
    pub worst: Vec<WorstPart>,
    /// The largest latency of each block.
    pub maxima: MaximaPart,
    /// Causes that traces show.
    pub explained: Vec<model::Explained>,
    /// What was tried on the machine before.
    pub tuned: Option<model::Tuned>,
    /// The audit's findings.
    pub findings: Vec<model::Finding>,
    /// The machine.
    pub machine: model::MachineFacts,
    /// What others published of this board.
    pub published: Value,
    /// What measuring cost.
    pub cost: Option<model::OwnCost>,
    /// `measure` and `prove`: the run directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_directory: Option<String>,
    /// `measure` and `prove`: the page, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// The verdict with its sentences.
#[derive(JsonSchema, Serialize)]
pub struct VerdictPart {
    /// The worst of the judged claims.
    pub outcome: model::Outcome,
    /// One a claim.
    pub claims: Vec<JudgedPart>,
    /// What makes phases inconclusive.
    pub problems: Vec<ProblemPart>,
    /// What this run's length can have missed.
    pub coverage: Vec<model::Coverage>,
    /// The largest corrected latency, and where.
    pub worst: Option<model::CellId>,
    /// Periods released; null: not told.
    pub released: Option<u64>,
    /// Periods that ran.
    pub ran: u64,
    /// Periods skipped; null: not told.
    pub skipped: Option<u64>,
    /// Several CPUs in virtual time: what the controls came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_control: Option<model::VirtualControl>,
    /// The tail of each load; left out where none was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<TailPart>,
    /// In a sentence.
    pub headline: String,
    /// What the reader must not miss.
    pub warnings: Vec<String>,
    /// By what it is known.
    pub evidence: Vec<String>,
    /// What this run cannot say.
    pub cannot_say: Vec<String>,
}

/// A judged claim with its sentence.
#[derive(JsonSchema, Serialize)]
pub struct JudgedPart {
    /// The claim.
    #[serde(flatten)]
    pub judged: model::Judged,
    /// How it came out, by what.
    pub sentence: String,
}

/// A problem and the phase it concerns.
#[derive(JsonSchema, Serialize)]
pub struct ProblemPart {
    /// Phase id; null: all.
    pub phase: Option<String>,
    /// For programs.
    pub kind: model::ProblemKind,
    /// For people.
    pub text: String,
}

/// The run as a whole.
#[derive(JsonSchema, Serialize)]
pub struct RunPart {
    /// `punctual.run/1`.
    pub schema: String,
    /// `major.minor`.
    pub schema_version: String,
    /// Who measured.
    pub tool: model::Tool,
    /// What was measured.
    pub kind: model::Kind,
    /// Did every phase run to its planned end?
    pub complete: bool,
    /// How it ended.
    pub ended_by: Option<model::EndedBy>,
    /// Its start.
    pub started: Option<StampPart>,
    /// Its end.
    pub ended: Option<StampPart>,
    /// Where it was imported from.
    pub import: Option<model::Import>,
    /// The machine's name.
    pub host: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// What was asked for.
    pub settings: model::Settings,
    /// `real` or `virtual`.
    pub clock: String,
    /// The clock model, where it is virtual.
    pub virtual_time: Option<model::VirtualTime>,
    /// When the claims were looked at.
    pub looks: Vec<model::Look>,
}

/// An instant, also in words.
#[derive(JsonSchema, Serialize)]
pub struct StampPart {
    /// The clocks.
    #[serde(flatten)]
    pub stamp: model::Stamp,
    /// ISO 8601.
    pub utc: String,
}

/// A phase and its figures.
#[derive(JsonSchema, Serialize)]
pub struct PhasePart {
    /// Unique in the run.
    pub id: String,
    /// The load.
    pub load: String,
    /// What an imported phase's figures are.
    pub label: Option<String>,
    /// CLOCK_MONOTONIC.
    pub start_mono_ns: Option<u64>,
    /// ISO 8601.
    pub start_utc: Option<String>,
    /// CLOCK_MONOTONIC.
    pub end_mono_ns: Option<u64>,
    /// Planned recording time.
    pub planned_ns: Option<u64>,
    /// The stretches it was measured in.
    pub rounds: Vec<model::Round>,
    /// What makes it inconclusive.
    pub problems: Vec<model::Problem>,
    /// What the load did.
    pub load_report: Option<model::LoadReport>,
    /// One a CPU.
    pub cpus: Vec<CellPart>,
}

/// A CPU in a phase.
#[derive(JsonSchema, Serialize)]
pub struct CellPart {
    /// As in run.json.
    #[serde(flatten)]
    pub result: model::CpuResult,
    /// As many independent samples say as much.
    pub effective_samples: f64,
    /// Wakeups.
    pub raw: Option<DistributionPart>,
    /// Every released period scored.
    pub corrected: Option<DistributionPart>,
}

/// A distribution in figures.
#[derive(JsonSchema, Serialize)]
pub struct DistributionPart {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min_ns: Option<u64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Largest.
    pub max_ns: Option<u64>,
    /// With bounds, both together at 95 %; null: not bounded by this run.
    pub quantiles: Vec<QuantilePart>,
}

/// A quantile.
#[derive(JsonSchema, Serialize)]
pub struct QuantilePart {
    /// `p99.9`.
    pub name: String,
    /// 0–1.
    pub q: f64,
    /// Of the samples.
    pub value_ns: Option<u64>,
    /// Lower bound.
    pub lower_95_ns: Option<u64>,
    /// Upper bound.
    pub upper_95_ns: Option<u64>,
}

/// One of the worst wakeups.
#[derive(JsonSchema, Serialize)]
pub struct WorstPart {
    /// As in worst.jsonl.
    #[serde(flatten)]
    pub worst: model::Worst,
    /// When it was due, ISO 8601.
    pub release_utc: String,
}

/// Maxima of blocks.
#[derive(JsonSchema, Serialize)]
pub struct MaximaPart {
    /// Length of the blocks; null: none were kept.
    pub block_ns: Option<u64>,
    /// As in maxima.jsonl.
    pub blocks: Vec<model::BlockMaximum>,
}

/// Of `audit`: findings, or with `--plan-cpus` a plan.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum AuditResult {
    /// Findings.
    Findings {
        /// What was looked at.
        machine: String,
        /// What for.
        profile: String,
        /// The application's CPUs.
        cpus: String,
        /// Its policy.
        scheduling: String,
        /// One a rule, in every state.
        findings: Vec<model::Finding>,
    },
    /// A plan of CPUs.
    Plan {
        /// What was looked at.
        machine: String,
        /// The plan.
        plan: Map<String, Value>,
    },
}

/// Of `snapshot`.
#[derive(JsonSchema, Serialize)]
pub struct SnapshotResult {
    /// The new file.
    pub file: String,
    /// How many files are in it.
    pub files: u64,
}

/// Of `explain`.
#[derive(JsonSchema, Serialize)]
pub struct ExplainResult {
    /// What was found.
    #[serde(flatten)]
    pub explanation: model::Explanation,
    /// What the trace was read as.
    pub trace_format: String,
    /// With `--timeline`, of each victim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timelines: Option<Vec<Option<model::Timeline>>>,
}

/// Of `watch`, `watch --status` and `report` of its folder.
#[derive(JsonSchema, Serialize)]
pub struct WatchResult {
    /// How the series stands, as in watch.json.
    pub watch: model::Watch,
    /// Is a process writing it?
    pub running: bool,
    /// Of all its files together.
    pub bytes: u64,
    /// Run directories that are still kept, the oldest first, relative to the folder.
    pub segments: Vec<String>,
    /// As in series.jsonl, in order of writing, without the blocks.
    pub lines: Vec<model::WatchLine>,
    /// What cannot be read.
    pub damage: Vec<String>,
}

/// Of `import`.
#[derive(JsonSchema, Serialize)]
pub struct ImportResult {
    /// The new run directory.
    pub run: String,
    /// What was told, and what not.
    pub import: Option<model::Import>,
    /// As far as they are told.
    pub settings: model::Settings,
    /// Each with its samples and largest latency.
    pub phases: Vec<ImportedPhase>,
    /// What makes phases inconclusive.
    pub problems: Vec<ProblemPart>,
    /// What was lost, in sentences.
    pub lost: Vec<String>,
}

/// An imported phase.
#[derive(JsonSchema, Serialize)]
pub struct ImportedPhase {
    /// Unique in the run.
    pub id: String,
    /// What its figures are.
    pub label: Option<String>,
    /// Of all CPUs.
    pub samples: u64,
    /// The largest of all CPUs.
    pub max_ns: Option<u64>,
    /// One a CPU or thread: `cpu, samples, skipped, min_ns, max_ns, mean_ns, blur`.
    pub cpus: Vec<Map<String, Value>>,
    /// What makes it inconclusive.
    pub problems: Vec<model::Problem>,
}
