//! Applies a plan rule by rule, evaluates each rule again, and rolls its changes back if nothing improved.

use crate::carry::{self, Carried, Doing, Place};
use crate::daemons;
use crate::journal::{Entry, Journal, JournalError};
use crate::plan::{Plan, RulePlan};
use crate::undo::{Taken, restore, settle_sets};
use crate::watchdog;
use punctual_model::State;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug, Default)]
pub struct FixOptions {
    /// Time after which the fix is undone unless the user confirms it, s; `None`: no confirmation is needed.
    pub confirm_within_s: Option<u64>,
    /// Time after which written values are read again, s; 0: never.
    pub look_again_s: u64,
    /// Permits disabling RT throttling and the fair server without a watchdog.
    pub i_know: bool,
}

/// Result of the fix of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleDone {
    #[serde(rename = "id")]
    pub rule: String,
    pub before: State,
    /// State of the rule after its changes; `None` if nothing was tried, or the rule is not in the audit.
    pub after: Option<State>,
    pub summary: String,
    pub changes: Vec<String>,
    pub refused: Vec<String>,
    /// Changes that were undone because nothing improved, or because a change on which they depend failed.
    pub rolled_back: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// Number of the set of changes in the journal; `None` if nothing needed to be changed.
    pub set: Option<u64>,
    pub rules: Vec<RuleDone>,
    /// Values that another program has reverted, each with running programs known to do this.
    pub reverted: Vec<String>,
    /// Error of the journal. The changes of the current rule were then rolled back as far as possible.
    pub failed: Option<String>,
    /// Damage to one copy of the journal, as sentences; no record is lost.
    pub covered: Vec<String>,
}

pub struct Asked<'a> {
    /// Evaluates one rule again. Returns its state and its sentence; `None` if the rule is not in the audit.
    pub judge: &'a dyn Fn(&str) -> Option<(State, String)>,
    /// Called once before the first change, with the number of the set that waits for confirmation. It starts the
    /// timer.
    pub guard: &'a dyn Fn(u64) -> Result<(), String>,
}

/// # Errors
/// The journal cannot be opened, or the timer cannot be started. Nothing was changed.
pub fn fix(journal: &mut Journal, plan: &Plan, options: &FixOptions, asked: &Asked) -> Result<Fixed, JournalError> {
    let mut fixed = Fixed { covered: journal.covered().to_vec(), ..Fixed::default() };
    let rules: Vec<&RulePlan> = plan.rules.iter().filter(|rule| !rule.steps.is_empty()).collect();
    if rules.is_empty() {
        return Ok(fixed);
    }
    let set = journal.begin(options.confirm_within_s)?;
    fixed.set = Some(set);
    if options.confirm_within_s.is_some()
        && let Err(why) = (asked.guard)(set)
    {
        settle_sets(journal);
        return Err(JournalError { path: journal.folder().to_owned(), source: std::io::Error::other(why) });
    }
    for rule in rules {
        match one(journal, set, rule, options, asked) {
            Ok(done) => fixed.rules.push(done),
            Err(error) => {
                let back = restore(journal, |entry| entry.set == set && entry.rule == rule.rule);
                fixed.failed = Some(format!("{error}; {}", sentence(&back)));
                break;
            }
        }
    }
    fixed.reverted = look_again(journal, set, options.look_again_s);
    let ended =
        options.confirm_within_s.map_or(Ok(()), |seconds| journal.extend(set, seconds)).and_then(|()| journal.end(set));
    if let Err(error) = ended {
        fixed.failed.get_or_insert(error.to_string());
    }
    settle_sets(journal);
    Ok(fixed)
}

fn sentence(back: &[Taken]) -> String {
    match back.iter().find(|taken| !taken.outcome.is_settled()) {
        Some(taken) => format!("not all changes of that rule could be rolled back: {}", taken.outcome.sentence()),
        None => "the changes of that rule were rolled back".to_owned(),
    }
}

pub(crate) fn one(
    journal: &mut Journal,
    set: u64,
    rule: &RulePlan,
    options: &FixOptions,
    asked: &Asked,
) -> Result<RuleDone, JournalError> {
    let mut done = RuleDone {
        rule: rule.rule.clone(),
        before: rule.state,
        after: None,
        summary: rule.summary.clone(),
        changes: Vec::new(),
        refused: Vec::new(),
        rolled_back: Vec::new(),
    };
    if let Some(why) = unprotected(journal, rule, options) {
        done.refused.push(why);
        return Ok(done);
    }
    let is_whole = carry_all(journal, set, rule, &mut done)?;
    let now = (asked.judge)(&rule.rule);
    let last = match stands(journal, set, rule, &mut done, is_whole, now.as_ref()) {
        true => now,
        // Evaluates the rule again only if something was undone, because some rules read hundreds of files.
        false => (asked.judge)(&rule.rule),
    };
    if let Some((state, summary)) = last {
        (done.after, done.summary) = (Some(state), summary);
    }
    Ok(done)
}

/// Returns true if the changes are kept. Undoes them and returns false if they are incomplete, or nothing improved
/// according to `now`.
fn stands(
    journal: &mut Journal,
    set: u64,
    rule: &RulePlan,
    done: &mut RuleDone,
    is_whole: bool,
    now: Option<&(State, String)>,
) -> bool {
    let is_own = |e: &&Entry| e.set == set && e.rule == rule.rule && e.is_open();
    // Steps that take effect at once must change the finding; steps for the next boot cannot.
    let is_better = !rule.is_judged || now.is_some_and(|now| is_better((rule.state, &rule.summary), now));
    if journal.entries().iter().any(|e| is_own(&e)) && (!is_whole || !is_better) {
        let back = restore(journal, |entry| entry.set == set && entry.rule == rule.rule);
        done.rolled_back = back.iter().map(|taken| taken.outcome.sentence()).collect();
        if is_whole {
            let summary = now.map_or(&rule.summary, |(_, summary)| summary);
            done.refused.push(format!("the finding did not change: {summary}"));
        }
        return false;
    }
    let pending = |entry: &Entry| crate::look_back::pending(journal.sys, &entry.change);
    let kept = journal.entries().iter().filter(is_own);
    done.changes = kept.map(|entry| format!("{}{}", entry.change, pending(entry))).collect();
    true
}

/// Returns why the steps of a rule must not be applied: they remove the last protection. `None` if they may be applied.
fn unprotected(journal: &Journal, rule: &RulePlan, options: &FixOptions) -> Option<String> {
    let is_safe = options.i_know || !rule.steps.iter().any(watchdog::removes_protection);
    let why =
        "removes what stops a runaway real-time loop, and no hardware watchdog is armed: arm one, or use --i-know";
    (!is_safe && watchdog::armed(journal.sys).is_none()).then(|| why.to_owned())
}

/// Applies every step. Returns false if a step that others depend on failed.
fn carry_all(journal: &mut Journal, set: u64, rule: &RulePlan, done: &mut RuleDone) -> Result<bool, JournalError> {
    let place = Place { set, rule: &rule.rule };
    for step in &rule.steps {
        if let Carried::Refused(why) = carry::carry(journal, &place, step)? {
            done.refused.push(why);
            if Doing::is_needed(step) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns true if the finding improved or at least changed. A finding that can no longer be evaluated did not improve.
fn is_better((before, summary): (State, &str), (after, now): &(State, String)) -> bool {
    match (before, after) {
        (_, State::Pass | State::Info) => true,
        (_, State::Blocked | State::Unknown) => false,
        (State::Fail, State::Warn | State::Skip) | (State::Warn, State::Skip) => true,
        (State::Warn, State::Fail) => false,
        _ => summary != now,
    }
}

/// Reads written values again after some seconds. Returns the values that another program has changed.
fn look_again(journal: &mut Journal, set: u64, seconds: u64) -> Vec<String> {
    let open = |journal: &Journal| {
        journal.entries().iter().filter(|e| e.set == set && e.is_open()).cloned().collect::<Vec<_>>()
    };
    if seconds == 0 || open(journal).is_empty() {
        return Vec::new();
    }
    journal.sys.wait(seconds);
    let mut latest: BTreeMap<String, String> = BTreeMap::new();
    for entry in open(journal) {
        if let Some(now) = crate::look_back::differs(journal.sys, &entry.change) {
            let subject = entry.change.subject();
            let writers = daemons::writers(journal.sys, &subject);
            let who = match writers.is_empty() {
                true => "no program known to write it is running".to_owned(),
                false => format!("running programs known to write it: {}", writers.join(", ")),
            };
            latest.insert(subject.clone(), format!("{subject}: reads {now} {seconds} s later; {who}"));
        }
    }
    latest.into_values().collect()
}

/// Opens the journal for a fix. First undoes incomplete changes of an earlier fix.
///
/// # Errors
/// The journal cannot be created or used.
pub fn open<'s>(
    sys: &'s dyn crate::System,
    folder: &Path,
) -> Result<(Journal<'s>, Option<crate::Undone>), JournalError> {
    let recovered = crate::undo::recover(sys, folder)?;
    Ok((Journal::open(sys, folder)?, recovered))
}
