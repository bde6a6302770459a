//! A directory that appears complete or not at all.

use crate::{Dir, Error, Whose, stale};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A temporary directory beside the requested one, which gets its name when complete. If dropped before, it is removed; after a
/// kill the next one for the same name removes it.
#[derive(Debug)]
pub struct Staging {
    dir: Dir,
    parent: Dir,
    temporary: OsString,
    name: OsString,
}

impl Staging {
    /// Makes an empty directory beside `path`, and what is missing above it.
    ///
    /// # Errors
    /// [`Error::Unfit`] where `path` ends in no name; as [`Dir::create`], but others may write to the directory above where it is sticky,
    /// as /tmp is.
    pub fn create(path: &Path, whose: Whose) -> Result<Staging, Error> {
        let no_name = || Error::Unfit { path: path.into(), why: "it is no name of a new directory".into() };
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let above = path.parent().unwrap_or(Path::new("."));
        let (dir, parent, temporary) = stale::make(above, &[b".", name.as_bytes(), b"."].concat(), whose)?;
        Ok(Staging { dir, parent, temporary, name })
    }

    /// The directory to fill.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Renames its entry `inner` to the requested name. An empty directory of that name is replaced.
    ///
    /// # Errors
    /// rename(2), `ENOTEMPTY` and `ENOTDIR` among them.
    pub fn publish(self, inner: impl AsRef<Path>) -> Result<(), Error> {
        self.parent.rename(Path::new(&self.temporary).join(inner), &self.name)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Incomplete and useless; the caller reports the earlier error.
        let _ = self.parent.remove_all(&self.temporary);
    }
}
