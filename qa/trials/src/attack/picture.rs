//! Records the state of everything below a folder: names, contents, and stat(2) except for the link count, because hard
//! links are created in the meantime.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Picture(BTreeMap<String, String>);

impl Picture {
    /// Records the current state below a folder.
    ///
    /// # Errors
    /// A file or directory cannot be read.
    pub fn of(folder: &Path) -> Result<Picture, String> {
        let mut picture = Picture::default();
        picture.add(folder)?;
        Ok(picture)
    }

    fn add(&mut self, path: &Path) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let meta = path.symlink_metadata().map_err(failed)?;
        let content = if meta.is_file() { fs::read(path).map_err(failed)? } else { Vec::new() };
        let facts = (meta.ino(), meta.mode(), meta.uid(), meta.mtime(), meta.mtime_nsec(), content);
        self.0.insert(path.display().to_string(), format!("{facts:?}"));
        if meta.is_dir() {
            for entry in fs::read_dir(path).map_err(failed)? {
                self.add(&entry.map_err(failed)?.path())?;
            }
        }
        Ok(())
    }

    /// Returns the names that were added, removed or changed.
    pub fn changed<'a>(&'a self, after: &'a Picture) -> Vec<&'a String> {
        let before = self.0.iter().filter(|(name, facts)| after.0.get(*name) != Some(facts)).map(|(name, _)| name);
        before.chain(after.0.keys().filter(|name| !self.0.contains_key(*name))).collect()
    }
}
