use crate::act::text;
use crate::change::Change;
use crate::commands::{back_by_command, before_a_command, command};
use crate::compare::{Outcome, file, is_same, three};
use crate::draft;
use crate::files;
use crate::form::Form;
use crate::journal::{Entry, Journal, State};
use crate::system::{System, is_absent};
use crate::task;
use punctual_model::Back;
use std::io;
use std::path::{Path, PathBuf};

/// Number of passes over values of which writing one changes another.
const ROUNDS: usize = 4;

/// Undoes one entry and records this. If it cannot be recorded, that is not a failure: the entry stays open, and the
/// next undo finds that the old state is restored.
pub(crate) fn restore(journal: &mut Journal, id: u64) -> Outcome {
    let Some(entry) = journal.entries().iter().find(|entry| entry.id == id && entry.is_open()).cloned() else {
        return Outcome::Unchanged(format!("change {id} is already undone"));
    };
    let sys = journal.sys;
    let boot = match sys.boot_id() {
        Ok(boot) => boot,
        Err(e) => return Outcome::Failed(format!("{}: cannot identify the current boot: {e}", entry.change.subject())),
    };
    if entry.change.is_of_one_boot() && entry.boot != boot {
        let what = format!("{}: undone by the reboot", entry.change.subject());
        let _ = journal.state(id, State::Undone, "rebooted since");
        return Outcome::Gone(what);
    }
    if let Change::Value { beside, .. } = &entry.change
        && !beside.is_empty()
        && entry.state != State::Undoing
        && let Err(e) = journal.state(id, State::Undoing, "")
    {
        return Outcome::Failed(e.to_string());
    }
    if let Change::Folder { path } = &entry.change
        && let Some(other) = journal.entries().iter().find(|other| is_inside(other, path) && other.id != id)
    {
        // The change inside the directory must be undone first, so this entry stays open.
        return Outcome::Gone(format!("{}: kept because it contains {}", path.display(), other.change.subject()));
    }
    let outcome = match &entry.change {
        Change::Command { argv, back: Back::By(back), kept, .. } => before_a_command(journal, &entry, kept)
            .and_then(|whose| back_by_command(sys, id, (argv, back), kept, &whose))
            .inspect(|outcome| {
                if matches!(outcome, Outcome::Failed(_)) {
                    // The command had no effect. Other programs may write to its files until the next undo, which
                    // compares them again.
                    let _ = journal.state(id, State::Written, "");
                }
            }),
        _ => revert(sys, &entry),
    };
    let outcome = outcome.unwrap_or_else(|e| Outcome::Failed(format!("{}: {e}", entry.change.subject())));
    // An entry whose command runs again at the end is settled only after that.
    let is_deferred = matches!(entry.change, Change::Command { back: Back::Again, .. });
    if outcome.is_settled() && !is_deferred {
        let _ = journal.state(id, State::Undone, &outcome.sentence());
    }
    outcome
}

fn is_inside(entry: &Entry, folder: &Path) -> bool {
    let (Change::File { path, .. } | Change::Folder { path }) = &entry.change else { return false };
    entry.is_open() && path != folder && path.starts_with(folder)
}

fn revert(sys: &dyn System, entry: &Entry) -> io::Result<Outcome> {
    match &entry.change {
        Change::Value { path, old, new, form, beside } => {
            let value = Value { path, old, new, form: *form, beside };
            value.revert(sys, entry.state == State::Undoing)
        }
        Change::File { path, old, new } => {
            files::remove_aside(sys, path, entry.id)?;
            file(sys, (path, entry.id), old.as_ref(), new.as_ref())
        }
        Change::Folder { path } => folder(sys, path),
        Change::Scheduling { thread, old, new, reset_on_fork } => {
            if !task::is_there(sys, thread)? {
                return Ok(Outcome::Gone(format!("{}: the thread has ended", entry.change.subject())));
            }
            let (now, _) = sys.scheduling(thread.tid)?;
            let words = (now.to_string(), new.to_string(), old.to_string());
            three(&entry.change.subject(), words, || sys.set_scheduling(thread.tid, *old, *reset_on_fork))
        }
        Change::Affinity { thread, old, new } => {
            if !task::is_there(sys, thread)? {
                return Ok(Outcome::Gone(format!("{}: the thread has ended", entry.change.subject())));
            }
            let now = sys.affinity(thread.tid)?;
            let words = (now.to_string(), new.to_string(), old.to_string());
            three(&entry.change.subject(), words, || sys.set_affinity(thread.tid, old))
        }
        Change::Command { argv, back, kept, draft, .. } => {
            draft.as_ref().map_or(Ok(()), |draft| draft::clean(sys, draft))?;
            command(sys, entry, (argv, back), kept)
        }
    }
}

struct Value<'a> {
    path: &'a Path,
    old: &'a str,
    new: &'a str,
    form: Form,
    beside: &'a [(PathBuf, String)],
}

impl Value<'_> {
    fn revert(&self, sys: &dyn System, is_under_way: bool) -> io::Result<Outcome> {
        let path = self.path.display();
        let now = match text(sys, self.path) {
            Err(e) if is_absent(&e) => return Ok(Outcome::Gone(format!("{path}: no longer exists"))),
            other => other?,
        };
        let [now, old, new] = [&now, self.old, self.new].map(|text| self.form.value(text, self.new));
        let is_back = now == old;
        if is_back && !(is_under_way && self.differs_beside(sys)) {
            return Ok(Outcome::Unchanged(format!("{path}: {old}")));
        }
        if !is_back && now != new {
            let why = format!("{path}: is now {now}, was set to {new}: left unchanged");
            return Ok(Outcome::Refused { why, diff: String::new() });
        }
        self.write(sys)?;
        Ok(Outcome::Restored(format!("{path}: {new} -> {old}")))
    }

    fn differs_beside(&self, sys: &dyn System) -> bool {
        self.beside.iter().any(|(path, old)| text(sys, path).is_ok_and(|now| now != *old))
    }

    /// Writes the value and its companions until all of them have their old values.
    fn write(&self, sys: &dyn System) -> io::Result<()> {
        sys.write_value(self.path, self.form.back(self.old, self.new).as_bytes())?;
        for _ in 0..ROUNDS {
            let mut is_settled = true;
            for (path, old) in self.beside {
                if text(sys, path)? != *old {
                    is_settled = false;
                    let form = Form::of(&path.to_string_lossy(), old);
                    // A file that refuses its old value may accept it after another file was written; the next pass
                    // tries again.
                    let _ = sys.write_value(path, form.back(old, old).as_bytes());
                }
            }
            if !self.form.same(&text(sys, self.path)?, self.old, self.new) {
                is_settled = false;
                sys.write_value(self.path, self.form.back(self.old, self.new).as_bytes())?;
            }
            if is_settled {
                return Ok(());
            }
        }
        if !self.form.same(&text(sys, self.path)?, self.old, self.new) {
            return Err(io::Error::other("it does not accept its old value"));
        }
        match self.beside.iter().find(|(path, old)| text(sys, path).is_ok_and(|now| now != *old)) {
            Some((path, old)) => {
                Err(io::Error::other(format!("{} does not read back as {}", path.display(), old.trim())))
            }
            None => Ok(()),
        }
    }
}

fn folder(sys: &dyn System, path: &Path) -> io::Result<Outcome> {
    let shown = path.display();
    match sys.remove_folder(path) {
        Ok(()) => {
            path.parent().map_or(Ok(()), |above| sys.sync_folder(above))?;
            Ok(Outcome::Restored(format!("{shown}: removed")))
        }
        Err(e) if is_absent(&e) => Ok(Outcome::Unchanged(format!("{shown}: does not exist"))),
        Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Ok(Outcome::Gone(format!("{shown}: now used by others: left unchanged")))
        }
        Err(e) => Err(e),
    }
}

/// Undoes what a failed write may have done. If a command failed, only its files are restored; its inverse is not run.
pub(crate) fn give_up(journal: &mut Journal, id: u64) -> Outcome {
    let entry = journal.entries().iter().find(|entry| entry.id == id).cloned();
    let Some(Entry { change: Change::Command { argv, kept, draft, .. }, .. }) = entry else {
        return restore(journal, id);
    };
    if let Some(draft) = &draft
        && let Err(e) = draft::clean(journal.sys, draft)
    {
        return Outcome::Failed(format!("{}: {e}", draft.draft.display()));
    }
    for (path, old) in &kept {
        let put = files::kept(journal.sys, path).and_then(|now| match is_same(now.as_ref(), old.as_ref()) {
            true => Ok(()),
            false => files::put(journal.sys, path, old.as_ref(), id),
        });
        if let Err(e) = put {
            return Outcome::Failed(format!("{}: {e}", path.display()));
        }
    }
    Outcome::Unchanged(argv.line())
}
