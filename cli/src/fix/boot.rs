//! Sets kernel parameters permanently, tries them in one boot, or keeps them after that boot.

use super::journal::folder;
use crate::refusal::Refusal;
use punctual_fix::{BOOT_RULE, FixOptions, How, Journal, Parameters, Plan, System, TRIAL_RULE, Tried};

/// What happens to the kernel parameters of a fix.
#[derive(Clone, Debug)]
pub enum Stage {
    /// The parameters are set permanently if the fix is to persist; otherwise they are not set.
    ForGood,
    /// The parameters are tried in one boot. If `earlier` is true, an earlier trial is removed first.
    Try { earlier: bool },
    /// The current boot is the trial; its parameters are kept.
    Keep(Tried),
}

/// Determines the stage from the options and from a trial that has been prepared, if any.
///
/// # Errors
/// A trial is prepared but this boot is not the trial: the trial boot failed, or has not taken place yet.
pub fn stage(sys: &dyn System, persist: bool, trial: bool) -> Result<Stage, Refusal> {
    if !persist {
        return Ok(Stage::ForGood);
    }
    let tried = punctual_fix::tried(sys).map_err(|e| {
        let next = "`punctual undo boot-trial` removes the trial";
        Refusal::environment(format!("{}: {e}; {next}", punctual_fix::TRIAL_FILE))
    })?;
    match tried {
        None if trial => Ok(Stage::Try { earlier: false }),
        None => Ok(Stage::ForGood),
        Some(_) if trial => Ok(Stage::Try { earlier: true }),
        Some(tried) if tried.is_running => Ok(Stage::Keep(tried)),
        Some(tried) => Err(Refusal::environment(not_it(sys, &tried))),
    }
}

fn not_it(sys: &dyn System, tried: &Tried) -> String {
    let journal = Journal::existing(sys, &folder()).ok().flatten();
    let boots = journal.iter().flat_map(Journal::entries).filter(|e| e.is_open() && e.rule == TRIAL_RULE);
    let boot = boots.map(|entry| entry.boot.clone()).next_back();
    let why = match (boot, sys.boot_id()) {
        (Some(boot), Ok(now)) if boot == now => "has not been booted yet: reboot as instructed".to_owned(),
        (Some(_), Ok(_)) => "is not this boot: it failed and the machine fell back, or it was not chosen".to_owned(),
        _ => "is not this boot".to_owned(),
    };
    format!(
        "the trial boot ({}) {why}. `punctual undo {TRIAL_RULE}` removes it, `--persist --trial` prepares another",
        tried.request.line()
    )
}

impl Stage {
    pub fn how(&self) -> How {
        match self {
            Stage::Try { .. } => How::Trial,
            Stage::ForGood | Stage::Keep(_) => How::ForGood,
        }
    }

    /// Adds kernel parameters to a plan that was made from findings: the parameters of each rule, and the parameters
    /// that are being tried.
    pub fn complete(&self, parameters: &Parameters, sys: &dyn System, plan: &mut Plan) {
        parameters.name(plan);
        if let Stage::Keep(tried) = self {
            parameters.keep(sys, plan, &tried.request);
        }
    }

    /// Removes a prepared trial before anything is planned, since the trial and the plan may use entries of the same
    /// file.
    ///
    /// # Errors
    /// The trial could not be removed completely; nothing else is done.
    pub fn clear(&self, sys: &dyn System) -> Result<(), Refusal> {
        if matches!(self, Stage::ForGood | Stage::Try { earlier: false }) {
            return Ok(());
        }
        let undone = punctual_fix::undo(sys, &folder(), &[TRIAL_RULE.to_owned()])
            .map_err(|e| Refusal::environment(format!("{e}; nothing was changed")))?;
        let left = undone.changes.iter().find(|taken| !taken.outcome.is_settled());
        match left.map(|taken| taken.outcome.sentence()) {
            None if undone.changes.is_empty() => {
                let what = "its files exist but are not in the journal: remove them manually";
                Err(Refusal::environment(format!("the trial boot: {what}; remove {} last", punctual_fix::TRIAL_FILE)))
            }
            None => Ok(()),
            Some(what) => {
                let next = "fix that, then `punctual undo boot-trial`";
                Err(Refusal::environment(format!("the trial's entry cannot be removed: {what}; {next}")))
            }
        }
    }

    /// Returns the preliminary step, if any; the list of a dry run does not contain it.
    pub fn first(&self) -> Option<&'static str> {
        match self {
            Stage::ForGood | Stage::Try { earlier: false } => None,
            Stage::Try { earlier: true } => Some("first, the earlier trial boot is removed (punctual undo boot-trial)"),
            Stage::Keep(_) => Some("this boot is the trial: its entry is removed first, then its parameters are kept"),
        }
    }
}

/// Returns why the fix cannot wait for a confirmation, if it cannot: kernel parameters take effect at a reboot, and a
/// reboot undoes an unconfirmed fix.
pub fn refuse_waiting(plan: &Plan, options: &FixOptions) -> Option<&'static str> {
    let has = plan.rules.iter().any(|rule| rule.rule == BOOT_RULE && !rule.steps.is_empty());
    (has && options.confirm_within_s.is_some())
        .then_some("confirm before the reboot (`punctual undo --confirm`), which undoes unconfirmed kernel parameters")
}
