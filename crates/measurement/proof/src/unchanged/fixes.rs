//! Reads the journal of changes before and after a run: fixes that may still be reverted, and changes made during the
//! run.

use punctual_fix::{Entry, Journal, Real, Set, State, TRIAL_RULE};
use std::io::ErrorKind;
use std::path::Path;

pub(super) struct Fixes {
    entries: Vec<Entry>,
    sets: Vec<Set>,
    lost: bool,
    /// Why the journal could not be read; `None` if it was read.
    unknown: Option<String>,
}

impl Fixes {
    pub fn look(folder: &Path) -> Fixes {
        let sys = Real::new();
        let nothing = Fixes { entries: Vec::new(), sets: Vec::new(), lost: false, unknown: None };
        match Journal::peek(&sys, folder) {
            Ok(None) => nothing,
            Ok(Some(journal)) => Fixes {
                entries: journal.entries().to_vec(),
                sets: journal.sets().to_vec(),
                lost: !journal.lost().is_empty(),
                unknown: None,
            },
            Err(e) => {
                let who = if e.source.kind() == ErrorKind::PermissionDenied { " (requires root)" } else { "" };
                let what = "it is not known whether a fix waits for confirmation";
                Fixes { unknown: Some(format!("{e}{who}: {what}")), ..nothing }
            }
        }
    }

    pub fn unknown(&self) -> Option<String> {
        self.unknown.clone()
    }

    /// Returns fixes that may be undone at any time, each with the command that confirms or undoes it.
    pub fn waiting(&self) -> Vec<String> {
        let is_open = |set: &Set| self.entries.iter().any(|entry| entry.set == set.id && entry.is_open());
        let mut waiting = Vec::new();
        if self.sets.iter().any(|set| set.confirm_by_s.is_some()) {
            waiting.push(
                "a fix waits for confirmation and may be undone at any time: `punctual undo --confirm` keeps it, \
                 `punctual undo` undoes it",
            );
        }
        if self.sets.iter().any(|set| !set.is_ended && set.confirm_by_s.is_none() && is_open(set)) {
            waiting.push("a fix or a trial of `punctual tune` has started and not ended: `punctual undo` undoes it");
        }
        if self.entries.iter().any(|entry| entry.is_open() && entry.rule == TRIAL_RULE) {
            waiting.push(
                "kernel parameters are on trial: `punctual audit --fix --persist` keeps the parameters of a trial boot, \
                 `punctual undo boot-trial` removes the trial",
            );
        }
        if self.lost {
            waiting.push("part of the journal of changes is lost: `punctual undo --list` shows what to do");
        }
        waiting.into_iter().map(str::to_owned).collect()
    }

    /// Returns the changes that this program made or undid since `self` was read.
    pub fn since(&self, later: &Fixes) -> Vec<String> {
        let before = |entry: &Entry| self.entries.iter().find(|other| other.id == entry.id).map(|other| other.state);
        let is_done = |entry: &&Entry| match (before(entry), entry.state) {
            (None, State::GaveUp) => false,
            (None, _) => true,
            (Some(before), now) => before != now && matches!(now, State::Undone | State::Undoing),
        };
        let how = |entry: &Entry| if entry.is_open() { "was made" } else { "was undone" };
        let changes = later.entries.iter().filter(is_done);
        let texts = changes.map(|entry| format!("{} ({}) {}", entry.change, entry.rule, how(entry)));
        let mut since: Vec<String> = super::listed("meanwhile", &texts.collect::<Vec<_>>()).into_iter().collect();
        if later.waiting() != self.waiting() {
            since.extend(later.waiting());
        }
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_fix::Change;

    fn set(id: u64, is_ended: bool, confirm_by_s: Option<u64>) -> Set {
        Set { id, boot: String::new(), owner: None, is_ended, confirm_by_s }
    }

    fn entry(id: u64, set: u64, rule: &str, state: State) -> Entry {
        let change = Change::Folder { path: "/sys/fs/cgroup/x".into() };
        Entry { id, set, rule: rule.to_owned(), boot: String::new(), change, state, after: Vec::new() }
    }

    fn fixes(sets: &[Set], entries: &[Entry]) -> Fixes {
        Fixes { entries: entries.to_vec(), sets: sets.to_vec(), lost: false, unknown: None }
    }

    #[test]
    fn fixes_that_stay_are_none_that_wait() {
        let ended = fixes(&[set(1, true, None)], &[entry(1, 1, "a", State::Verified)]);
        assert_eq!((ended.waiting(), ended.since(&ended)), (vec![], vec![]));
        for (waiting, command) in [
            (fixes(&[set(1, true, Some(9))], &[entry(1, 1, "a", State::Verified)]), "--confirm"),
            (fixes(&[set(1, false, None)], &[entry(1, 1, "a", State::Written)]), "`punctual undo`"),
            (fixes(&[set(1, true, None)], &[entry(1, 1, TRIAL_RULE, State::Verified)]), "boot-trial"),
            (Fixes { lost: true, ..fixes(&[], &[]) }, "--list"),
        ] {
            assert!(matches!(&waiting.waiting()[..], [text] if text.contains(command)), "{:?}", waiting.waiting());
        }
    }

    #[test]
    fn what_was_changed_meanwhile_is_named() {
        let one = fixes(&[set(1, true, None)], &[entry(1, 1, "a", State::Verified)]);
        let undone = fixes(&[set(1, true, None)], &[entry(1, 1, "a", State::Undone)]);
        assert!(one.since(&undone)[0].ends_with("(a) was undone"), "{:?}", one.since(&undone));
        let two = fixes(
            &[set(1, true, None), set(2, true, Some(9))],
            &[entry(1, 1, "a", State::Verified), entry(2, 2, "b", State::Verified), entry(3, 2, "c", State::GaveUp)],
        );
        let since = one.since(&two);
        assert!(since.len() == 2 && since[0].contains("(b) was made") && since[1].contains("--confirm"), "{since:?}");
    }
}
