//! Plans, fixes and undos as `--json` documents.

use crate::journal::State as Progress;
use crate::{
    BootNotes, Change, Doing, Entry, Fixed, Kept, OneBoot, Outcome, Plan, RuleDone, RulePlan, System, Taken, Undone,
};
use crate::{diff, look};
use punctual_model::{Severity, State};
use serde::Serialize;
use std::path::Path;

/// The document that `audit --fix` and `audit --dry-run` print.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FixResult<'a> {
    /// Printed by `--dry-run`.
    Planned {
        /// Always `true`.
        dry_run: bool,
        machine: &'a str,
        rules: Vec<PlannedPart<'a>>,
        /// Changes of kernel parameters; null if none are requested.
        boot: Option<BootPart<'a>>,
    },
    /// Printed by `--fix`.
    Done {
        /// Always `false`.
        dry_run: bool,
        /// Number of the set of changes in the journal; null if nothing was changed.
        set: Option<u64>,
        rules: &'a [RuleDone],
        /// Values that another program has reverted.
        reverted: &'a [String],
        /// Why the fix stopped before it was complete; null if it did not.
        failed: &'a Option<String>,
        /// Steps that the user has to do.
        manual: Vec<ManualPart<'a>>,
        /// Damage to one copy of the journal; no record is lost.
        covered: &'a [String],
        /// Changes of kernel parameters; null if none are requested.
        boot: Option<BootPart<'a>>,
    },
}

/// The steps planned for a rule.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedPart<'a> {
    id: &'a str,
    state: State,
    severity: Severity,
    summary: &'a str,
    /// The steps, in the order in which they are applied.
    steps: Vec<StepPart>,
    /// Steps that the user has to do.
    manual: &'a [String],
    /// What the steps interrupt; null if nothing.
    disruptive: &'a Option<String>,
    /// What can go wrong; null if no risk is known.
    risk: &'a Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepPart {
    /// The step as a command line.
    does: String,
    /// Current and new value of what the step changes.
    pub change: String,
    /// Changed lines of a file; empty for other steps.
    pub diff: String,
    #[serde(skip)]
    pub kind: StepKind,
}

/// What a step would do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    Change,
    AlreadySet,
    Impossible,
}

/// A step that the user has to do.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ManualPart<'a> {
    id: &'a str,
    what: &'a str,
}

/// Changes of kernel parameters.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootPart<'a> {
    /// Name of this machine's boot chain.
    chain: &'a str,
    /// Evidence that this boot chain boots the machine.
    evidence: &'a [String],
    notes: &'a [String],
    /// The prepared trial boot; null if none was requested.
    trial: &'a Option<OneBoot>,
}

/// The document that `undo` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum UndoResult<'a> {
    /// Printed by `--confirm`.
    Kept {
        /// Number of sets of changes that no longer wait for confirmation.
        kept: usize,
    },
    Undone {
        /// True if all changes were undone.
        complete: bool,
        /// The changes, last one first.
        changes: Vec<UndonePart<'a>>,
        /// Records that the journal has lost.
        lost: &'a [String],
        /// Damage to one copy of the journal; no record is lost.
        covered: &'a [String],
    },
    /// Printed by `--accept-loss`: lost records of the journal that are no longer reported.
    Accepted { accepted: &'a [String] },
    /// Printed by `--list`: changes that have not been undone.
    Listed {
        /// The changes, first one first.
        changes: Vec<OpenPart<'a>>,
        /// Records that the journal has lost; `undo --accept-loss` continues without them.
        lost: &'a [String],
        /// Damage to one copy of the journal; no record is lost.
        covered: &'a [String],
    },
}

/// A change and the result of undoing it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndonePart<'a> {
    id: &'a str,
    /// Number of the change's journal entry.
    entry: u64,
    /// `restored`, `unchanged` (it already had its old value), `gone`, `left` (changed by another program) or `failed`.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^(restored|unchanged|gone|left|failed)$")))]
    outcome: &'static str,
    what: String,
    /// What other programs have changed since; null unless the outcome is `left`.
    diff: Option<&'a str>,
}

/// A change that has not been undone.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenPart<'a> {
    /// Number of the change's journal entry.
    entry: u64,
    id: &'a str,
    /// The change in one line.
    change: String,
    state: Progress,
}

impl<'a> FixResult<'a> {
    /// Creates the document of a plan. `machine` is the name of the machine.
    pub fn planned(plan: &'a Plan, sys: &dyn System, machine: &'a str, boot: &'a BootNotes) -> FixResult<'a> {
        let rule = |rule: &'a RulePlan| PlannedPart {
            id: &rule.rule,
            state: rule.state,
            severity: rule.severity,
            summary: &rule.summary,
            steps: rule.look(sys).collect(),
            manual: &rule.manual,
            disruptive: &rule.interrupts,
            risk: &rule.risk,
        };
        let rules = plan.rules.iter().map(rule).collect();
        FixResult::Planned { dry_run: true, machine, rules, boot: BootPart::new(boot) }
    }

    pub fn done(fixed: &'a Fixed, plan: &'a Plan, boot: &'a BootNotes) -> FixResult<'a> {
        let manual = |rule: &'a RulePlan| rule.manual.iter().map(|what| ManualPart { id: &rule.rule, what });
        FixResult::Done {
            dry_run: false,
            set: fixed.set,
            rules: &fixed.rules,
            reverted: &fixed.reverted,
            failed: &fixed.failed,
            manual: plan.rules.iter().flat_map(manual).collect(),
            covered: &fixed.covered,
            boot: BootPart::new(boot),
        }
    }
}

impl<'a> BootPart<'a> {
    fn new(boot: &'a BootNotes) -> Option<BootPart<'a>> {
        let (chain, evidence) = boot.chain.as_ref()?;
        Some(BootPart { chain, evidence, notes: &boot.notes, trial: &boot.trial })
    }
}

impl<'a> UndoResult<'a> {
    pub fn undone(undone: &'a Undone) -> UndoResult<'a> {
        let part = |taken: &'a Taken| UndonePart {
            id: &taken.rule,
            entry: taken.entry,
            outcome: taken.outcome.word(),
            what: taken.outcome.sentence(),
            diff: match &taken.outcome {
                Outcome::Refused { diff, .. } => Some(diff),
                _ => None,
            },
        };
        let changes = undone.changes.iter().map(part).collect();
        UndoResult::Undone { complete: undone.is_complete(), changes, lost: &undone.lost, covered: &undone.covered }
    }

    pub fn listed(entries: &'a [Entry], lost: &'a [String], covered: &'a [String]) -> UndoResult<'a> {
        let open = entries.iter().filter(|entry| entry.is_open());
        let part = |entry: &'a Entry| OpenPart {
            entry: entry.id,
            id: &entry.rule,
            change: entry.change.to_string(),
            state: entry.state,
        };
        UndoResult::Listed { changes: open.map(part).collect(), lost, covered }
    }
}

impl RulePlan {
    /// Returns the changes that the steps would make now.
    pub fn look(&self, sys: &dyn System) -> impl Iterator<Item = StepPart> {
        self.steps.iter().map(move |doing| {
            let (kind, change, diff) = self.step(sys, doing);
            StepPart { does: doing.line(), change, diff, kind }
        })
    }

    fn step(&self, sys: &dyn System, doing: &Doing) -> (StepKind, String, String) {
        match look(sys, doing) {
            Ok(None) => (StepKind::AlreadySet, format!("already set: {}", doing.line()), String::new()),
            Ok(Some(change)) => {
                let lines = match &change {
                    Change::File { old, new, .. } => {
                        let bytes = |kept: &Option<Kept>| kept.as_ref().and_then(Kept::bytes).unwrap_or_default();
                        diff(&bytes(old), &bytes(new))
                    }
                    _ => String::new(),
                };
                let prefix = if matches!(change, Change::Command { .. }) { "run " } else { "" };
                (StepKind::Change, format!("{prefix}{change}"), lines)
            }
            Err(_) if self.is_below_new_folder(doing) => (StepKind::Change, doing.line(), String::new()),
            Err(why) => (StepKind::Impossible, format!("cannot: {why}"), String::new()),
        }
    }

    /// Returns true if an earlier step creates the directory of the step's file, so that the file cannot be read yet.
    fn is_below_new_folder(&self, doing: &Doing) -> bool {
        let Doing::Value { path, .. } = doing else { return false };
        let is_above = |folder: &Path| path.starts_with(folder);
        self.steps.iter().any(|step| matches!(step, Doing::Folder(folder) if is_above(folder)))
    }
}
