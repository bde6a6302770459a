//! Files written so that they are there whole or not at all, and never through somebody else's link.

use crate::Error;
use crate::layout::FileSum;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

/// Creates a file that must not exist yet.
pub(crate) fn create_new(path: &Path) -> Result<File, Error> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::from_raw_mode(0o644)) {
        Ok(fd) => Ok(File::from(fd)),
        Err(errno) => Err(Error::io("create", path)(errno.into())),
    }
}

/// Replaces `path` by `content`: written aside into a new file beside it (its extension becomes `new`), synced where asked, renamed.
/// A reader sees the old file or the new one, whole; all may read it (0644 less the umask). A link is replaced, not followed.
///
/// # Errors
/// [`Error::Io`]; what was there before is still there then.
pub fn replace_file(path: &Path, content: &[u8], sync: bool) -> Result<(), Error> {
    replace(path, content, sync).map(drop)
}

/// As [`replace_file`]; size and checksum of what was written.
pub(crate) fn replace(path: &Path, content: &[u8], sync: bool) -> Result<FileSum, Error> {
    let aside = path.with_extension("new");
    // Left by a run that was killed between writing and renaming.
    match fs::remove_file(&aside) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io("remove", &aside)(e)),
        _ => {}
    }
    let mut file = create_new(&aside)?;
    let written = file.write_all(content).and_then(|()| if sync { file.sync_all() } else { Ok(()) });
    if let Err(source) = written {
        // The half-written file is worth nothing; the error that matters is the one that stopped it.
        let _ = fs::remove_file(&aside);
        return Err(Error::io("write", path)(source));
    }
    fs::rename(&aside, path).map_err(Error::io("rename", path))?;
    Ok(sum(content))
}

/// Size and checksum.
pub(crate) fn sum(content: &[u8]) -> FileSum {
    FileSum { bytes: content.len() as u64, crc32: crc32fast::hash(content) }
}

/// Makes a folder's entries survive a power cut.
pub(crate) fn sync_folder(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|f| f.sync_all()).map_err(Error::io("sync", path))
}

/// A regular file's content, at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let file = open(path, limit)?;
    let mut content = Vec::new();
    file.take(limit).read_to_end(&mut content).map_err(Error::io("read", path))?;
    Ok(content)
}

/// A regular file of at most `limit` bytes, to be read.
///
/// # Errors
/// [`Error::Io`]; [`Error::Damaged`] for what is no regular file, or larger.
pub fn open(path: &Path, limit: u64) -> Result<File, Error> {
    // NONBLOCK: a FIFO planted here must not hang the reader.
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
