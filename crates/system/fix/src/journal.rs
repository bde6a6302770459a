//! Records every change on disk before it is made: in `/var/lib/punctual/changes/journal`, to which records are only
//! appended, and in its copy ([`crate::copies`]).

use crate::change::{Change, Kept};
use crate::copies::{self, Merged};
use crate::record::Record;
use crate::system::{Kind, Lock, System, is_absent};
use punctual_journal::Owner;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

pub const FOLDER: &str = "/var/lib/punctual/changes";
pub(crate) const NAME: &str = "journal";
pub(crate) const COPY: &str = "journal.copy";
/// Size above which a new journal is started when no entry is open, bytes.
const LARGE: u64 = 1 << 20;
/// Size above which no change is planned, bytes. Files of more than 4 MiB are not read, and undoing also adds records.
const LARGEST: u64 = (4 << 20) - (256 << 10);

/// Maximum number of damaged journals that are kept.
const MAX_DAMAGED: u64 = 100;
/// Advice to the user if records are lost.
const RESOLVE: &str = "`punctual undo` undoes what is known, `punctual undo --list` shows what is lost, and \
                       `punctual undo --accept-loss` continues without it (use it once the machine is in the state you want)";

/// The journal cannot be used, so nothing may be changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the journal of changes {}: {source}", path.display())]
pub struct JournalError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// State of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The change is recorded, and may already have been made.
    Planned,
    Written,
    /// The change was made and read back as intended.
    Verified,
    Undoing,
    /// The change was undone, by restoring the old state or by a reboot.
    Undone,
    GaveUp,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub id: u64,
    pub set: u64,
    pub rule: String,
    pub boot: String,
    pub change: Change,
    pub state: State,
    /// Files that a command wrote, with the contents it left.
    pub after: Vec<(PathBuf, Option<Kept>)>,
}

impl Entry {
    /// Returns true if there is or may be something to undo.
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
    /// Time since boot at which the set is undone unless confirmed, s; `None` if the set was confirmed, or needs no
    /// confirmation.
    pub confirm_by_s: Option<u64>,
}

/// The journal. Only one process can have it open for changes.
pub struct Journal<'s> {
    pub sys: &'s dyn System,
    folder: PathBuf,
    entries: Vec<Entry>,
    sets: Vec<Set>,
    /// Number of the next record.
    next: u64,
    /// Number of bytes of complete records in each copy.
    length: u64,
    /// Content from which both copies are rewritten before the next record; `None` if they are intact.
    renewal: Option<Merged>,
    /// True if an appended record may be incomplete.
    is_torn: bool,
    covered: Vec<String>,
    lost: Vec<String>,
    _lock: Lock,
}

impl<'s> Journal<'s> {
    /// Opens the journal for changes; creates it if it does not exist.
    ///
    /// # Errors
    /// It cannot be created, read or locked, other users have access to the folder, or records are lost.
    pub fn open(sys: &'s dyn System, folder: &Path) -> Result<Journal<'s>, JournalError> {
        let failed = |source| JournalError { path: folder.to_owned(), source };
        make_folders(sys, folder).map_err(failed)?;
        let journal = Journal::existing(sys, folder)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        journal.refuse_lost()?;
        Ok(journal)
    }

    /// # Errors
    /// Records are lost: their changes are unknown, and no change may be made on top of them.
    pub(crate) fn refuse_lost(&self) -> Result<(), JournalError> {
        let Some(what) = self.lost.first() else { return Ok(()) };
        let more = if self.lost.len() > 1 { format!(", and {} more", self.lost.len() - 1) } else { String::new() };
        Err(JournalError { path: self.folder.clone(), source: io::Error::other(format!("{what}{more}; {RESOLVE}")) })
    }

    /// Opens the journal; `None` if it does not exist.
    ///
    /// # Errors
    /// See [`Journal::open`].
    pub fn existing(sys: &'s dyn System, folder: &Path) -> Result<Option<Journal<'s>>, JournalError> {
        Journal::at(sys, folder, || sys.lock(folder, true))
    }

    /// Like [`Journal::existing`], but for reading only. It does not wait for another process that has the journal
    /// open.
    ///
    /// # Errors
    /// See [`Journal::open`].
    pub fn peek(sys: &'s dyn System, folder: &Path) -> Result<Option<Journal<'s>>, JournalError> {
        match Journal::at(sys, folder, || Ok(Lock(None)))? {
            // Records may seem lost because another process is writing to the journal, so it is read again with the
            // lock.
            Some(journal) if !journal.lost.is_empty() => Journal::existing(sys, folder),
            journal => Ok(journal),
        }
    }

    /// Opens the journal if it exists and no other process has it open; otherwise `None`.
    pub(crate) fn if_free(sys: &'s dyn System, folder: &Path) -> Result<Option<Journal<'s>>, JournalError> {
        match Journal::at(sys, folder, || sys.lock(folder, false)) {
            Err(e) if e.source.kind() == io::ErrorKind::WouldBlock => Ok(None),
            other => other,
        }
    }

    fn at(
        sys: &'s dyn System,
        folder: &Path,
        lock: impl FnOnce() -> io::Result<Lock>,
    ) -> Result<Option<Journal<'s>>, JournalError> {
        let failed = |source| JournalError { path: folder.to_owned(), source };
        match sys.look(folder) {
            Err(e) if is_absent(&e) => return Ok(None),
            Err(e) => return Err(failed(e)),
            Ok((Kind::Folder, a)) if a.uid == sys.user() && a.mode & 0o022 == 0 => {}
            // A journal that other users can write to could cause any change.
            Ok(_) => return Err(failed(io::Error::other("other users have access to it"))),
        }
        let lock = lock().map_err(failed)?;
        let mut journal = Journal {
            sys,
            folder: folder.to_owned(),
            entries: Vec::new(),
            sets: Vec::new(),
            next: 1,
            length: 0,
            renewal: None,
            is_torn: false,
            covered: Vec::new(),
            lost: Vec::new(),
            _lock: lock,
        };
        let read = |path: PathBuf| match sys.read(&path) {
            Ok(content) => Ok(Some(content)),
            Err(e) if is_absent(&e) => Ok(None),
            Err(source) => Err(JournalError { path, source }),
        };
        let (first, second) = (read(journal.path(NAME))?, read(journal.path(COPY))?);
        journal.take(copies::merge(first.as_deref(), second.as_deref()));
        Ok(Some(journal))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the entries in the order in which they were made.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the sets in the order in which they were begun.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// Returns the damage to one copy that the other copy compensates for, as sentences.
    pub fn covered(&self) -> &[String] {
        &self.covered
    }

    /// Returns the lost records whose loss was not accepted, as sentences. Their changes cannot be undone.
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn take(&mut self, merged: Merged) {
        merged.records.values().for_each(|record| self.apply(record.clone()));
        self.next = merged.records.last_key_value().map_or(0, |(n, _)| *n) + 1;
        self.covered.clone_from(&merged.covered);
        self.lost.extend(merged.lost.iter().cloned());
        self.length = merged.length.unwrap_or(0);
        self.renewal = merged.length.is_none().then_some(merged);
    }

    /// Applies a record to the entries and sets. A record that was already applied changes nothing.
    fn apply(&mut self, record: Record) {
        let find = |sets: &mut Vec<Set>, id| sets.iter().position(|set: &Set| set.id == id);
        match record {
            Record::Begun { set, boot, owner, confirm_by_s } if find(&mut self.sets, set).is_none() => {
                self.sets.push(Set { id: set, boot, owner, is_ended: false, confirm_by_s });
            }
            Record::Planned { entry, set, rule, boot, change } if self.entries.iter().all(|e| e.id != entry) => {
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
            Record::Lost { what, .. } => self.lost = what,
            Record::Accepted => self.lost.clear(),
            Record::Begun { .. } | Record::Planned { .. } => {}
        }
    }

    /// Appends a record to both copies and syncs them. It takes effect only after that.
    fn add(&mut self, record: Record) -> Result<(), JournalError> {
        let [path, copy] = [self.path(NAME), self.path(COPY)];
        let failed = |source| JournalError { path: path.clone(), source };
        self.write_anew()?;
        let line = copies::line(self.next, &record).map_err(|e| failed(e.into()))?;
        let is_change = matches!(record, Record::Planned { .. } | Record::After { .. });
        if is_change && self.length + line.len() as u64 > LARGEST {
            let why = "it would grow beyond 4 MiB: run `punctual undo` first, which starts a new journal";
            return Err(failed(io::Error::other(why)));
        }
        if self.is_torn {
            self.cut_back().map_err(failed)?;
        }
        let is_new = self.length == 0;
        let appended = self.sys.append(&copy, line.as_bytes()).and_then(|()| self.sys.append(&path, line.as_bytes()));
        if let Err(e) = appended {
            self.is_torn = true;
            // If the record remains in the copy, it counts. That is harmless, because undoing a change that was not
            // made does nothing.
            let _ = self.cut_back();
            return Err(failed(e));
        }
        self.length += line.len() as u64;
        self.next += 1;
        if is_new {
            self.sys.sync_folder(&self.folder).map_err(failed)?;
        }
        self.apply(record);
        Ok(())
    }

    /// Removes an incompletely appended record, first from `journal`: an incomplete record there counts as damage if
    /// the copy does not have it.
    fn cut_back(&mut self) -> io::Result<()> {
        for path in [self.path(NAME), self.path(COPY)] {
            match self.sys.cut(&path, self.length) {
                Err(e) if !is_absent(&e) => return Err(e),
                _ => {}
            }
        }
        self.is_torn = false;
        Ok(())
    }

    /// Rewrites both copies if one was damaged or comes from an earlier version. If records are lost, the damaged
    /// copies are kept under other names, and the loss is recorded.
    fn write_anew(&mut self) -> Result<(), JournalError> {
        let Some(mut merged) = self.renewal.take() else { return Ok(()) };
        let written = self.replace(&mut merged);
        if written.is_err() {
            self.renewal = Some(merged);
        }
        written.map_err(|source| JournalError { path: self.path(NAME), source })
    }

    fn replace(&mut self, merged: &mut Merged) -> io::Result<()> {
        let sys = self.sys;
        if !merged.lost.is_empty() {
            let names =
                |n: u64| [(NAME, ""), (COPY, ".copy")].map(|(name, end)| (name, format!("{NAME}.damaged-{n}{end}")));
            let is_free = |(_, name): &(&str, String)| sys.look(&self.path(name)).is_err_and(|e| is_absent(&e));
            let free = (1..=MAX_DAMAGED).map(names).find(|names| names.iter().all(is_free));
            let aside = free.ok_or(io::ErrorKind::AlreadyExists)?;
            for (name, kept) in &aside {
                match sys.read(&self.path(name)) {
                    Ok(content) => sys.create(&self.path(kept), &content)?,
                    Err(e) if is_absent(&e) => {}
                    Err(e) => return Err(e),
                }
            }
            let [aside, _] = aside.map(|(_, name)| self.path(&name));
            merged.lost.clear();
            self.lost.push(format!("the damaged journal is kept as {}", aside.display()));
            merged.records.insert(self.next, Record::Lost { what: self.lost.clone(), gaps: merged.gaps.clone() });
            self.next += 1;
        }
        let lines = merged.records.iter().map(|(n, record)| copies::line(*n, record));
        let content = lines.collect::<serde_json::Result<String>>()?;
        let new = self.path(&format!("{NAME}.new"));
        for name in [COPY, NAME] {
            match sys.remove(&new) {
                Err(e) if !is_absent(&e) => return Err(e),
                _ => sys.create(&new, content.as_bytes())?,
            }
            sys.rename(&new, &self.path(name))?;
            sys.sync_folder(&self.folder)?;
        }
        self.length = content.len() as u64;
        Ok(())
    }

    /// Accepts that records are lost, and returns them. Interrupted sets are then no longer undone automatically,
    /// because the record of their end may be among the lost ones.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn accept_loss(&mut self) -> Result<Vec<String>, JournalError> {
        let lost = self.lost.clone();
        if lost.is_empty() {
            return Ok(lost);
        }
        let cut_off: Vec<u64> = self.sets.iter().filter(|set| !set.is_ended).map(|set| set.id).collect();
        for set in cut_off {
            self.end(set)?;
        }
        self.add(Record::Accepted)?;
        Ok(lost)
    }

    /// Begins a set of changes. Returns its number.
    pub(crate) fn begin(&mut self, confirm_within_s: Option<u64>) -> Result<u64, JournalError> {
        self.renew()?;
        let boot = self.boot()?;
        let set = self.sets.iter().map(|set| set.id).max().unwrap_or(0) + 1;
        let confirm_by_s = confirm_within_s.map(|seconds| self.sys.boottime_s().saturating_add(seconds));
        self.add(Record::Begun { set, boot, owner: Owner::this_process().ok(), confirm_by_s })?;
        Ok(set)
    }

    /// Extends the time for confirming a set by this many seconds.
    pub(crate) fn extend(&mut self, set: u64, seconds: u64) -> Result<(), JournalError> {
        let confirm_by_s = self.sys.boottime_s().saturating_add(seconds);
        self.add(Record::Deadline { set, confirm_by_s })
    }

    pub(crate) fn end(&mut self, set: u64) -> Result<(), JournalError> {
        self.add(Record::Ended { set })
    }

    /// Confirms all sets that wait for confirmation. Returns their number.
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

    /// Records a change that is about to be made. Returns the number of its entry.
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

    /// Starts a new journal if this one is large and has no open entries. The old one is kept under another name.
    fn renew(&mut self) -> Result<(), JournalError> {
        let is_done = self.entries.iter().all(|entry| !entry.is_open());
        if self.length < LARGE || !is_done || self.is_torn || self.renewal.is_some() {
            return Ok(());
        }
        let (path, aside) = (self.path(NAME), self.folder.join("journal.before"));
        let renewed = self.sys.rename(&path, &aside).and_then(|()| self.sys.remove(&self.path(COPY)));
        renewed.map_err(|source| JournalError { path: path.clone(), source })?;
        self.length = 0;
        self.next = 1;
        self.entries.clear();
        self.sets.clear();
        Ok(())
    }
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
