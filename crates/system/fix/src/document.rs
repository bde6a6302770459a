//! Plans, fixes and undos as `--json` documents.

use crate::journal::State as Progress;
use crate::{
    BootNotes, Change, Doing, Entry, Fixed, Kept, OneBoot, Outcome, Plan, RuleDone, RulePlan, System, Taken, Undone,
};
use crate::{diff, look};
use punctual_model::{Severity, State};
use serde::Serialize;
use std::path::Path;

/// The result of `audit --fix` and `audit --dry-run`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FixResult<'a> {
    /// The result of `--dry-run`.
    Planned {
        /// Always `true`.
        dry_run: bool,
        machine: &'a str,
        rules: Vec<PlannedPart<'a>>,
        /// Kernel parameters; null if none are requested.
        boot: Option<BootPart<'a>>,
    },
    /// The result of `--fix`.
    Done {
        /// Always `false`.
        dry_run: bool,
        /// Number of the set in the journal; null if nothing was changed.
        set: Option<u64>,
        rules: &'a [RuleDone],
        /// Changes that another program reverted.
        reverted: &'a [String],
        /// Why the fix stopped early; null if it did not.
        failed: &'a Option<String>,
        /// Steps left to the user.
        manual: Vec<ManualPart<'a>>,
        /// Damage to the journal that caused no loss.
        covered: &'a [String],
        /// Kernel parameters; null if none are requested.
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
    /// Steps in order.
    steps: Vec<StepPart>,
    /// Steps left to the user.
    manual: &'a [String],
    /// What the steps interrupt; null for nothing.
    disruptive: &'a Option<String>,
    /// What can go wrong; null if nothing is known.
    risk: &'a Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepPart {
    /// The step as a command.
    does: String,
    /// Current and new value.
    pub change: String,
    /// Changed lines of a file; empty for other changes.
    pub diff: String,
}

/// A step left to the user.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ManualPart<'a> {
    id: &'a str,
    what: &'a str,
}

/// Kernel parameters.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootPart<'a> {
    /// The boot loader of this machine.
    chain: &'a str,
    /// Evidence for the boot loader.
    evidence: &'a [String],
    notes: &'a [String],
    /// The trial boot, if requested.
    trial: &'a Option<OneBoot>,
}

/// The result of `undo`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum UndoResult<'a> {
    /// The result of `--confirm`.
    Kept {
        /// Number of sets that no longer wait for confirmation.
        kept: usize,
    },
    Undone {
        /// True if everything has been undone.
        complete: bool,
        /// Changes, last one first.
        changes: Vec<UndonePart<'a>>,
        /// Records lost from the journal.
        lost: &'a [String],
        /// Damage to the journal that caused no loss.
        covered: &'a [String],
    },
    /// `--accept-loss`: records lost from the journal that are no longer reported.
    Accepted { accepted: &'a [String] },
    /// `--list`: changes that are not yet undone.
    Listed {
        /// Changes, first one first.
        changes: Vec<OpenPart<'a>>,
        /// Records lost from the journal; `undo --accept-loss` continues without them.
        lost: &'a [String],
        /// Damage to the journal that caused no loss.
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
    /// Later changes by other programs; null unless the outcome is `left`.
    diff: Option<&'a str>,
}

/// A change in force.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenPart<'a> {
    /// Number of the change's journal entry.
    entry: u64,
    id: &'a str,
    /// The change on one line.
    change: String,
    state: Progress,
}

impl<'a> FixResult<'a> {
    /// Creates the result of a plan; `machine` is the name of the machine.
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
    /// The changes that the steps would make now.
    pub fn look(&self, sys: &dyn System) -> impl Iterator<Item = StepPart> {
        self.steps.iter().map(move |doing| {
            let (change, diff) = self.step(sys, doing);
            StepPart { does: doing.line(), change, diff }
        })
    }

    fn step(&self, sys: &dyn System, doing: &Doing) -> (String, String) {
        match look(sys, doing) {
            Ok(None) => (format!("already set: {}", doing.line()), String::new()),
            Ok(Some(change)) => {
                let lines = match &change {
                    Change::File { old, new, .. } => {
                        let bytes = |kept: &Option<Kept>| kept.as_ref().and_then(Kept::bytes).unwrap_or_default();
                        diff(&bytes(old), &bytes(new))
                    }
                    _ => String::new(),
                };
                let prefix = if matches!(change, Change::Command { .. }) { "run " } else { "" };
                (format!("{prefix}{change}"), lines)
            }
            Err(_) if self.is_below_new_folder(doing) => (doing.line(), String::new()),
            Err(why) => (format!("cannot: {why}"), String::new()),
        }
    }

    /// Returns true if the step's file is in a folder that an earlier step creates, so that it cannot be read yet.
    fn is_below_new_folder(&self, doing: &Doing) -> bool {
        let Doing::Value { path, .. } = doing else { return false };
        let is_above = |folder: &Path| path.starts_with(folder);
        self.steps.iter().any(|step| matches!(step, Doing::Folder(folder) if is_above(folder)))
    }
}
