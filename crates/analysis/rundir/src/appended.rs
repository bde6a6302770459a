//! A file of lines that grows during a measurement. It is created with its first line.

use crate::Error;
use crate::layout::FileSum;
use punctual_directory::Dir;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

pub(crate) struct Appended {
    dir: Dir,
    name: &'static str,
    file: Option<File>,
    sum: crc32fast::Hasher,
    bytes: u64,
}

impl Appended {
    pub fn new(dir: Dir, name: &'static str) -> Appended {
        Appended { dir, name, file: None, sum: crc32fast::Hasher::new(), bytes: 0 }
    }

    /// Appends complete lines, all or nothing. Then syncs the file if `sync` is true.
    pub fn append(&mut self, lines: &[u8], sync: bool) -> Result<(), Error> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.dir.create_new(self.name)?),
        };
        let path = || self.dir.path().join(self.name);
        append_whole(file, self.bytes, lines).map_err(|e| Error::io("write", path())(e))?;
        self.sum.update(lines);
        self.bytes += lines.len() as u64;
        if sync { file.sync_data().map_err(|e| Error::io("sync", path())(e)) } else { Ok(()) }
    }

    pub fn sum(&self) -> Option<FileSum> {
        self.file.as_ref().map(|_| FileSum { bytes: self.bytes, crc32: self.sum.clone().finalize() })
    }
}

/// Appends all bytes or none: a partial write is truncated again, so that later lines stay readable.
pub(crate) fn append_whole(file: &mut File, length: u64, bytes: &[u8]) -> std::io::Result<()> {
    file.write_all(bytes).inspect_err(|_| {
        // Truncation needs no disk space. If it fails as well, the reader detects the partial line by its checksum and
        // drops it.
        let _ = file.set_len(length);
        let _ = file.seek(SeekFrom::Start(length));
    })
}
