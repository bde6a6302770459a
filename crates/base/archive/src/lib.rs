//! Unpacks untrusted archives (tar(5), plain or gzip-compressed) beneath a directory.
//!
//! Only names and contents are taken from an archive: regular files and directories are created with the default mode
//! and owner. An archive that contains anything else (a link, a device, a name that leads outside the directory, a name
//! with terminal escapes) is refused as a whole. Memory use is limited to one name and one block.

#![forbid(unsafe_code)]

mod entry;

use entry::{Content, Entry};
use flate2::bufread::MultiGzDecoder;
use punctual_directory::Dir;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The first bytes of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Maximum padding in bytes after the two empty blocks that end an archive. tar(1) fills its last record, 20 blocks by
/// default.
const PADDING: u64 = 1 << 20;
/// Maximum overhead per entry in bytes: its header, the long-name header with the name, and the padding of the last
/// content block.
const AROUND: u64 = 2 << 10;
const BLOCK: usize = 64 << 10;

/// Upper bounds on what an archive may contain.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum total size of all files in bytes.
    pub bytes: u64,
    /// Maximum number of files and directories.
    pub entries: u64,
    /// Maximum nesting depth of directories.
    pub depth: usize,
    /// Maximum length of a full path in bytes.
    pub name: usize,
}

impl Limits {
    /// Limits for a run directory that holds weeks of events and traces.
    pub const RUN: Limits = Limits { bytes: 2 << 30, entries: 100_000, depth: 8, name: 512 };

    /// Returns the maximum size in bytes of an archive within these limits, after gzip decompression.
    pub const fn packed(&self) -> u64 {
        self.bytes.saturating_add(self.entries.saturating_mul(AROUND)).saturating_add(PADDING)
    }
}

/// Reason why an archive is refused or cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The archive contains an entry that is not accepted.
    #[error("the archive is refused: `{}` {why}", punctual_clean::line(name))]
    Refused {
        /// Name of the entry in the archive.
        name: String,
        /// Predicate of a sentence whose subject is the entry, for example `is a link`.
        why: String,
    },
    /// The archive is damaged, truncated, or not an archive at all.
    #[error("the archive cannot be read: {}", punctual_clean::line(&.0.to_string()))]
    Damaged(io::Error),
    /// A directory or file cannot be created on this machine.
    #[error(transparent)]
    Here(#[from] punctual_directory::Error),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl Error {
    /// Returns true if the cause is this machine and not the archive.
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Here(_) | Error::Write { .. })
    }
}

/// Returns true if the file that begins with `head` is an archive. `head` holds the first 512 bytes, or the whole file
/// if it is shorter.
pub fn is_archive(head: &[u8]) -> bool {
    head.starts_with(&GZIP) || head.get(257..262) == Some(b"ustar")
}

/// Unpacks a whole archive into an empty directory. After an error the directory contains part of the archive, and the
/// caller must remove it.
///
/// # Errors
/// See [`Error`].
pub fn unpack(archive: impl Read, into: &Dir, limits: Limits) -> Result<(), Error> {
    let mut archive = BufReader::with_capacity(BLOCK, archive);
    match archive.fill_buf().map_err(Error::Damaged)?.starts_with(&GZIP) {
        true => unpack_plain(MultiGzDecoder::new(archive), into, limits),
        false => unpack_plain(archive, into, limits),
    }
}

fn unpack_plain(archive: impl Read, into: &Dir, limits: Limits) -> Result<(), Error> {
    // This also bounds headers and names, which are not content.
    let mut archive = tar::Archive::new(archive.take(limits.packed()));
    let mut entries = archive.entries().map_err(Error::Damaged)?.raw(true);
    let (mut found, mut left) = (0, limits.bytes);
    let mut folders = BTreeSet::from([PathBuf::new()]);
    while let Some(entry) = Entry::next(&mut entries, &limits)? {
        let is_folder = entry.content.is_none();
        let folder = if is_folder { Some(entry.path.as_path()) } else { entry.path.parent() };
        let ancestors = folder.into_iter().flat_map(Path::ancestors);
        let new: Vec<PathBuf> = ancestors.filter(|one| !folders.contains(*one)).map(Path::to_owned).collect();
        // Directories that exist only as part of a path count too.
        found += 1 + new.iter().filter(|one| !is_folder || **one != entry.path).count() as u64;
        if found > limits.entries {
            return Err(entry.refused(format!("is one of more than {} files", limits.entries)));
        }
        if let Some(folder) = folder.filter(|_| !new.is_empty()) {
            into.make_dir(folder).map_err(|e| beneath_a_file(e, &entry.name))?;
        }
        folders.extend(new);
        match entry.content {
            None => {}
            Some(ref content) if content.size > left => {
                return Err(entry.refused(format!("makes the archive larger than {} MiB", limits.bytes >> 20)));
            }
            Some(content) => {
                left -= content.size;
                write(content, into, &entry.path, entry.name)?;
            }
        }
    }
    if found == 0 {
        return Err(Error::Damaged(io::Error::other("it is empty")));
    }
    // Read to the end: the gzip checksum is verified only there.
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(Error::Damaged)?;
    match rest.limit() {
        0 => Err(Error::Damaged(io::Error::other(format!("it is longer than {} MiB", limits.packed() >> 20)))),
        _ => Ok(()),
    }
}

/// Converts an error of mkdir(2). The archive is the cause if one of its files has the name of the directory.
fn beneath_a_file(error: punctual_directory::Error, name: &str) -> Error {
    match error.kind() {
        Some(io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists) => {
            Error::Refused { name: name.to_owned(), why: "lies beneath a file in the same archive".into() }
        }
        _ => error.into(),
    }
}

fn write(mut content: Content<'_, impl Read>, into: &Dir, path: &Path, name: String) -> Result<(), Error> {
    let mut file = match into.create_new(path) {
        Err(e) if e.kind() == Some(io::ErrorKind::AlreadyExists) => {
            return Err(Error::Refused { name, why: "occurs twice".into() });
        }
        file => file?,
    };
    let mut block = vec![0; BLOCK];
    let mut written = 0;
    loop {
        let length = content.data.read(&mut block).map_err(Error::Damaged)?;
        let Some(part) = block.get(..length).filter(|part| !part.is_empty()) else { break };
        io::Write::write_all(&mut file, part)
            .map_err(|source| Error::Write { path: into.path().join(path), source })?;
        written += length as u64;
    }
    match written == content.size {
        true => Ok(()),
        false => Err(Error::Damaged(io::ErrorKind::UnexpectedEof.into())),
    }
}

#[cfg(test)]
mod tests;
