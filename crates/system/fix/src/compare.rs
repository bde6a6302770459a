//! Compares the current state with the written and the old one, so that only changes of this program are undone.

use crate::change::Kept;
use crate::files;
use crate::system::System;
use std::io;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Restored(String),
    /// The change had no effect any more: the old value was already in place.
    Unchanged(String),
    /// Nothing remains to be undone, because of a reboot, or because the thread or file no longer exists.
    Gone(String),
    Refused {
        why: String,
        /// Lines that differ between the content written and the current content.
        diff: String,
    },
    /// Undoing failed. A later undo tries again.
    Failed(String),
}

impl Outcome {
    /// Returns the name of the outcome in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Restored(_) => "restored",
            Outcome::Unchanged(_) => "unchanged",
            Outcome::Gone(_) => "gone",
            Outcome::Refused { .. } => "left",
            Outcome::Failed(_) => "failed",
        }
    }

    pub fn sentence(&self) -> String {
        match self {
            Outcome::Restored(what) | Outcome::Unchanged(what) | Outcome::Gone(what) | Outcome::Failed(what) => {
                what.clone()
            }
            Outcome::Refused { why, .. } => why.clone(),
        }
    }

    pub fn is_settled(&self) -> bool {
        !matches!(self, Outcome::Refused { .. } | Outcome::Failed(_))
    }
}

pub(crate) fn three(
    subject: &str,
    (now, new, old): (String, String, String),
    write: impl FnOnce() -> io::Result<()>,
) -> io::Result<Outcome> {
    if now == old {
        return Ok(Outcome::Unchanged(format!("{subject}: {old}")));
    }
    if now != new {
        return Ok(Outcome::Refused {
            why: format!("{subject}: is now {now}, was set to {new}: left unchanged"),
            diff: String::new(),
        });
    }
    write()?;
    Ok(Outcome::Restored(format!("{subject}: {new} -> {old}")))
}

pub(crate) fn is_same(one: Option<&Kept>, other: Option<&Kept>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_same_as(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

pub(crate) fn file(
    sys: &dyn System,
    (path, id): (&Path, u64),
    old: Option<&Kept>,
    new: Option<&Kept>,
) -> io::Result<Outcome> {
    let shown = path.display();
    let now = match files::kept(sys, path) {
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
            return Ok(Outcome::Refused { why: format!("{shown}: {e}: left unchanged"), diff: String::new() });
        }
        other => other?,
    };
    if is_same(now.as_ref(), old) {
        same_attributes(sys, path, now.as_ref(), old)?;
        return Ok(Outcome::Unchanged(format!("{shown}: as before")));
    }
    if !is_same(now.as_ref(), new) {
        let bytes = |kept: Option<&Kept>| kept.and_then(Kept::bytes).unwrap_or_default();
        let why = match &now {
            None => format!("{shown}: has been removed; the journal has the original"),
            Some(_) => format!("{shown}: has been changed by another program: left unchanged"),
        };
        return Ok(Outcome::Refused { why, diff: files::diff(&bytes(new), &bytes(now.as_ref())) });
    }
    files::check_folders(sys, path)?;
    files::put(sys, path, old, id)?;
    let what = if old.is_some() { "the original is restored" } else { "removed" };
    Ok(Outcome::Restored(format!("{shown}: {what}")))
}

/// Restores mode, owner and time of a file whose content is the old one again, if these attributes still differ from
/// the old ones.
pub(crate) fn same_attributes(sys: &dyn System, path: &Path, now: Option<&Kept>, old: Option<&Kept>) -> io::Result<()> {
    match (now, old) {
        (Some(now), Some(old)) if now.attributes != old.attributes => sys.set_attributes(path, &old.attributes),
        _ => Ok(()),
    }
}
