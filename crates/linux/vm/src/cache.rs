//! Where downloads are kept: outside any repository, made once, shared by all.

use crate::error::VmError;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A folder of downloads; several processes may use it at once.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$XDG_CACHE_HOME/punctual/lab`, or below `~/.cache`.
    ///
    /// # Errors
    /// If neither variable is set.
    pub fn usual() -> Result<Cache, VmError> {
        let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        let base = base.ok_or_else(|| VmError::Usage("neither XDG_CACHE_HOME nor HOME is set: set one".into()))?;
        Ok(Cache::at(base.join("punctual").join("lab")))
    }

    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder `name`, made by `make` if missing: under another name, then renamed, so that it is complete or
    /// absent, and by one process at a time.
    pub(crate) fn folder(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), VmError>,
    ) -> Result<PathBuf, VmError> {
        let wanted = self.root.join(name);
        if wanted.is_dir() {
            return Ok(wanted);
        }
        let _lock = self.lock(name)?;
        if wanted.is_dir() {
            return Ok(wanted);
        }
        let aside = self.root.join(format!(".making-{name}"));
        if aside.exists() {
            fs::remove_dir_all(&aside).map_err(VmError::file("remove", &aside))?;
        }
        fs::create_dir_all(&aside).map_err(VmError::file("make", &aside))?;
        make(&aside)?;
        fs::rename(&aside, &wanted).map_err(VmError::file("rename", &aside))?;
        Ok(wanted)
    }

    /// Held until the file is dropped; the kernel releases it when the process ends (flock(2)).
    pub(crate) fn lock(&self, name: &str) -> Result<File, VmError> {
        fs::create_dir_all(&self.root).map_err(VmError::file("make", &self.root))?;
        let path = self.root.join(format!(".lock-{name}"));
        let file = File::create(&path).map_err(VmError::file("make", &path))?;
        file.lock().map_err(VmError::file("lock", &path))?;
        Ok(file)
    }
}
