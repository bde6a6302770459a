//! Applies one step: reads the old state, records it, writes, and reads back.

use crate::act::text;
use crate::back;
use crate::change::{Change, Kept, Thread};
use crate::companions;
use crate::compare::Outcome;
use crate::draft;
use crate::files;
use crate::form::Form;
use crate::journal::{Journal, JournalError, State};
use crate::system::{System, is_absent};
use crate::task;
use punctual_model::{Back, Command, Edit};
use punctual_units::{CpuList, Scheduling};
use std::path::{Path, PathBuf};

/// A step in which all placeholders are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    Value {
        path: PathBuf,
        new: String,
    },
    Edit(Edit),
    Folder(PathBuf),
    Scheduling {
        pid: u32,
        tid: u32,
        new: Scheduling,
    },
    Affinity {
        pid: u32,
        tid: u32,
        new: CpuList,
    },
    Run {
        command: Command,
        /// True if the effect continues after a reboot.
        lasting: bool,
    },
}

impl Doing {
    /// Returns the step as a command line for a shell.
    pub fn line(&self) -> String {
        match self {
            Doing::Value { path, new } => format!("echo {new} > {}", path.display()),
            Doing::Edit(edit) => format!("edit {}", edit.path.display()),
            Doing::Folder(path) => format!("mkdir {}", path.display()),
            Doing::Scheduling { tid, new, .. } => format!("thread {tid}: {new}"),
            Doing::Affinity { tid, new, .. } => format!("taskset -pc {new} {tid}"),
            Doing::Run { command, .. } => command.argv.line(),
        }
    }

    pub(crate) fn is_needed(&self) -> bool {
        matches!(self, Doing::Edit(_) | Doing::Folder(_) | Doing::Run { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    Already,
    /// The change was made. The number identifies its journal entry.
    Done(u64),
    /// The change was not made, for this reason. If undoing a failed write also failed, its journal entry describes
    /// what may remain.
    Refused(String),
}

pub(crate) struct Place<'a> {
    pub set: u64,
    pub rule: &'a str,
}

/// # Errors
/// The journal cannot be written, so no further change may be made.
pub(crate) fn carry(journal: &mut Journal, place: &Place, doing: &Doing) -> Result<Carried, JournalError> {
    let sys = journal.sys;
    let change = match look(sys, doing) {
        Ok(Some(change)) => change,
        Ok(None) => return Ok(Carried::Already),
        Err(why) => return Ok(Carried::Refused(why)),
    };
    let entry = journal.plan(place.set, place.rule, change.clone())?;
    if let Err(why) = write(sys, &change, entry) {
        return Ok(Carried::Refused(give_up(journal, entry, &why)));
    }
    if let Change::Command { kept, .. } = &change {
        journal.after(entry, now(sys, kept.iter().map(|(path, _)| path)))?;
    }
    journal.state(entry, State::Written, "")?;
    if let Err(why) = took(sys, &change) {
        let _ = back::restore(journal, entry);
        return Ok(Carried::Refused(why));
    }
    journal.state(entry, State::Verified, "")?;
    Ok(Carried::Done(entry))
}

/// Undoes a failed write, which may have had an effect. Returns `why`, and what remains if undoing failed.
fn give_up(journal: &mut Journal, entry: u64, why: &str) -> String {
    match back::give_up(journal, entry) {
        Outcome::Unchanged(_) | Outcome::Restored(_) => {
            // If this cannot be recorded, the entry stays open, and a later undo finds the old value in place.
            let _ = journal.state(entry, State::GaveUp, why);
            why.to_owned()
        }
        other => format!("{why}; undoing the change: {}", other.sentence()),
    }
}

/// Returns the change that a step would make; `None` if there is nothing to change.
///
/// # Errors
/// The reason why the step is not possible, as a sentence.
pub fn look(sys: &dyn System, doing: &Doing) -> Result<Option<Change>, String> {
    match doing {
        Doing::Value { path, new } => value(sys, path, new),
        Doing::Edit(edit) => {
            let failed = |e: std::io::Error| format!("{}: {e}", edit.path.display());
            files::check_folders(sys, &edit.path).map_err(failed)?;
            let old = files::kept(sys, &edit.path).map_err(failed)?;
            let new = files::edited(sys, edit, old.as_ref());
            let is_same = match (&old, &new) {
                (Some(old), Some(new)) => {
                    old.is_same_as(new)
                        && edit.mode.is_none_or(|mode| mode == old.attributes.mode)
                        && edit.owner.is_none()
                }
                (old, new) => old.is_none() && new.is_none(),
            };
            Ok((!is_same).then(|| Change::File { path: edit.path.clone(), old, new }))
        }
        Doing::Folder(path) => match sys.look(path) {
            Ok((crate::system::Kind::Folder, _)) => Ok(None),
            Err(e) if is_absent(&e) => Ok(Some(Change::Folder { path: path.clone() })),
            Err(e) => Err(format!("{}: {e}", path.display())),
            Ok(_) => Err(format!("{} is not a folder", path.display())),
        },
        Doing::Scheduling { pid, tid, new } => {
            let thread = thread(sys, *pid, *tid)?;
            let (old, reset_on_fork) = sys.scheduling(*tid).map_err(|e| format!("thread {tid}: {e}"))?;
            Ok((old != *new).then_some(Change::Scheduling { thread, old, reset_on_fork, new: *new }))
        }
        Doing::Affinity { pid, tid, new } => {
            let thread = thread(sys, *pid, *tid)?;
            let old = sys.affinity(*tid).map_err(|e| format!("thread {tid}: {e}"))?;
            Ok((old != *new).then(|| Change::Affinity { thread, old, new: new.clone() }))
        }
        Doing::Run { command, lasting } => run(sys, command, *lasting).map(Some),
    }
}

fn value(sys: &dyn System, path: &Path, new: &str) -> Result<Option<Change>, String> {
    let old = text(sys, path).map_err(|e| format!("{}: {e}", path.display()))?;
    let form = Form::of(&path.to_string_lossy(), &old);
    if form.same(&old, new, new) {
        return Ok(None);
    }
    if form == Form::Toggle && form.value(&old, new).is_empty() {
        return Err(format!("{} does not support {new}", path.display()));
    }
    let beside = companions::of(sys, path);
    Ok(Some(Change::Value { path: path.to_owned(), old, new: new.to_owned(), form, beside }))
}

fn thread(sys: &dyn System, pid: u32, tid: u32) -> Result<Thread, String> {
    task::thread(sys, pid, tid)
        .map_err(|e| format!("thread {tid}: {e}"))?
        .ok_or_else(|| format!("thread {tid} has ended"))
}

/// Returns a message if a program that the command or its inverse needs is not installed. The command must then not be
/// started.
pub(crate) fn missing(sys: &dyn System, command: &Command) -> Option<String> {
    let back = if let Back::By(back) = &command.back { Some(back) } else { None };
    let mut programs = [Some(&command.argv), back].into_iter().flatten().filter_map(|argv| argv.0.first());
    let program = programs.find(|program| sys.lacks(program))?;
    Some(format!("{}: the program `{program}` is not installed", command.argv.line()))
}

fn run(sys: &dyn System, command: &Command, lasting: bool) -> Result<Change, String> {
    if let Some(why) = missing(sys, command) {
        return Err(why);
    }
    let Command { argv, back, rewrites, draft } = command;
    let keep = |path: &PathBuf| {
        let kept = files::kept(sys, path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok((path.clone(), kept))
    };
    let kept = rewrites.iter().map(keep).collect::<Result<_, String>>()?;
    Ok(Change::Command { argv: argv.clone(), back: back.clone(), kept, draft: draft.clone(), lasting })
}

/// Returns the current contents of the files. Files that cannot be read are omitted.
pub(crate) fn now<'p>(sys: &dyn System, paths: impl Iterator<Item = &'p PathBuf>) -> Vec<(PathBuf, Option<Kept>)> {
    paths.filter_map(|path| Some((path.clone(), files::kept(sys, path).ok()?))).collect()
}

fn write(sys: &dyn System, change: &Change, entry: u64) -> Result<(), String> {
    let done = match change {
        Change::Value { path, new, .. } => sys.write_value(path, format!("{new}\n").as_bytes()),
        Change::File { path, new, .. } => files::put(sys, path, new.as_ref(), entry),
        Change::Folder { path } => sys.make_folder(path, 0o755),
        Change::Scheduling { thread, reset_on_fork, new, .. } => sys.set_scheduling(thread.tid, *new, *reset_on_fork),
        Change::Affinity { thread, new, .. } => sys.set_affinity(thread.tid, new),
        Change::Command { argv, draft, .. } => return draft::run(sys, argv, draft.as_ref(), entry),
    };
    done.map_err(|e| format!("{}: {e}", change.subject()))
}

fn took(sys: &dyn System, change: &Change) -> Result<(), String> {
    match change {
        Change::Value { path, new, form, .. } => {
            let now = text(sys, path).map_err(|e| format!("{}: {e}", path.display()))?;
            match form.same(&now, new, new) {
                true => Ok(()),
                false => Err(format!("{} accepted {} but reads {}", path.display(), new, form.value(&now, new))),
            }
        }
        Change::File { path, new, .. } => {
            let now = files::kept(sys, path).map_err(|e| format!("{}: {e}", path.display()))?;
            let is_same = match (&now, new) {
                (Some(now), Some(new)) => now.is_same_as(new),
                (now, new) => now.is_none() && new.is_none(),
            };
            if is_same { Ok(()) } else { Err(format!("{} does not read back as written", path.display())) }
        }
        Change::Scheduling { thread, new, .. } => match sys.scheduling(thread.tid) {
            Ok((now, _)) if now == *new => Ok(()),
            Ok((now, _)) => Err(format!("{}: {now} instead of {new}", change.subject())),
            Err(e) => Err(format!("{}: {e}", change.subject())),
        },
        Change::Affinity { thread, new, .. } => match sys.affinity(thread.tid) {
            Ok(now) if now == *new => Ok(()),
            Ok(now) => Err(format!("{}: CPU {now} instead of {new}", change.subject())),
            Err(e) => Err(format!("{}: {e}", change.subject())),
        },
        Change::Folder { .. } | Change::Command { .. } => Ok(()),
    }
}
