//! Writes files so that they are either complete or absent, and computes checksums of files.

use crate::KbuildError;
use punctual_directory::{Dir, Whose};
use punctual_watchdog::Share;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the SHA-256 checksum of a file in hexadecimal.
pub fn sha256(path: &Path) -> Result<String, KbuildError> {
    let file = File::open(path).map_err(KbuildError::file("open", path))?;
    punctual_directory::sha256::of(file).map_err(KbuildError::file("read", path))
}

/// Writes to a temporary name, syncs and renames, so that after a kill either the old or the new file exists.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), KbuildError> {
    let aside = aside(path);
    let mut file = File::create(&aside).map_err(KbuildError::file("write", &aside))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(KbuildError::file("write", &aside))?;
    fs::rename(&aside, path).map_err(KbuildError::file("rename", &aside))
}

/// Returns the temporary name under which something is created before it is renamed.
pub(crate) fn aside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".making-");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), KbuildError> {
    let text = serde_json::to_string_pretty(value).map_err(|e| KbuildError::bad(path, format!("not written: {e}")))?;
    replace(path, (text + "\n").as_bytes())
}

/// Reads a JSON file; `None` if it does not exist.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, KbuildError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(KbuildError::file("read", path))?,
    };
    let read = serde_json::from_str(&text);
    read.map(Some)
        .map_err(|e| KbuildError::bad(path, format!("it is damaged ({e}): delete it and run the same command again")))
}

/// Longest time to wait for another job, which may be a kernel build.
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);

/// Takes the lock of a folder, which allows one job at a time. Fails if another user can change the folder. The lock is
/// released when the last copy of the descriptor is closed (flock(2)).
pub(crate) fn lock(path: &Path, report: &mut dyn FnMut(&str)) -> Result<File, KbuildError> {
    let folder = path.parent().unwrap_or(path);
    let opened =
        Dir::open_to_write(folder, Whose::System).and_then(|dir| dir.update(path.file_name().unwrap_or_default()));
    let file = opened.map_err(|e| KbuildError::file("make", path)(e.cause()))?;
    let mut waits = |who: &str| report(&format!("waiting for {who}, which is using it: {}", path.display()));
    punctual_watchdog::lock(&file, Share::Exclusive, DAY, &mut waits).map_err(KbuildError::file("lock", path))?;
    Ok(file)
}

pub(crate) fn make_folder(path: &Path) -> Result<(), KbuildError> {
    fs::create_dir_all(path).map_err(KbuildError::file("make", path))
}

pub(crate) fn remove_folder(path: &Path) -> Result<(), KbuildError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(KbuildError::file("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Returns all files and links below a folder as relative paths, sorted.
pub(crate) fn below(root: &Path) -> Result<Vec<PathBuf>, KbuildError> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(KbuildError::file("read", &folder))? {
            let entry = entry.map_err(KbuildError::file("read", &folder))?;
            let kind = entry.file_type().map_err(KbuildError::file("read", entry.path()))?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if let Ok(path) = entry.path().strip_prefix(root) {
                found.push(path.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_standard() {
        // The example of FIPS 180-4.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        replace(&path, b"abc").unwrap();
        assert_eq!(sha256(&path).unwrap(), abc);
        assert_eq!(below(folder.path()).unwrap(), [PathBuf::from("abc")]);
    }

    #[test]
    fn a_damaged_note_is_reported_and_not_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        assert_eq!(read_json::<Vec<u8>>(&path).unwrap(), None);
        fs::write(&path, "[1,").unwrap();
        assert!(read_json::<Vec<u8>>(&path).unwrap_err().to_string().contains("delete it"));
    }
}
