//! Reads and writes files of a run directory. Files are replaced atomically, with a checksum.

use crate::Error;
use crate::layout::FileSum;
use punctual_directory::Dir;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Replaces a file atomically ([`Dir::replace`]). Returns size and checksum.
pub(crate) fn replace(dir: &Dir, name: &str, content: &[u8], sync: bool) -> Result<FileSum, Error> {
    dir.replace(name, content, sync)?;
    Ok(sum(content))
}

pub(crate) fn sum(content: &[u8]) -> FileSum {
    FileSum { bytes: content.len() as u64, crc32: crc32fast::hash(content) }
}

pub(crate) fn read(dir: &Dir, name: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, Error> {
    let file = open(dir, &name, limit)?;
    let mut content = Vec::new();
    file.take(limit).read_to_end(&mut content).map_err(Error::io("read", dir.path().join(&name)))?;
    Ok(content)
}

/// Opens a regular file of at most `limit` bytes for reading.
pub fn open(dir: &Dir, name: impl AsRef<Path>, limit: u64) -> Result<File, Error> {
    let file = dir.file(&name)?;
    let bytes = file.metadata().map_err(Error::io("read", dir.path().join(&name)))?.len();
    if bytes > limit {
        let why = format!("it has {bytes} bytes, more than the limit of {limit} for such a file");
        return Err(Error::Damaged { path: dir.path().join(&name), why });
    }
    Ok(file)
}
