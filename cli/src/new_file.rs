//! Creates files atomically, without replacing existing files.

use punctual_directory::{Dir, Draft, Error};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a new file: a temporary one next to it, which is renamed when complete.
///
/// # Errors
/// A sentence with the cause and the remedy. No temporary file is left.
pub fn write<T>(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<T, String> {
    let (dir, name) = free(path)?;
    dir.remove_stale_drafts();
    let (draft, value) = dir.draft(&name).and_then(|draft| fill(draft, path, content)).map_err(|e| failed(path, e))?;
    match draft.publish_new(true) {
        Err(e) if e.kind() == Some(io::ErrorKind::AlreadyExists) => Err(exists(path)),
        published => published.map(|()| value).map_err(|e| failed(path, e)),
    }
}

/// Refuses a file that exists, before the work of which it would have the result.
///
/// # Errors
/// As [`write`].
pub fn is_free(path: &Path) -> Result<(), String> {
    free(path).map(|_| ())
}

fn free(path: &Path) -> Result<(Dir, PathBuf), String> {
    let (dir, name) = Dir::of_file(path).map_err(|e| failed(path, e))?;
    match dir.kind(&name).map_err(|e| failed(path, e))? {
        Some(_) => Err(exists(path)),
        None => Ok((dir, name)),
    }
}

fn exists(path: &Path) -> String {
    format!("{} exists; name a new file", path.display())
}

/// Replaces a file atomically: a reader sees the old or the new content, complete. A symbolic link is replaced, not
/// followed.
///
/// # Errors
/// A sentence with the cause. The old file is unchanged.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let replaced = Dir::of_file(path).and_then(|(dir, name)| {
        dir.remove_stale_drafts();
        dir.replace(name, bytes, true)
    });
    replaced.map_err(|e| failed(path, e))
}

fn fill<T>(
    draft: Draft,
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<(Draft, T), Error> {
    let mut out = BufWriter::new(draft);
    let filled =
        content(&mut out).and_then(|value| Ok((out.into_inner().map_err(io::IntoInnerError::into_error)?, value)));
    filled.map_err(|source| Error::Io { doing: "write", path: path.into(), source })
}

fn failed(path: &Path, error: Error) -> String {
    format!("cannot write {}: {}", path.display(), error.cause())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
