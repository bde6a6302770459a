//! Undoes commands: runs their inverse, and restores the files that they wrote.

use crate::act::execute;
use crate::change::{Change, Kept};
use crate::compare::{Outcome, file, is_same, same_attributes};
use crate::files;
use crate::journal::{Entry, Journal, State};
use crate::system::System;
use punctual_model::{Argv, Back, Draft};
use std::io;
use std::path::PathBuf;

/// Who wrote to a command's files last.
pub(crate) enum Whose {
    /// When this undo, or an earlier interrupted one, began, the files were as the command had left them. They are
    /// restored byte for byte.
    Ours,
    /// Other programs have also written to the files. Only the inverse is run.
    Shared,
    /// Another program has replaced the value that the command wrote, so the inverse would remove that program's value.
    Theirs(PathBuf, String),
}

/// Records who wrote to the files of a command last, before its inverse changes them.
pub(crate) fn before_a_command(
    journal: &mut Journal,
    entry: &Entry,
    kept: &[(PathBuf, Option<Kept>)],
) -> io::Result<Whose> {
    if entry.state == State::Undoing || kept.is_empty() {
        return Ok(Whose::Ours);
    }
    let mut whose = Whose::Ours;
    for (path, old) in kept {
        // If the command was interrupted before its results were recorded, the current content is its result.
        let Some((_, after)) = entry.after.iter().find(|(other, _)| other == path) else { continue };
        let now = files::kept(journal.sys, path)?;
        if is_same(now.as_ref(), after.as_ref()) {
            continue;
        }
        let text =
            |kept: Option<&Kept>| String::from_utf8_lossy(&kept.and_then(Kept::bytes).unwrap_or_default()).into_owned();
        let now = text(now.as_ref());
        if let Some(line) = replaced(&text(old.as_ref()), &text(after.as_ref()), &now) {
            return Ok(Whose::Theirs(path.clone(), line));
        }
        whose = Whose::Shared;
    }
    if matches!(whose, Whose::Ours) {
        journal.state(entry.id, State::Undoing, "").map_err(io::Error::other)?;
    }
    Ok(whose)
}

/// Returns a line `name=value` whose value differs from the command's and from the old one; `None` if there is none. A
/// line without a value does not count, because its value was used up: GRUB empties next_entry.
fn replaced(old: &str, after: &str, now: &str) -> Option<String> {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<String>>();
    let (old, now) = (lines(old), lines(now));
    let ours = after.lines().filter(|line| !line.starts_with('#') && !old.contains(*line) && !now.contains(*line));
    let mut names = ours.filter_map(|line| line.split_once('=').map(|(name, _)| format!("{name}=")));
    names.find_map(|name| {
        now.iter().find(|line| line.starts_with(&name) && line.len() > name.len() && !old.contains(*line)).cloned()
    })
}

/// Runs the inverse of a command, then restores the files that the command and its inverse wrote.
pub(crate) fn back_by_command(
    sys: &dyn System,
    entry: u64,
    (argv, back): (&Argv, &Argv),
    kept: &[(PathBuf, Option<Kept>)],
    whose: &Whose,
) -> io::Result<Outcome> {
    if let Whose::Theirs(path, line) = whose {
        let why =
            format!("{}: {} now has `{line}`, written by another program: left unchanged", argv.line(), path.display());
        return Ok(Outcome::Refused { why, diff: String::new() });
    }
    if let Err(why) = execute(sys, back) {
        return Ok(Outcome::Failed(why));
    }
    let mut shared = String::new();
    for (path, old) in kept {
        files::remove_aside(sys, path, entry)?;
        let now = files::kept(sys, path)?;
        if is_same(now.as_ref(), old.as_ref()) {
            same_attributes(sys, path, now.as_ref(), old.as_ref())?;
            continue;
        }
        match whose {
            Whose::Ours => files::put(sys, path, old.as_ref(), entry)?,
            _ => shared = format!("; later changes by others to {} are kept", path.display()),
        }
    }
    Ok(Outcome::Restored(format!("{}{shared}", back.line())))
}

pub(crate) fn command(
    sys: &dyn System,
    entry: &Entry,
    (argv, back): (&Argv, &Back),
    kept: &[(PathBuf, Option<Kept>)],
) -> io::Result<Outcome> {
    for (path, old) in kept {
        let after = entry.after.iter().find(|(other, _)| other == path).map(|(_, kept)| kept.as_ref());
        let now = files::kept(sys, path)?;
        // The command was interrupted before its results were recorded, so the current content is its result.
        let new = after.unwrap_or(now.as_ref());
        files::remove_aside(sys, path, entry.id)?;
        let outcome = file(sys, (path, entry.id), old.as_ref(), new)?;
        let is_made_again = matches!(back, Back::Again) && !outcome.is_settled();
        if !outcome.is_settled() && !is_made_again {
            return Ok(outcome);
        }
    }
    Ok(match back {
        Back::By(back) => Outcome::Restored(back.line()),
        Back::Again => Outcome::Restored(format!("{}: run again at the end", argv.line())),
        Back::Nothing => Outcome::Gone(format!("{}: nothing to undo", argv.line())),
        Back::Manual(how) => Outcome::Gone(format!("{}: manually: {how}", argv.line())),
    })
}

/// Returns the command that must run again after all edits are undone; `None` if every file that it wrote is byte for
/// byte as before.
pub(crate) fn runs_again(sys: &dyn System, entry: &Entry) -> Option<(Argv, Option<Draft>)> {
    let Change::Command { argv, back: Back::Again, kept, draft, .. } = &entry.change else { return None };
    let is_back = |(path, old): &(PathBuf, Option<Kept>)| {
        files::kept(sys, path).is_ok_and(|now| is_same(now.as_ref(), old.as_ref()))
    };
    let is_done = !kept.is_empty() && kept.iter().all(is_back);
    (!is_done).then(|| (argv.clone(), draft.clone()))
}
