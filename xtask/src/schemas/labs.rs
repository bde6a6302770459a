//! The documents of `lab …`, `audit --fix` and what `history` keeps. As in `documents.rs`, nothing is written from these types. Real
//! documents are held against the schemas in cli: src/lab/documents.rs, tests/it/fix.rs, tests/it/history.rs.

#![allow(dead_code, reason = "only their schemas are used")]

use super::decisions::CompareResult;
use super::documents::ReportResult;
use punctual_model as model;
use schemars::JsonSchema;
use serde::Serialize;

/// Of `lab boot`.
#[derive(JsonSchema, Serialize)]
pub struct LabBootResult {
    /// One a guest, in the order of their numbers.
    pub guests: Vec<Guest>,
    /// Folder of the files that were fetched; null: none were asked for.
    pub out: Option<String>,
}

/// How a guest ended.
#[derive(JsonSchema, Serialize)]
pub struct Guest {
    /// Of its script.
    pub exit_code: i32,
    /// What it printed.
    pub console: String,
    /// From the emulator's start to its end, s.
    pub lasted_s: f64,
}

/// Of `lab prove`.
#[derive(JsonSchema, Serialize)]
pub struct LabProveResult {
    /// `virtual`.
    pub clock: String,
    /// Folder of the run directories.
    pub out: String,
    /// One a boot.
    pub boots: Vec<LabRun>,
}

/// One boot.
#[derive(JsonSchema, Serialize)]
pub struct LabRun {
    /// As of `report`.
    #[serde(flatten)]
    pub report: ReportResult,
    /// Of its loads and addresses.
    pub seed: u64,
    /// Where it lies.
    pub run_directory: String,
}

/// Of `lab compare`.
#[derive(JsonSchema, Serialize)]
pub struct LabCompareResult {
    /// As of `compare`.
    #[serde(flatten)]
    pub comparison: CompareResult,
    /// Folder of the run directories and the page.
    pub out: String,
}

/// Of `lab bisect`.
#[derive(JsonSchema, Serialize)]
pub struct LabBisectResult {
    /// `virtual`.
    pub clock: String,
    /// The first bad commit, or all that may be it.
    pub suspects: Vec<String>,
    /// What was tried, in order.
    pub steps: Vec<BisectStep>,
    /// Folder of what was built and run.
    pub out: String,
}

/// One commit that was tried.
#[derive(JsonSchema, Serialize)]
pub struct BisectStep {
    /// The commit.
    pub commit: String,
    /// Its subject line.
    pub subject: String,
    /// What it came to.
    #[schemars(regex(pattern = r"^(good|bad|not_built|inconclusive)$"))]
    pub outcome: String,
    /// In a few words.
    pub why: String,
}

/// Of `audit --fix`, and of its `--dry-run`.
#[derive(JsonSchema, Serialize)]
pub struct FixResult {
    /// Was nothing to be changed?
    pub dry_run: bool,
    /// The machine in a few words (`--dry-run`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The set's number in the journal; null or left out: nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<u64>,
    /// One a rule of the audit.
    pub rules: Vec<FixRule>,
    /// What another program changed back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverted: Option<Vec<String>>,
    /// Why it stopped early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Vec<String>>,
    /// What is left to the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual: Option<Vec<LeftToYou>>,
    /// Lines of the journal that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Vec<String>>,
    /// Parameters of the kernel's; null: none was asked for.
    pub boot: Option<BootPart>,
}

/// What is, or would be, done for a rule.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum FixRule {
    /// Done.
    Done {
        /// The rule.
        id: String,
        /// How it came out before.
        before: model::State,
        /// And after; null: nothing was changed.
        after: Option<model::State>,
        /// What the rule found.
        summary: String,
        /// What was done.
        changes: Vec<String>,
        /// What was not, and why.
        refused: Vec<String>,
        /// What was taken back because a later step failed.
        rolled_back: Vec<String>,
    },
    /// Planned.
    Planned {
        /// The rule.
        id: String,
        /// How it came out.
        state: model::State,
        /// How bad that is.
        severity: model::Severity,
        /// What the rule found.
        summary: String,
        /// In order.
        steps: Vec<FixStep>,
        /// What is left to the user.
        manual: Vec<String>,
        /// What it interrupts; null: nothing.
        disruptive: Option<String>,
        /// What may go wrong; null: nothing known.
        risk: Option<String>,
    },
}

/// One change.
#[derive(JsonSchema, Serialize)]
pub struct FixStep {
    /// As a command.
    pub does: String,
    /// What is now and what will be.
    pub change: String,
    /// Of a file: lines that go and come; empty otherwise.
    pub diff: String,
}

/// What no program should do by itself.
#[derive(JsonSchema, Serialize)]
pub struct LeftToYou {
    /// The rule.
    pub id: String,
    /// What to do.
    pub what: String,
}

/// Parameters of the kernel's.
#[derive(JsonSchema, Serialize)]
pub struct BootPart {
    /// What boots this machine.
    pub chain: String,
    /// How that is known.
    pub evidence: Vec<String>,
    /// What else to know.
    pub notes: Vec<String>,
    /// The trial, where one was asked for.
    pub trial: Option<Trial>,
}

/// One boot with the parameters.
#[derive(JsonSchema, Serialize)]
pub struct Trial {
    /// What boots it.
    pub reboot: String,
    /// Does it come back by itself?
    pub unattended: bool,
    /// What happens where it does not come up.
    pub fallback: String,
    /// What it shows as.
    pub visible: String,
    /// The parameters.
    pub words: Vec<String>,
}

/// Of `history add`.
#[derive(JsonSchema, Serialize)]
pub struct AddResult {
    /// The database.
    pub db: String,
    /// One a run.
    pub runs: Vec<AddedRun>,
    /// What could not be added.
    pub failed: Vec<NotAdded>,
}

/// A run that was found.
#[derive(JsonSchema, Serialize)]
pub struct AddedRun {
    /// Its identity.
    pub run: String,
    /// Where it lies.
    pub path: String,
    /// What became of it.
    #[schemars(regex(pattern = r"^(added|brought up to date|known already)$"))]
    pub what: String,
}

/// What could not be added.
#[derive(JsonSchema, Serialize)]
pub struct NotAdded {
    /// Where it lies.
    pub path: String,
    /// Why.
    pub why: String,
}

/// Of `history baseline`.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum BaselineResult {
    /// `set`.
    Set {
        /// Its name.
        name: String,
        /// Identities of its runs.
        runs: Vec<String>,
    },
    /// `remove`.
    Removed {
        /// Its name.
        removed: String,
    },
    /// `list`.
    Listed {
        /// All of them.
        baselines: Vec<Baseline>,
    },
}

/// A named set of runs.
#[derive(JsonSchema, Serialize)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// Identities of its runs.
    pub runs: Vec<String>,
}
