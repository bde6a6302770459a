//! A directory that other processes see either complete or not at all.

use crate::{Dir, Error, Whose, stale};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A temporary directory next to the requested directory. When its contents are complete, they are renamed to the
/// requested name. It is removed on drop. If the process was killed, the next `Staging` for the same name removes it.
#[derive(Debug)]
pub struct Staging {
    dir: Dir,
    parent: Dir,
    temporary: OsString,
    name: OsString,
}

impl Staging {
    /// Creates an empty temporary directory next to `path`, and missing parents.
    ///
    /// # Errors
    /// [`Error::Unfit`] if `path` has no last component; otherwise see [`Dir::create`].
    pub fn create(path: &Path, whose: Whose) -> Result<Staging, Error> {
        let no_name = || Error::Unfit { path: path.into(), why: "it is not a valid name for a new directory".into() };
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let above = path.parent().unwrap_or(Path::new("."));
        let (dir, parent, temporary) = stale::make(above, &[b".", name.as_bytes(), b"."].concat(), whose)?;
        Ok(Staging { dir, parent, temporary, name })
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Renames the entry `inner` of the temporary directory to the requested name. An empty directory with that name is
    /// replaced.
    ///
    /// # Errors
    /// See rename(2); `ENOTEMPTY` or `ENOTDIR` if the name is in use.
    pub fn publish(self, inner: impl AsRef<Path>) -> Result<(), Error> {
        self.parent.rename(Path::new(&self.temporary).join(inner), &self.name)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The directory is incomplete and useless. The caller reports the earlier error.
        let _ = self.parent.remove_all(&self.temporary);
    }
}
