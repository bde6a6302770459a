//! Every change, on disk before it is made: `/var/lib/punctual/changes/journal`, append-only lines of checksum and
//! JSON.

use crate::change::{Change, Kept};
use crate::system::{Kind, Lock, System, is_absent};
use punctual_journal::Owner;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

pub const FOLDER: &str = "/var/lib/punctual/changes";
const NAME: &str = "journal";
/// Above this size, bytes, it is begun anew once nothing in it is open.
const LARGE: u64 = 1 << 20;

/// The journal cannot be used: then nothing may be changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the journal of changes {}: {source}", path.display())]
pub struct JournalError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Progress of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Recorded; perhaps also done.
    Planned,
    Written,
    /// Done, and it reads as it should.
    Verified,
    Undoing,
    /// As before, or gone with its boot.
    Undone,
    GaveUp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
enum Record {
    /// A set of changes that belong together begins.
    Begun {
        set: u64,
        boot: String,
        owner: Option<Owner>,
        confirm_by_s: Option<u64>,
    },
    Deadline {
        set: u64,
        confirm_by_s: u64,
    },
    /// All of them were made.
    Ended {
        set: u64,
    },
    Confirmed {
        set: u64,
    },
    Planned {
        entry: u64,
        set: u64,
        rule: String,
        boot: String,
        change: Change,
    },
    /// What a command left in the files it writes.
    After {
        entry: u64,
        files: Vec<(PathBuf, Option<Kept>)>,
    },
    State {
        entry: u64,
        state: State,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub id: u64,
    pub set: u64,
    pub rule: String,
    pub boot: String,
    pub change: Change,
    pub state: State,
    /// Files a command wrote, as it left them.
    pub after: Vec<(PathBuf, Option<Kept>)>,
}

impl Entry {
    /// Is there, or may there be, something to undo?
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Undone | State::GaveUp)
    }
}

#[derive(Clone, Debug)]
pub struct Set {
    pub id: u64,
    pub boot: String,
    pub owner: Option<Owner>,
    pub is_ended: bool,
    /// Seconds since boot at which it is undone unless confirmed; `None` if confirmed, or if no confirmation is needed.
    pub confirm_by_s: Option<u64>,
}

/// The journal, held by one process at a time.
pub struct Journal<'s> {
    pub sys: &'s dyn System,
    folder: PathBuf,
    entries: Vec<Entry>,
    sets: Vec<Set>,
    /// Bytes of complete records.
    length: u64,
    is_torn: bool,
    dropped: Vec<String>,
    _lock: Lock,
}

impl<'s> Journal<'s> {
    /// Opens or creates it.
    ///
    /// # Errors
    /// It cannot be made, read or locked, or the folder is not this user's alone.
    pub fn open(sys: &'s dyn System, folder: &Path) -> Result<Journal<'s>, JournalError> {
        let failed = |source| JournalError { path: folder.to_owned(), source };
        make_folders(sys, folder).map_err(failed)?;
        Journal::existing(sys, folder)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn existing(sys: &'s dyn System, folder: &Path) -> Result<Option<Journal<'s>>, JournalError> {
        Journal::at(sys, folder, true)
    }

    /// Opens it if it exists and no other process holds it.
    pub(crate) fn if_free(sys: &'s dyn System, folder: &Path) -> Result<Option<Journal<'s>>, JournalError> {
        match Journal::at(sys, folder, false) {
            Err(e) if e.source.kind() == io::ErrorKind::WouldBlock => Ok(None),
            other => other,
        }
    }

    fn at(sys: &'s dyn System, folder: &Path, wait: bool) -> Result<Option<Journal<'s>>, JournalError> {
        let failed = |source| JournalError { path: folder.to_owned(), source };
        match sys.look(folder) {
            Err(e) if is_absent(&e) => return Ok(None),
            Err(e) => return Err(failed(e)),
            Ok((Kind::Folder, a)) if a.uid == sys.user() && a.mode & 0o022 == 0 => {}
            // Another user's journal could request anything.
            Ok(_) => return Err(failed(io::Error::other("it is not this user's alone"))),
        }
        let lock = sys.lock(folder, wait).map_err(failed)?;
        let mut journal = Journal {
            sys,
            folder: folder.to_owned(),
            entries: Vec::new(),
            sets: Vec::new(),
            length: 0,
            is_torn: false,
            dropped: Vec::new(),
            _lock: lock,
        };
        match sys.read(&journal.path()) {
            Ok(content) => journal.take(&content),
            Err(e) if is_absent(&e) => {}
            Err(source) => return Err(JournalError { path: journal.path(), source }),
        }
        Ok(Some(journal))
    }

    fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// In the order they were made.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// In the order they were begun.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// Unreadable parts, in words.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn take(&mut self, content: &[u8]) {
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                self.is_torn = true;
                self.dropped.push(format!("the journal's last {} bytes are half a record: dropped", line.len()));
                return;
            }
            self.length += line.len() as u64;
            match parse(line) {
                Some(record) => self.apply(record),
                None => self
                    .dropped
                    .push(format!("a record before byte {} of the journal is damaged: dropped", self.length)),
            }
        }
    }

    fn apply(&mut self, record: Record) {
        let find = |sets: &mut Vec<Set>, id| sets.iter().position(|set: &Set| set.id == id);
        match record {
            Record::Begun { set, boot, owner, confirm_by_s } => {
                self.sets.push(Set { id: set, boot, owner, is_ended: false, confirm_by_s });
            }
            Record::Planned { entry, set, rule, boot, change } => {
                let state = State::Planned;
                self.entries.push(Entry { id: entry, set, rule, boot, change, state, after: Vec::new() });
            }
            Record::State { entry, state, .. } => {
                self.entries.iter_mut().filter(|e| e.id == entry).for_each(|e| e.state = state);
            }
            Record::After { entry, files } => {
                self.entries.iter_mut().filter(|e| e.id == entry).for_each(|e| e.after.clone_from(&files));
            }
            Record::Deadline { set: id, .. } | Record::Ended { set: id } | Record::Confirmed { set: id } => {
                let Some(set) = find(&mut self.sets, id).and_then(|at| self.sets.get_mut(at)) else { return };
                match record {
                    Record::Deadline { confirm_by_s, .. } => set.confirm_by_s = Some(confirm_by_s),
                    Record::Ended { .. } => set.is_ended = true,
                    _ => set.confirm_by_s = None,
                }
            }
        }
    }

    /// Appends a record and syncs it; only then does it take effect.
    fn add(&mut self, record: Record) -> Result<(), JournalError> {
        let path = self.path();
        let failed = |source| JournalError { path: path.clone(), source };
        let json = serde_json::to_string(&record).map_err(|e| failed(e.into()))?;
        let line = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        if self.is_torn {
            self.sys.cut(&path, self.length).map_err(failed)?;
            self.is_torn = false;
        }
        let is_new = self.length == 0;
        if let Err(e) = self.sys.append(&path, line.as_bytes()) {
            // A part of it may be there.
            self.is_torn = true;
            return Err(failed(e));
        }
        self.length += line.len() as u64;
        if is_new {
            self.sys.sync_folder(&self.folder).map_err(failed)?;
        }
        self.apply(record);
        Ok(())
    }

    /// Begins a set of changes; returns its number.
    pub(crate) fn begin(&mut self, confirm_within_s: Option<u64>) -> Result<u64, JournalError> {
        self.renew()?;
        let boot = self.boot()?;
        let set = self.sets.iter().map(|set| set.id).max().unwrap_or(0) + 1;
        let confirm_by_s = confirm_within_s.map(|seconds| self.sys.boottime_s().saturating_add(seconds));
        self.add(Record::Begun { set, boot, owner: Owner::this_process().ok(), confirm_by_s })?;
        Ok(set)
    }

    /// Extends the deadline of a set to be confirmed by so many seconds.
    pub(crate) fn extend(&mut self, set: u64, seconds: u64) -> Result<(), JournalError> {
        let confirm_by_s = self.sys.boottime_s().saturating_add(seconds);
        self.add(Record::Deadline { set, confirm_by_s })
    }

    pub(crate) fn end(&mut self, set: u64) -> Result<(), JournalError> {
        self.add(Record::Ended { set })
    }

    /// Confirms every set that waits for it; returns how many.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn keep(&mut self) -> Result<usize, JournalError> {
        let waiting: Vec<u64> = self.sets.iter().filter(|set| set.confirm_by_s.is_some()).map(|set| set.id).collect();
        for set in &waiting {
            self.add(Record::Confirmed { set: *set })?;
        }
        Ok(waiting.len())
    }

    pub(crate) fn confirmed(&mut self, set: u64) -> Result<(), JournalError> {
        self.add(Record::Confirmed { set })
    }

    /// Records a change that is about to be made; returns its number.
    pub(crate) fn plan(&mut self, set: u64, rule: &str, change: Change) -> Result<u64, JournalError> {
        let boot = self.boot()?;
        let entry = self.next_entry();
        self.add(Record::Planned { entry, set, rule: rule.to_owned(), boot, change })?;
        Ok(entry)
    }

    pub(crate) fn next_entry(&self) -> u64 {
        self.entries.iter().map(|entry| entry.id).max().unwrap_or(0) + 1
    }

    pub(crate) fn state(&mut self, entry: u64, state: State, why: &str) -> Result<(), JournalError> {
        self.add(Record::State { entry, state, why: why.to_owned() })
    }

    pub(crate) fn after(&mut self, entry: u64, files: Vec<(PathBuf, Option<Kept>)>) -> Result<(), JournalError> {
        self.add(Record::After { entry, files })
    }

    pub(crate) fn boot(&self) -> Result<String, JournalError> {
        self.sys.boot_id().map_err(|source| JournalError { path: "/proc/sys/kernel/random/boot_id".into(), source })
    }

    /// Begins a new file if the old one is large and nothing in it is open; the old one is kept beside it.
    fn renew(&mut self) -> Result<(), JournalError> {
        let is_done = self.entries.iter().all(|entry| !entry.is_open());
        if self.length < LARGE || !is_done || self.is_torn {
            return Ok(());
        }
        let (path, aside) = (self.path(), self.folder.join("journal.before"));
        self.sys.rename(&path, &aside).map_err(|source| JournalError { path: path.clone(), source })?;
        self.length = 0;
        self.entries.clear();
        self.sets.clear();
        Ok(())
    }
}

fn parse(line: &[u8]) -> Option<Record> {
    let (sum, json) = std::str::from_utf8(line).ok()?.trim_end_matches('\n').split_once(' ')?;
    (u32::from_str_radix(sum, 16).ok()? == crc32fast::hash(json.as_bytes()))
        .then(|| serde_json::from_slice(json.as_bytes()).ok())?
}

fn make_folders(sys: &dyn System, folder: &Path) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut at = Some(folder);
    while let Some(path) = at {
        match sys.look(path) {
            Ok(_) => break,
            Err(e) if is_absent(&e) => missing.push(path),
            Err(e) => return Err(e),
        }
        at = path.parent();
    }
    for path in missing.into_iter().rev() {
        match sys.make_folder(path, 0o700) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
        path.parent().map_or(Ok(()), |above| sys.sync_folder(above))?;
    }
    Ok(())
}
