//! The documents of commands that decide or change something: `compare`, `history`, `tune`, `undo`, `selftest`. As in `documents.rs`,
//! nothing is written from these types; real documents are held against their schemas (cli/tests/it/schemas_of_decisions.rs).

#![allow(dead_code, reason = "only their schemas are used")]

use super::documents::ReportResult;
use punctual_model as model;
use punctual_units::{CpuId, CpuList, Nanos, Scheduling};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Of `compare`.
#[derive(JsonSchema, Serialize)]
pub struct CompareResult {
    /// The figures.
    #[serde(flatten)]
    pub comparison: model::Comparison,
    /// `real` or `virtual`.
    pub clock: String,
    /// What came of it, in a sentence.
    pub headline: String,
    /// One a finding.
    pub sentences: Vec<String>,
    /// How the groups differ besides what was asked.
    pub unlike_sentences: Vec<String>,
    /// What these runs cannot say.
    pub cannot_say: Vec<String>,
}

/// Of `history`.
#[derive(JsonSchema, Serialize)]
pub struct HistoryResult {
    /// Which figures were looked at.
    pub figures: Vec<model::history::Figure>,
    /// P(a false claim of a trend or a shift anywhere) is at most this where nothing changed.
    pub alpha: f64,
    /// Tests made, which each p is corrected for.
    pub tests: usize,
    /// Runs by machine and settings, the ones with the latest run first.
    pub groups: Vec<HistoryGroupPart>,
    /// What changed.
    pub sentences: Vec<String>,
}

/// Comparable runs.
#[derive(JsonSchema, Serialize)]
pub struct HistoryGroupPart {
    /// The machine in a few words.
    pub machine: String,
    /// The clock model; null: real time.
    pub virtual_time: Option<String>,
    /// `real` or `virtual`.
    pub clock: String,
    /// The settings by name; values are words.
    pub settings: Map<String, Value>,
    /// In the order of time; those without a time last.
    pub runs: Vec<model::history::RunSummary>,
    /// Hosts the runs come from, each once.
    pub hosts: Vec<String>,
    /// One a load and figure (and length, where the figure grows with it).
    pub series: Vec<HistorySeriesPart>,
}

/// One figure under one load over time, with its sentences.
#[derive(JsonSchema, Serialize)]
pub struct HistorySeriesPart {
    /// The figures.
    #[serde(flatten)]
    pub series: model::history::HistorySeries,
    /// What changed.
    pub sentences: Vec<String>,
}

/// Of `history gate`.
#[derive(JsonSchema, Serialize)]
pub struct GateResult {
    /// How the run compares with its baseline.
    #[serde(flatten)]
    pub gate: model::history::Gate,
    /// In sentences.
    pub sentences: Vec<String>,
}

/// Of `tune`: what would be tried; what was found; or, where the result was proved at the end, what `prove` prints.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum TuneResult {
    /// `--dry-run`.
    Planned {
        /// `true`.
        dry_run: bool,
        /// What would be tried, in that order.
        candidates: Vec<Candidate>,
        /// Rule, and why it would not be tried.
        not_tried: Vec<(String, String)>,
        /// The figure to be improved.
        objective: String,
        /// Length of a block, ns.
        block_ns: Nanos,
        /// The least time it takes, ns.
        least_ns: Nanos,
    },
    /// Without a final proof.
    Found {
        /// What was tried, kept and left.
        tuned: model::Tuned,
    },
    /// With one.
    Proved(Box<ReportResult>),
}

/// A fix that can be tried.
#[derive(JsonSchema, Serialize)]
pub struct Candidate {
    /// The audit's rule.
    pub rule: String,
    /// What its fix does.
    pub what: String,
}

/// Of `undo`.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum UndoResult {
    /// `--keep`: how many sets of changes no longer wait.
    Kept {
        /// How many.
        kept: u64,
    },
    /// What was taken back.
    Undone {
        /// Is the machine as before?
        complete: bool,
        /// One a change, the latest first.
        changes: Vec<TakenBack>,
        /// Lines of the journal that could not be read.
        dropped: Vec<String>,
    },
    /// `--list`: what is not taken back yet.
    Listed {
        /// One a change, the earliest first.
        changes: Vec<Open>,
    },
}

/// A change that was taken back, or not.
#[derive(JsonSchema, Serialize)]
pub struct TakenBack {
    /// The audit's rule.
    pub id: String,
    /// Its number in the journal.
    pub entry: u64,
    /// `put back`, `as before already`, `gone`, `left` (changed by others since) or `failed`.
    #[schemars(regex(pattern = r"^(put back|as before already|gone|left|failed)$"))]
    pub outcome: String,
    /// In a sentence.
    pub what: String,
    /// What others changed since; null: nothing is in the way.
    pub diff: Option<String>,
}

/// A change that is in force.
#[derive(JsonSchema, Serialize)]
pub struct Open {
    /// Its number in the journal.
    pub entry: u64,
    /// The audit's rule.
    pub id: String,
    /// In a line.
    pub change: String,
    /// How far it got: `planned`, `written`, `verified`, `undoing`, …
    pub state: String,
}

/// Of `selftest`.
#[derive(JsonSchema, Serialize)]
pub struct SelftestResult {
    /// The CPU that was measured and disturbed.
    pub cpu: CpuId,
    /// Those that were left alone.
    pub housekeeping: CpuList,
    /// Policy of the measuring thread.
    pub scheduling: Scheduling,
    /// What was planted.
    pub planted: Vec<Planted>,
    /// What had to be so.
    pub checks: Vec<Check>,
}

/// One planted delay, as it really was; times are of CLOCK_MONOTONIC, ns.
#[derive(JsonSchema, Serialize)]
pub struct Planted {
    /// What.
    #[schemars(regex(pattern = r"^(spinner|late_start|page_fault)$"))]
    pub kind: String,
    /// Where.
    pub cpu: CpuId,
    /// How long it was meant to be.
    pub wanted: Nanos,
    /// From when.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
}

/// What had to be found.
#[derive(JsonSchema, Serialize)]
pub struct Check {
    /// What was planted, or looked at.
    pub name: String,
    /// Is it so?
    pub passed: bool,
    /// With the figures.
    pub said: String,
}
