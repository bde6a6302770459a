//! Files that are written completely or not at all, and never through a symbolic link of somebody else.

use crate::Error;
use crate::layout::FileSum;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

pub(crate) fn create_new(path: &Path) -> Result<File, Error> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::from_raw_mode(0o644)) {
        Ok(fd) => Ok(File::from(fd)),
        Err(errno) => Err(Error::io("create", path)(errno.into())),
    }
}

/// Replaces `path` atomically: writes a new file beside it (with extension `new`), syncs it if `sync`, renames it. A
/// reader sees the old or the new file, complete; mode 0644 less the umask. A symbolic link is replaced, not followed.
///
/// # Errors
/// [`Error::Io`]; the previous file is kept.
pub fn replace_file(path: &Path, content: &[u8], sync: bool) -> Result<(), Error> {
    replace(path, content, sync).map(drop)
}

/// As [`replace_file`]; returns size and checksum of the content.
pub(crate) fn replace(path: &Path, content: &[u8], sync: bool) -> Result<FileSum, Error> {
    let aside = path.with_extension("new");
    // Left behind by a run killed between writing and renaming.
    match fs::remove_file(&aside) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io("remove", &aside)(e)),
        _ => {}
    }
    let mut file = create_new(&aside)?;
    let written = file.write_all(content).and_then(|()| if sync { file.sync_all() } else { Ok(()) });
    if let Err(source) = written {
        // The error of the write matters, not that of this clean-up.
        let _ = fs::remove_file(&aside);
        return Err(Error::io("write", path)(source));
    }
    fs::rename(&aside, path).map_err(Error::io("rename", path))?;
    Ok(sum(content))
}

pub(crate) fn sum(content: &[u8]) -> FileSum {
    FileSum { bytes: content.len() as u64, crc32: crc32fast::hash(content) }
}

/// Makes the entries of a directory survive a power cut.
pub(crate) fn sync_folder(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|f| f.sync_all()).map_err(Error::io("sync", path))
}

pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let file = open(path, limit)?;
    let mut content = Vec::new();
    file.take(limit).read_to_end(&mut content).map_err(Error::io("read", path))?;
    Ok(content)
}

/// Opens a regular file of at most `limit` bytes for reading.
///
/// # Errors
/// [`Error::Io`]; [`Error::Damaged`] for anything else or larger.
pub fn open(path: &Path, limit: u64) -> Result<File, Error> {
    // NONBLOCK: a FIFO placed here must not block the reader.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| Error::io("read", path)(e.into()))?;
    let file = File::from(fd);
    let meta = file.metadata().map_err(Error::io("read", path))?;
    let refuse = |why: String| Err(Error::Damaged { path: path.to_owned(), why });
    if !meta.is_file() {
        return refuse("it is not a regular file".into());
    }
    if meta.len() > limit {
        return refuse(format!("it has {} bytes, more than the {limit} that such a file can have", meta.len()));
    }
    Ok(file)
}
