//! A machine in a file, to be audited elsewhere: docs/snapshot.md describes the format.

use crate::cmdline::{scrub, scrub_line};
use crate::kernel_types::{KERNEL_TYPES, TypeName, encode, kernel_type_name};
use crate::recorded::{Asked, fits};
use crate::{Listing, Machine, READ_LIMIT, Read, Recorded};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

pub struct Snapshot;

/// Maximum number of files in a snapshot: a server with 20 000 threads has 40 000 files with a total size of 30 MB.
const MAX_FILES: usize = 100_000;
const MAX_BYTES: u64 = 128 << 20;

const SCHEMA: &str = "punctual.snapshot/1";
const MANIFEST: &str = "snapshot.json";

/// Names of types that rules look up; the complete type information has several megabytes.
const TYPES: &[&str] = &["fair_server", "sched_dl_entity", "rq"];

/// Files of control groups that rules read; there are hundreds of others.
const OF_GROUPS: &[&str] = &["cgroup.controllers", "cgroup.events", "cpu.shares", "cpu.rt_runtime_us"];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema: String,
    tool_version: String,
    /// The patterns of the paths that were read; all other files are unknown.
    asked: Vec<String>,
    folders: Vec<String>,
    denied: Vec<String>,
    failed: BTreeMap<String, i32>,
}

#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("cannot read the snapshot: {0}")]
    Unreadable(#[from] io::Error),
    /// A tar file, but not a snapshot.
    #[error("not a snapshot: {0}")]
    Malformed(String),
    /// An entry that a snapshot never contains and that could do harm when unpacked.
    #[error("refused: `{path}` is {what}")]
    Hostile { path: String, what: &'static str },
}

impl Snapshot {
    /// Reads all files that match the patterns. `*` matches any text in a name, a final `**` everything below.
    pub fn take(machine: &dyn Machine, patterns: &[String]) -> Recorded {
        let mut taking = Taking { machine, taken: Recorded::default(), files: 0, bytes: 0 };
        let mut patterns = patterns.to_vec();
        patterns.sort_unstable();
        patterns.dedup();
        for pattern in &patterns {
            match pattern.strip_suffix("/**") {
                Some(folder) => taking.below(folder, 0),
                None if pattern == KERNEL_TYPES => taking.types(),
                None => taking.matching("", pattern),
            }
        }
        taking.taken
    }

    /// Removes everything that identifies the machine: addresses, serial numbers, identifiers, keys, its host name.
    /// Only the first record of the kernel's log and the lines that contain one of the texts in `log` are kept.
    pub fn scrubbed(taken: Recorded, machine: &dyn Machine, log: &[String]) -> Recorded {
        let host = machine.read("/proc/sys/kernel/hostname").text().map(str::to_owned).filter(|name| name.len() > 2);
        taken.map_text(|path, text| {
            let text = match path {
                "/proc/cmdline" => scrub(text),
                "/dev/kmsg" => kept(text, log),
                // The path of a program outside /usr is private; its file name is not.
                _ if path.ends_with("/exe") && !text.starts_with("/usr/") => {
                    text.rsplit('/').next().unwrap_or_default().to_owned()
                }
                _ => text.lines().map(scrub_line).collect::<Vec<_>>().join("\n"),
            };
            match &host {
                Some(host) => without_word(&text, host, "«host»"),
                None => text,
            }
        })
    }

    /// Writes a tar file; returns the number of files in it.
    pub fn write(taken: &Recorded, patterns: &[String], writer: impl Write) -> io::Result<usize> {
        let mut manifest = Manifest {
            schema: SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            asked: patterns.to_vec(),
            folders: taken.folders().map(str::to_owned).collect(),
            denied: Vec::new(),
            failed: BTreeMap::new(),
        };
        manifest.asked.sort_unstable();
        manifest.asked.dedup();
        let mut files: Vec<(&str, &[u8])> = Vec::new();
        for (path, read) in taken.entries() {
            match read {
                Read::Known(bytes) => files.push((path, bytes)),
                Read::Denied => manifest.denied.push(path.to_owned()),
                Read::Failed(errno) => drop(manifest.failed.insert(path.to_owned(), *errno)),
                Read::Absent | Read::NotGiven => {}
            }
        }
        let mut tar = tar::Builder::new(writer);
        append(&mut tar, MANIFEST, serde_json::to_string_pretty(&manifest).map_err(io::Error::other)?.as_bytes())?;
        for (path, bytes) in &files {
            append(&mut tar, &format!("files{path}"), bytes)?;
        }
        tar.into_inner()?.flush()?;
        Ok(files.len())
    }

    /// Reads a snapshot into memory, at most 128 MiB. Nothing is unpacked.
    ///
    /// # Errors
    /// If it is not a snapshot, or has entries that a snapshot never contains.
    pub fn read(reader: impl io::Read) -> Result<Recorded, SnapshotError> {
        let mut archive = tar::Archive::new(io::Read::take(reader, MAX_BYTES * 2));
        let mut manifest: Option<Manifest> = None;
        let mut taken = Recorded::default();
        let (mut count, mut total) = (0_usize, 0_u64);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            total = total.saturating_add(entry.size());
            count += 1;
            check(&path, entry.header().entry_type(), entry.size(), (count, total))?;
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut entry, &mut bytes)?;
            match path.strip_prefix("files") {
                Some(path) => taken.set(path, Read::Known(bytes)),
                None => manifest = Some(parse_manifest(&bytes)?),
            }
        }
        let manifest = manifest.ok_or_else(|| SnapshotError::Malformed(format!("it has no {MANIFEST}")))?;
        let listed = manifest.denied.iter().chain(manifest.failed.keys()).chain(&manifest.folders);
        if let Some(path) = listed.into_iter().find(|path| !is_plain(path)) {
            return Err(SnapshotError::Malformed(format!("`{path}` in {MANIFEST} is not an absolute path")));
        }
        manifest.folders.iter().for_each(|folder| taken.add_folder(folder));
        manifest.denied.iter().for_each(|path| taken.add(path, Read::Denied));
        manifest.failed.iter().for_each(|(path, errno)| taken.add(path, Read::Failed(*errno)));
        taken.ask(Asked(manifest.asked));
        Ok(taken)
    }
}

/// Replaces `word` only as a whole word: a host called `lab` must not change `available`.
fn without_word(text: &str, word: &str, instead: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in text.match_indices(word) {
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        if !before.is_some_and(is_part) && !after.is_some_and(is_part) {
            out.push_str(&text[done..at]);
            out.push_str(instead);
            done = at + word.len();
        }
    }
    out.push_str(&text[done..]);
    out
}

fn parse_manifest(bytes: &[u8]) -> Result<Manifest, SnapshotError> {
    let manifest: Manifest =
        serde_json::from_slice(bytes).map_err(|error| SnapshotError::Malformed(format!("{MANIFEST}: {error}")))?;
    if manifest.schema != SCHEMA {
        return Err(SnapshotError::Malformed(format!("its schema is `{}`, not {SCHEMA}", manifest.schema)));
    }
    Ok(manifest)
}

/// Returns true for an absolute path without `.`, `..` and empty parts.
fn is_plain(path: &str) -> bool {
    path == "/" || path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|p| !matches!(p, "" | "." | "..")))
}

fn check(path: &str, kind: tar::EntryType, size: u64, (count, total): (usize, u64)) -> Result<(), SnapshotError> {
    let hostile = |what| Err(SnapshotError::Hostile { path: path.chars().take(200).collect(), what });
    if !kind.is_file() {
        return hostile("not a regular file");
    }
    if path.starts_with('/') {
        return hostile("an absolute path");
    }
    if path != MANIFEST && !path.strip_prefix("files").is_some_and(is_plain) {
        return hostile("not below files/");
    }
    if size > READ_LIMIT as u64 {
        return hostile("too large for a snapshot");
    }
    if count > MAX_FILES || total > MAX_BYTES {
        return hostile("beyond the limits of a snapshot");
    }
    Ok(())
}

fn append(tar: &mut tar::Builder<impl Write>, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    tar.append_data(&mut header, path, bytes)
}

/// Returns the first record, which shows if the log has overflowed, and the lines that rules need.
fn kept(text: &str, wanted: &[String]) -> String {
    let lines = text.lines().enumerate().filter(|(at, line)| {
        *at == 0 || (!line.starts_with(' ') && wanted.iter().any(|part| line.contains(part.as_str())))
    });
    lines.map(|(_, line)| scrub_line(line) + "\n").collect()
}

struct Taking<'m> {
    machine: &'m dyn Machine,
    taken: Recorded,
    files: usize,
    bytes: u64,
}

impl Taking<'_> {
    fn matching(&mut self, folder: &str, rest: &str) {
        let Some((part, deeper)) = split(rest) else { return self.one(folder) };
        if !part.contains('*') {
            return self.matching(&format!("{folder}/{part}"), deeper);
        }
        let at = if folder.is_empty() { "/" } else { folder };
        match self.machine.list(at) {
            Listing::Known(names) => {
                for name in names.iter().filter(|name| fits(part, name)) {
                    self.matching(&format!("{folder}/{name}"), deeper);
                }
            }
            Listing::Denied => self.add(at, Read::Denied),
            Listing::Failed(errno) => self.add(at, Read::Failed(errno)),
            Listing::Absent | Listing::NotGiven => {}
        }
    }

    fn one(&mut self, path: &str) {
        let path = if path.is_empty() { "/" } else { path };
        match self.machine.list(path) {
            Listing::Known(names) => {
                self.taken.add_folder(path);
                for name in names.iter().take(MAX_FILES) {
                    let slash = if path == "/" { "" } else { path };
                    self.taken.add_folder(&format!("{slash}/{name}"));
                }
            }
            Listing::Denied => self.add(path, Read::Denied),
            Listing::Failed(errno) => self.add(path, Read::Failed(errno)),
            Listing::Absent | Listing::NotGiven => {
                let read = self.machine.read(path);
                self.add(path, read);
            }
        }
    }

    fn below(&mut self, folder: &str, depth: usize) {
        self.one(folder);
        let Listing::Known(names) = self.machine.list(folder) else { return };
        for name in names {
            let path = format!("{folder}/{name}");
            if OF_GROUPS.contains(&name.as_str()) {
                self.one(&path);
                continue;
            }
            // Groups are directories. A group's files have a dot in their names, but so do units.
            let may_be_group = !name.contains('.') || name.ends_with(".slice");
            if depth < 3 && may_be_group && matches!(self.machine.list(&path), Listing::Known(_)) {
                self.below(&path, depth + 1);
            }
        }
    }

    fn types(&mut self) {
        let asked = TYPES.iter().map(|name| (*name, kernel_type_name(self.machine, name)));
        let mut present = Vec::new();
        for (name, known) in asked.collect::<Vec<_>>() {
            match known {
                TypeName::Present => present.push(name.to_owned()),
                TypeName::Absent => {}
                TypeName::Unknown(read) => return self.add(KERNEL_TYPES, read),
            }
        }
        self.add(KERNEL_TYPES, Read::Known(encode(&present)));
    }

    fn add(&mut self, path: &str, read: Read) {
        let bytes = read.bytes().map_or(0, <[u8]>::len) as u64;
        if matches!(read, Read::Absent | Read::NotGiven) || self.files >= MAX_FILES || self.bytes + bytes > MAX_BYTES {
            return;
        }
        self.files += 1;
        self.bytes += bytes;
        self.taken.add(path, read);
    }
}

fn split(pattern: &str) -> Option<(&str, &str)> {
    let pattern = pattern.strip_prefix('/')?;
    match pattern.find('/') {
        Some(at) => Some((&pattern[..at], &pattern[at..])),
        None => (!pattern.is_empty()).then_some((pattern, "")),
    }
}

#[cfg(test)]
mod tests;
