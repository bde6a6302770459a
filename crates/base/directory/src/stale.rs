//! Removes temporary files and directories that a killed process left behind.
//!
//! A temporary name contains 16 random hexadecimal digits. The process that created the file or directory holds a lock
//! on it (flock(2)), which ends with the process. An entry that has a temporary name, belongs to the same user and can
//! be locked is therefore no longer in use.

use crate::dir::Kind;
use crate::draft::random;
use crate::{Dir, Error, Whose};
use rustix::fs::{FlockOperation, flock};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Maximum number of attempts to create a directory. An attempt fails if another process removes the directory as stale
/// before it is locked.
const TRIES: usize = 8;

/// A directory for temporary files. It is removed on drop or, if the process was killed, by the next
/// [`Scratch::create`].
#[derive(Debug)]
pub struct Scratch {
    dir: Dir,
    parent: Dir,
    name: OsString,
}

impl Scratch {
    /// Creates the directory `punctual-WHAT-…` in $TMPDIR or /tmp.
    ///
    /// # Errors
    /// See [`Dir::create`].
    pub fn create(what: &str, whose: Whose) -> Result<Scratch, Error> {
        Scratch::create_in(&std::env::temp_dir(), what, whose)
    }

    pub(crate) fn create_in(folder: &Path, what: &str, whose: Whose) -> Result<Scratch, Error> {
        let (dir, parent, name) = make(folder, format!("punctual-{what}-").as_bytes(), whose)?;
        Ok(Scratch { dir, parent, name })
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If removal fails, the next process removes it.
        let _ = self.parent.remove_all(&self.name);
    }
}

/// Creates and locks a new temporary directory in `folder` whose name starts with `prefix`, and removes stale
/// directories with the same prefix. Returns the directory, its parent and its name.
pub(crate) fn make(folder: &Path, prefix: &[u8], whose: Whose) -> Result<(Dir, Dir, OsString), Error> {
    let mut made = None;
    for _ in 0..TRIES {
        let name = OsString::from_vec([prefix, &random()[..]].concat());
        let dir = Dir::create(&folder.join(&name), whose)?;
        let parent = dir.above()?;
        // Between creation and locking, the directory looks stale to other processes. On a file system without locks,
        // none is ever stale.
        let is_ours = dir.lock(true).unwrap_or(true) && parent.kind(&name)?.is_some();
        made = Some((dir, parent, name));
        if is_ours {
            break;
        }
    }
    let made = made.ok_or_else(|| Error::Unfit {
        path: folder.into(),
        why: "no unused temporary name was found in this directory".into(),
    })?;
    made.1.remove_stale(prefix, b"");
    Ok(made)
}

impl Dir {
    /// Removes drafts ([`Dir::draft`]) that killed processes left in this directory.
    pub fn remove_stale_drafts(&self) {
        self.remove_stale(b".", b".new");
    }

    /// Removes entries that have a temporary name, belong to the user with whose identity this process writes, and are
    /// not locked.
    fn remove_stale(&self, prefix: &[u8], suffix: &[u8]) {
        let is_temporary = |name: &OsStr| {
            let random = name.as_bytes().strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
            random.is_some_and(|r| r.len() == 16 && r.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b)))
        };
        let entries = self.entries().unwrap_or_default();
        for (name, kind) in entries.into_iter().filter(|(name, _)| is_temporary(name.as_os_str())) {
            // A failed removal is harmless.
            let _ = self.remove_if_stale(&name, kind);
        }
    }

    fn remove_if_stale(&self, name: &Path, kind: Kind) -> Result<(), Error> {
        if self.owner_of(name)? != self.uid() {
            return Ok(());
        }
        match kind {
            Kind::Directory if self.dir(name)?.lock(true)? => self.remove_all(name),
            Kind::File if flock(&self.file(name)?, FlockOperation::NonBlockingLockExclusive).is_ok() => {
                self.remove_file(name)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path) -> Vec<String> {
        let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut all: Vec<String> = all.collect();
        all.sort();
        all
    }

    #[test]
    fn only_what_a_killed_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let others = ["punctual-tune-notes", "punctual-tune-0123456789ABCDEF", "punctual-other-0123456789abcdef", "x"];
        others.iter().for_each(|name| fs::create_dir(at(name)).unwrap());
        fs::create_dir_all(at("punctual-tune-0123456789abcdef/run/hist")).unwrap();
        fs::write(at("punctual-tune-0123456789abcdef/run/hist/0.json"), b"{}").unwrap();
        std::os::unix::fs::symlink(at("x"), at("punctual-tune-0000000000000000")).unwrap();
        let create = || Scratch::create_in(folder.path(), "tune", Whose::Results).unwrap();
        let (one, two) = (create(), create());
        fs::write(one.path().join("file"), b"kept").unwrap();
        let mut left = names(folder.path());
        assert!(
            left.iter().any(|name| one.path().ends_with(name)) && left.iter().any(|name| two.path().ends_with(name))
        );
        left.retain(|name| !one.path().ends_with(name) && !two.path().ends_with(name));
        let mut kept = [&others[..], &["punctual-tune-0000000000000000"]].concat();
        kept.sort_unstable();
        assert_eq!(left, kept);
        drop((one, two));
        assert_eq!(names(folder.path()), kept);
    }

    #[test]
    fn drafts_of_killed_processes_are_removed_and_living_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let others = [".0123456789abcdef", ".0123456789abcdeg.new", "0123456789abcdef.new", ".x.new"];
        others.iter().for_each(|name| fs::write(folder.path().join(name), b"").unwrap());
        fs::write(folder.path().join(".0123456789abcdef.new"), b"half").unwrap();
        let draft = dir.draft("living").unwrap();
        assert_eq!(names(folder.path()).len(), 6);
        dir.remove_stale_drafts();
        assert_eq!(names(folder.path()).len(), 5);
        draft.publish(false).unwrap();
        let mut kept = [&others[..], &["living"]].concat();
        kept.sort_unstable();
        assert_eq!(names(folder.path()), kept);
    }

    #[test]
    fn a_staging_directory_of_a_killed_process_goes_with_the_next_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".run.0123456789abcdef")).unwrap();
        fs::create_dir(folder.path().join(".other.0123456789abcdef")).unwrap();
        let staging = crate::Staging::create(&folder.path().join("run"), Whose::Results).unwrap();
        let second = crate::Staging::create(&folder.path().join("run"), Whose::Results).unwrap();
        assert_eq!(names(folder.path()).len(), 3);
        fs::create_dir(staging.dir().path().join("inner")).unwrap();
        staging.publish("inner").unwrap();
        drop(second);
        assert_eq!(names(folder.path()), [".other.0123456789abcdef", "run"]);
    }
}
