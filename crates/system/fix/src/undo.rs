use crate::back;
use crate::change::Change;
use crate::commands;
use crate::compare::Outcome;
use crate::draft;
use crate::journal::{Entry, Journal, JournalError, Set, State};
use crate::system::System;
use punctual_model::{Argv, Back};
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub entry: u64,
    pub rule: String,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// The changes, last one first.
    pub changes: Vec<Taken>,
    /// Changes that the journal has lost, as sentences.
    pub lost: Vec<String>,
    /// Damage to one copy of the journal, as sentences; no record is lost.
    pub covered: Vec<String>,
}

impl Undone {
    fn new(journal: &Journal, changes: Vec<Taken>) -> Undone {
        Undone { changes, lost: journal.lost().to_vec(), covered: journal.covered().to_vec() }
    }

    /// Returns true if everything in the journal is undone and no record is lost.
    pub fn is_complete(&self) -> bool {
        self.lost.is_empty() && self.changes.iter().all(|taken| taken.outcome.is_settled())
    }
}

/// Undoes all changes of these rules (without names, of all rules), including those of interrupted sets.
///
/// # Errors
/// The journal cannot be used.
pub fn undo(sys: &dyn System, folder: &Path, rules: &[String]) -> Result<Undone, JournalError> {
    let Some(mut journal) = Journal::existing(sys, folder)? else { return Ok(Undone::default()) };
    let changes = restore(&mut journal, |entry| rules.is_empty() || rules.contains(&entry.rule));
    settle_sets(&mut journal);
    Ok(Undone::new(&journal, changes))
}

/// Undoes the chosen entries, last one first. Commands that must follow all edits run again at the end.
pub(crate) fn restore(journal: &mut Journal, chosen: impl Fn(&Entry) -> bool) -> Vec<Taken> {
    let open: Vec<Entry> = journal.entries().iter().filter(|e| e.is_open() && chosen(e)).rev().cloned().collect();
    let mut taken: Vec<Taken> = open
        .iter()
        .map(|entry| Taken { entry: entry.id, rule: entry.rule.clone(), outcome: back::restore(journal, entry.id) })
        .collect();
    let mut done: Vec<Argv> = Vec::new();
    // In the order in which the commands ran.
    for (entry, taken) in open.iter().zip(&mut taken).rev() {
        let is_again = matches!(&entry.change, Change::Command { back: Back::Again, .. });
        if !is_again || !taken.outcome.is_settled() && !matches!(taken.outcome, Outcome::Refused { .. }) {
            continue;
        }
        if let Some((argv, draft)) = commands::runs_again(journal.sys, entry).filter(|(argv, _)| !done.contains(argv)) {
            match draft::run(journal.sys, &argv, draft.as_ref(), entry.id) {
                Ok(()) => taken.outcome = Outcome::Restored(format!("{}: run again", argv.line())),
                Err(why) => {
                    taken.outcome = Outcome::Failed(why);
                    continue;
                }
            }
            done.push(argv);
        }
        let _ = journal.state(entry.id, State::Undone, "");
    }
    taken
}

/// Marks sets without open entries as finished; they need no confirmation.
pub(crate) fn settle_sets(journal: &mut Journal) {
    let is_done = |id: u64| journal.entries().iter().all(|entry| entry.set != id || !entry.is_open());
    let done: Vec<(u64, bool, bool)> = journal
        .sets()
        .iter()
        .filter(|set| is_done(set.id))
        .map(|set| (set.id, set.confirm_by_s.is_some(), set.is_ended))
        .collect();
    for (set, waits, is_ended) in done {
        // If this cannot be recorded, the next start checks again and finds nothing to do.
        let _ = if waits { journal.confirmed(set) } else { Ok(()) };
        let _ = if is_ended { Ok(()) } else { journal.end(set) };
    }
}

/// Undoes sets whose process died before it had finished, and sets that were not confirmed in time. It is called when
/// the program starts. Returns `None` if there were no such sets.
///
/// # Errors
/// The journal cannot be used, or records are lost. Nothing is then undone automatically.
pub fn recover(sys: &dyn System, folder: &Path) -> Result<Option<Undone>, JournalError> {
    let Some(mut journal) = Journal::if_free(sys, folder)? else { return Ok(None) };
    // The end of a set, or its confirmation, may be among the lost records.
    journal.refuse_lost()?;
    let is_waiting = |set: &Set| !set.is_ended || set.confirm_by_s.is_some();
    if !journal.sets().iter().any(is_waiting) {
        return Ok(None);
    }
    // The boot ID shows which sets are from an earlier boot. Without it nothing is undone.
    let boot = journal.boot()?;
    let now = sys.boottime_s();
    let is_stale = |set: &Set| {
        let is_cut_off = !set.is_ended && set.owner.as_ref().is_some_and(punctual_journal::Owner::is_dead);
        // The child process with the timer acts first, unless it was killed.
        let is_late = set.confirm_by_s.is_some_and(|by| set.boot != boot || now > by.saturating_add(GRACE_S));
        is_cut_off || is_late
    };
    let stale: Vec<u64> = journal.sets().iter().filter(|set| is_stale(set)).map(|set| set.id).collect();
    if stale.is_empty() {
        return Ok(None);
    }
    let changes = restore(&mut journal, |entry| stale.contains(&entry.set));
    stale.iter().for_each(|set| close(&mut journal, *set, &changes));
    settle_sets(&mut journal);
    Ok((!changes.is_empty()).then(|| Undone::new(&journal, changes)))
}

/// Marks a set as finished unless a change could not be undone, which is then tried again. Changes that another program
/// has modified since are left to `undo`, and are not tried again at every start.
fn close(journal: &mut Journal, set: u64, changes: &[Taken]) {
    if changes.iter().all(|taken| !matches!(taken.outcome, Outcome::Failed(_))) {
        let _ = journal.confirmed(set);
        let _ = journal.end(set);
    }
}

/// Maximum delay of the child process that has the timer, s.
const GRACE_S: u64 = 5;

/// Waits until the timer of a set expires, and undoes the set unless it was confirmed in the meantime. Runs in the child
/// process that holds the timer. Retries for ten minutes if the journal or the boot ID cannot be read, because
/// giving up would make the fix permanent.
///
/// # Errors
/// The journal cannot be used. The program tries again when it is started again.
pub fn guard(sys: &dyn System, folder: &Path, set: u64) -> Result<Option<Undone>, JournalError> {
    let mut left = MAX_TRIES;
    loop {
        match turn(sys, folder, set) {
            Ok(Turn::Over(undone)) => return Ok(undone),
            Ok(Turn::Wait(seconds)) => sys.wait(seconds),
            Err(e) if left == 0 => return Err(e),
            Err(_) => {
                left -= 1;
                sys.wait(LONGEST_WAIT_S);
            }
        }
    }
}

enum Turn {
    /// The timer is no longer needed: the set was confirmed, or was undone with this result.
    Over(Option<Undone>),
    /// Check again after this many seconds.
    Wait(u64),
}

fn turn(sys: &dyn System, folder: &Path, set: u64) -> Result<Turn, JournalError> {
    let Some(mut journal) = Journal::existing(sys, folder)? else { return Ok(Turn::Over(None)) };
    let boot = journal.boot();
    // If the boot ID is unknown, the set is from this boot, because no process survives a reboot.
    let is_ours = |other: &&Set| other.id == set && boot.as_ref().map_or(true, |boot| other.boot == *boot);
    let Some(by) = journal.sets().iter().find(is_ours).and_then(|set| set.confirm_by_s) else {
        return Ok(Turn::Over(None));
    };
    let now = sys.boottime_s();
    if now < by {
        return Ok(Turn::Wait((by - now).min(LONGEST_WAIT_S)));
    }
    // Without the boot ID nothing can be undone.
    boot?;
    let changes = restore(&mut journal, |entry| entry.set == set);
    close(&mut journal, set, &changes);
    settle_sets(&mut journal);
    Ok(Turn::Over(Some(Undone::new(&journal, changes))))
}

/// Maximum interval between checks of a set, s: its time may have been extended, or it may have been confirmed, in the
/// meantime.
const LONGEST_WAIT_S: u64 = 2;
/// Maximum number of attempts to read the journal or the boot ID.
const MAX_TRIES: u32 = 300;
