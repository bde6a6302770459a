//! The cache of downloads, which is outside any repository, so that all of them share it.

use crate::error::VmError;
use punctual_directory::{Dir, Error, Kind, Whose};
use punctual_watchdog::{PROGRAMS, Share, lock};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A cache folder; several processes may use it at once.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Returns the cache `$XDG_CACHE_HOME/punctual/lab`, or the one below `~/.cache`; for root below `/var/cache`,
    /// because `HOME` may belong to the user who called sudo.
    ///
    /// # Errors
    /// Neither variable is set.
    pub fn usual() -> Result<Cache, VmError> {
        let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let base = set("XDG_CACHE_HOME").or_else(|| match rustix::process::geteuid().is_root() {
            true => Some("/var/cache".into()),
            false => set("HOME").map(|home| home.join(".cache")),
        });
        let base = base.ok_or_else(|| VmError::Usage("neither XDG_CACHE_HOME nor HOME is set: set one".into()))?;
        Ok(Cache::at(base.join("punctual").join("lab")))
    }

    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder `name`. If it is missing, `make` creates it under a temporary name, and it is then renamed,
    /// so that it is complete or absent. Only one process at a time creates it.
    pub(crate) fn folder(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), VmError>,
    ) -> Result<PathBuf, VmError> {
        let (dir, wanted) = (self.dir()?, self.root.join(name));
        let is_there = || dir.kind(name).is_ok_and(|kind| kind == Some(Kind::Directory));
        if is_there() {
            return Ok(wanted);
        }
        let _lock = self.lock(name)?;
        if is_there() {
            return Ok(wanted);
        }
        let aside = format!(".making-{name}");
        dir.remove_all(&aside).and_then(|()| dir.make_dir(&aside)).map_err(failed)?;
        make(&self.root.join(&aside))?;
        dir.rename(&aside, name).map_err(failed)?;
        Ok(wanted)
    }

    /// Opens the cache folder. Cached files are executed, so a folder that another user can write to is refused.
    fn dir(&self) -> Result<Dir, VmError> {
        Dir::create(&self.root, Whose::System).map_err(failed)
    }

    /// Takes a lock, which is held until the file is dropped; the kernel releases it when the process ends (flock(2)).
    /// Waits for another holder for at most as long as the programs that it runs may take.
    pub(crate) fn lock(&self, name: &str) -> Result<File, VmError> {
        let name = format!(".lock-{name}");
        let file = self.dir()?.update(&name).map_err(failed)?;
        lock(&file, Share::Exclusive, PROGRAMS, &mut |_| {}).map_err(VmError::file("lock", self.root.join(name)))?;
        Ok(file)
    }
}

fn failed(error: Error) -> VmError {
    match error {
        Error::Io { doing: what, path, source } => VmError::File { what, path, source },
        refused => VmError::Usage(format!("the cache is not used: {refused}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_lock_that_is_a_link_is_refused_and_what_it_leads_to_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let secret = place.path().join("secret");
        fs::write(&secret, "kept").unwrap();
        let cache = Cache::at(place.path().join("cache"));
        drop(cache.lock("a").unwrap());
        std::os::unix::fs::symlink(&secret, cache.root().join(".lock-b")).unwrap();
        fs::hard_link(&secret, cache.root().join(".lock-c")).unwrap();
        assert!(cache.lock("b").is_err() && cache.lock("c").is_err());
        assert_eq!(fs::read_to_string(secret).unwrap(), "kept");
    }

    #[test]
    fn a_folder_is_made_once_and_what_a_killed_one_left_is_made_anew() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path().join("cache"));
        fs::create_dir_all(cache.root().join(".making-x/left")).unwrap();
        let fill = |folder: &Path| fs::write(folder.join("file"), "1").map_err(VmError::file("write", folder));
        let made = cache.folder("x", fill).unwrap();
        assert_eq!(fs::read_dir(&made).unwrap().count(), 1);
        assert_eq!(cache.folder("x", |_| panic!("made again")).unwrap(), made);
    }
}
