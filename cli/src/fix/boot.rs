//! Kernel parameters: for good, tried in one boot, and kept after it.

use super::journal::folder;
use crate::refusal::Refusal;
use punctual_fix::{BOOT_RULE, FixOptions, How, Journal, Parameters, Plan, System, TRIAL_RULE, Tried};

/// What is to become of kernel parameters.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Nothing, or they are set for good.
    ForGood,
    /// They are to be tried. An earlier trial goes first.
    Try {
        /// Is there an earlier one?
        earlier: bool,
    },
    /// This boot tries them: they are kept.
    Keep(Tried),
}

/// What is to be done, by what is asked and by the trial that is prepared.
///
/// # Errors
/// A trial is prepared and this is not its boot: it failed, or was never booted.
pub fn stage(sys: &dyn System, persist: bool, trial: bool) -> Result<Stage, Refusal> {
    if !persist {
        return Ok(Stage::ForGood);
    }
    let tried = punctual_fix::tried(sys).map_err(|e| {
        let next = "`punctual undo boot-trial` takes the trial away";
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
        (Some(boot), Ok(now)) if boot == now => "was not booted yet: reboot as it said".to_owned(),
        (Some(_), Ok(_)) => "is not this boot: it failed and the machine fell back, or it was not chosen".to_owned(),
        _ => "is not this boot".to_owned(),
    };
    format!(
        "the trial boot ({}) {why}. `punctual undo {TRIAL_RULE}` takes it away, `--persist --trial` prepares another",
        tried.wish.line()
    )
}

impl Stage {
    /// How parameters are asked for.
    pub fn how(&self) -> How {
        match self {
            Stage::Try { .. } => How::Trial,
            Stage::ForGood | Stage::Keep(_) => How::ForGood,
        }
    }

    /// A plan of findings, with parameters under their name and those that were tried.
    pub fn complete(&self, parameters: &Parameters, sys: &dyn System, plan: &mut Plan) {
        parameters.name(plan);
        if let Stage::Keep(tried) = self {
            parameters.keep(sys, plan, &tried.wish);
        }
    }

    /// Takes the prepared trial away, before anything is planned: entries of one file may be both's.
    ///
    /// # Errors
    /// It could not be taken away whole: nothing else is done.
    pub fn clear(&self, sys: &dyn System) -> Result<(), Refusal> {
        if matches!(self, Stage::ForGood | Stage::Try { earlier: false }) {
            return Ok(());
        }
        let undone = punctual_fix::undo(sys, &folder(), &[TRIAL_RULE.to_owned()])
            .map_err(|e| Refusal::environment(format!("{e}; nothing was changed")))?;
        let left = undone.changes.iter().find(|taken| !taken.outcome.is_settled());
        match left.map(|taken| taken.outcome.sentence()) {
            None if undone.changes.is_empty() => {
                let what = "its files are there and no journal of them: take them away by hand";
                Err(Refusal::environment(format!("the trial boot: {what}, {} last", punctual_fix::TRIAL_FILE)))
            }
            None => Ok(()),
            Some(what) => {
                let next = "fix that, then `punctual undo boot-trial`";
                Err(Refusal::environment(format!("the trial's entry cannot be taken away: {what}; {next}")))
            }
        }
    }

    /// What a dry run does not show as steps.
    pub fn first(&self) -> Option<&'static str> {
        match self {
            Stage::ForGood | Stage::Try { earlier: false } => None,
            Stage::Try { earlier: true } => {
                Some("first, the earlier trial boot is taken away (punctual undo boot-trial)")
            }
            Stage::Keep(_) => {
                Some("this boot is the trial: first its entry is taken away, then its parameters are kept")
            }
        }
    }
}

/// May the fix be carried out with this deadline? A reboot is no confirmation, so a fix that waits would be undone after it.
pub fn refuse_waiting(plan: &Plan, options: &FixOptions) -> Option<&'static str> {
    let has = plan.rules.iter().any(|rule| rule.rule == BOOT_RULE && !rule.steps.is_empty());
    (has && options.confirm_within_s.is_some())
        .then_some("confirm before the reboot (`punctual undo --keep`): unconfirmed kernel parameters are undone by it")
}
