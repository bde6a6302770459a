//! Files that must not exist yet, and are there whole or not at all.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a new file: into a temporary one beside it, which is renamed when all is in it.
///
/// # Errors
/// A sentence: what failed, and what to do. Nothing is left behind then.
pub fn write<T>(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<T, String> {
    let failed = |e: io::Error| format!("cannot write {}: {e}", path.display());
    if path.symlink_metadata().is_ok() {
        return Err(format!("{} exists; name a new file", path.display()));
    }
    let temporary = beside(path).ok_or_else(|| format!("{} is no file name", path.display()))?;
    let file = File::options().write(true).create_new(true).open(&temporary).map_err(failed)?;
    let written = fill(file, content).and_then(|value| rename(&temporary, path).map(|()| value));
    if written.is_err() {
        // The earlier error is reported; this could only fail for the same reason.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(failed)
}

/// Puts a file in the place of what has this name, at once: a reader sees the old one or the new one, whole. A link is replaced,
/// not followed.
///
/// # Errors
/// A sentence: what failed. What was there before is still there then.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |e: io::Error| format!("cannot write {}: {e}", path.display());
    let temporary = beside(path).ok_or_else(|| format!("{} is no file name", path.display()))?;
    let file = File::options().write(true).create_new(true).open(&temporary).map_err(failed)?;
    let written = fill(file, |out| out.write_all(bytes)).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The earlier error is reported; this could only fail for the same reason.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(failed)
}

fn fill<T>(file: File, content: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut out = BufWriter::new(file);
    let value = content(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(value)
}

/// `.NAME.PID.tmp` in the same folder: a rename cannot leave the file system.
fn beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    Some(path.with_file_name(format!(".{name}.{}.tmp", std::process::id())))
}

/// Refuses to replace what appeared meanwhile, where the file system can tell.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collectors_file_is_replaced_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("x.prom"), folder.path().join("secret"));
        fs::write(&other, b"kept").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        for text in [b"one", b"two"] {
            assert_eq!(replace(&path, text), Ok(()));
            assert_eq!(fs::read(&path).unwrap(), text);
        }
        assert_eq!(fs::read(&other).unwrap(), b"kept");
        assert!(replace(&folder.path().join("none/x"), b"").unwrap_err().starts_with("cannot write"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn nothing_is_replaced_and_nothing_half_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        assert_eq!(write(&path, |out| out.write_all(b"one").map(|()| 7)), Ok(7));
        assert!(write(&path, |out| out.write_all(b"two")).unwrap_err().contains("exists; name a new file"));
        let other = folder.path().join("y");
        let half = write(&other, |out| out.write_all(b"half").and_then(|()| Err::<(), _>(io::Error::other("broken"))));
        assert!(half.unwrap_err().ends_with("y: broken"));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
