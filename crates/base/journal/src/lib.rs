//! Journal of temporary changes to a system. The steps that undo a change are written to disk before it is made, so
//! that the change does not outlive this process.
//!
//! A [`Lease`] represents a change, for example a trace instance or the setting of a tracer. The change is undone when
//! the lease is returned or dropped. If the process was killed with SIGKILL, [`Journal::recover`] undoes it at the next
//! start of any process that uses the same journal.
//!
//! Leases are stored under /run. Neither they nor the changes survive a reboot. The changes that `fix` makes survive
//! it; `fix` has its own journal.
//!
//! Architecture invariant: nothing here decides what to change. An entry is undone by another process only if the
//! process that made it is known to be dead.

#![forbid(unsafe_code)]

mod owner;
pub mod register;
pub mod tracefs;
mod undo;

pub use owner::Owner;
pub use undo::Undo;

use punctual_watchdog::{Share, lock};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The entry could not be written, so the change must not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot record in {path} how to undo a change: {source}")]
pub struct JournalError {
    pub path: PathBuf,
    pub source: io::Error,
}

#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
    /// Time limit of the wait for the lock of the journal.
    patience: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    schema: String,
    owner: Owner,
    undo: Vec<Undo>,
}

const SCHEMA: &str = "punctual.lease/1";
/// File name extension of a journal entry while it is being written. Meanwhile the writer holds a shared lock on the
/// directory.
const ASIDE: &str = "new";
/// Default time limit of the wait for the lock. A process holds the lock while it undoes the changes of a killed
/// process, and on a busy machine it takes seconds to remove a trace instance.
const PATIENCE: Duration = Duration::from_secs(8);
/// Maximum size of a journal entry in bytes.
const MAX: u64 = 1 << 20;

/// Result of undoing the entry of a process that died without returning its lease.
#[derive(Debug)]
pub struct Recovered {
    /// PID of the process; `None` if unknown, because the journal is locked or the name of the entry has no PID.
    pub pid: Option<u32>,
    pub undone: Vec<String>,
    /// Descriptions of the steps that failed, with the reasons. The entry is kept for the next attempt.
    pub failed: Vec<String>,
}

/// A temporary change. It is undone when the lease is returned or dropped or, if the process was killed with SIGKILL,
/// at the next start.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    undo: Vec<Undo>,
    done: bool,
}

impl Journal {
    /// Returns the journal of this user: /run/punctual for root; for others $XDG_RUNTIME_DIR/punctual, or punctual-UID
    /// in $TMPDIR or /tmp if XDG_RUNTIME_DIR is not set.
    pub fn of_user() -> Journal {
        let root = rustix::process::geteuid().is_root();
        let own = std::env::var_os("XDG_RUNTIME_DIR").filter(|_| !root).map(PathBuf::from);
        let uid = rustix::process::geteuid().as_raw();
        let folder = match (root, own) {
            (true, _) => PathBuf::from("/run/punctual"),
            (false, Some(own)) => own.join("punctual"),
            (false, None) => std::env::temp_dir().join(format!("punctual-{uid}")),
        };
        Journal::at(folder)
    }

    /// Returns the journal in the given directory, which is created when the first entry is written.
    pub fn at(folder: impl Into<PathBuf>) -> Journal {
        Journal { folder: folder.into(), patience: PATIENCE }
    }

    /// Records how to undo a change. Call it before making the change. The steps of `undo` are carried out from last to
    /// first. A path through this process's private mount of tracefs is stored relative to tracefs, because the mount
    /// ends with the process.
    ///
    /// # Errors
    /// [`JournalError`]: the entry could not be written. The change must then not be made.
    pub fn lease(&self, undo: Vec<Undo>) -> Result<Lease, JournalError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| JournalError { path, source }
        };
        make_private(&self.folder).map_err(failed(&self.folder))?;
        // The lock keeps a concurrent `recover` from removing the half-written entry.
        let folder = File::open(&self.folder).map_err(failed(&self.folder))?;
        match lock(&folder, Share::Shared, self.patience, &mut |_| {}) {
            Err(e) if e.kind() == io::ErrorKind::TimedOut => return Err(failed(&self.folder)(e)),
            // The file system may have no locks.
            Ok(()) | Err(_) => {}
        }
        let owner = Owner::this_process().map_err(failed(Path::new("/proc/self/stat")))?;
        let undo = undo.into_iter().map(|one| one.for_all(tracefs::own_root())).collect();
        let name = format!("{}-{}-{}.json", owner.pid, owner.start_ticks, COUNT.fetch_add(1, Relaxed));
        let path = self.folder.join(name);
        let entry = Entry { schema: SCHEMA.into(), owner, undo };
        write_new(&path, &entry).map_err(failed(&path))?;
        Ok(Lease { path, undo: entry.undo, done: false })
    }

    /// Undoes the changes of dead processes and returns the results. Skips entries of living processes, entries of
    /// other PID namespaces, and files that are not entries. An entry that cannot be parsed counts as a failure.
    /// Returns an empty list if the journal does not exist.
    pub fn recover(&self) -> Vec<Recovered> {
        let Ok(folder) = File::open(&self.folder) else { return Vec::new() };
        // A folder of another user in /tmp could hold any undo step.
        if make_private(&self.folder).is_err() {
            return Vec::new();
        }
        // If two processes start together, one of them recovers. On a file system without locks both do, which is
        // harmless.
        let alone = match lock(&folder, Share::Exclusive, self.patience, &mut |_| {}) {
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                let failed = vec![format!("{}: {e}", self.folder.display())];
                return vec![Recovered { pid: None, undone: Vec::new(), failed }];
            }
            done => done.is_ok(),
        };
        let mut found: Vec<PathBuf> =
            fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        // The entries of a process end in a number: a longer name is a later entry.
        found.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        if alone {
            // Left by a process that was killed while it wrote the entry, before it made the change.
            let is_half = |path: &&PathBuf| path.extension().is_some_and(|e| e == ASIDE);
            found.iter().filter(is_half).for_each(|path| drop(fs::remove_file(path)));
        }
        found.iter().rev().filter_map(|path| recover_one(path)).collect()
    }
}

impl Lease {
    /// Undoes the change now.
    ///
    /// # Errors
    /// Descriptions of the steps that failed. The entry is kept in the journal.
    pub fn give_back(mut self) -> Result<(), Vec<String>> {
        self.undo()
    }

    fn undo(&mut self) -> Result<(), Vec<String>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        let (_, failed) = undo_all(&self.undo);
        if failed.is_empty() {
            // The entry may be gone already, if another process recovered it.
            let _ = fs::remove_file(&self.path);
            return Ok(());
        }
        Err(failed)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The error cannot be returned here; the entry stays, and the next start tries again and reports the result.
        let _ = self.undo();
    }
}

fn undo_all(undo: &[Undo]) -> (Vec<String>, Vec<String>) {
    let (mut undone, mut failed) = (Vec::new(), Vec::new());
    for one in undo.iter().rev() {
        match one.carry_out() {
            Ok(()) => undone.push(one.to_string()),
            Err(e) => failed.push(format!("{one}: {e}")),
        }
    }
    (undone, failed)
}

fn recover_one(path: &Path) -> Option<Recovered> {
    let named = path.extension().is_some_and(|e| e == "json");
    if !named || fs::symlink_metadata(path).ok().is_none_or(|m| !m.is_file() || m.len() > MAX) {
        return None;
    }
    let read = fs::read(path).ok()?;
    let Some(entry) = serde_json::from_slice::<Entry>(&read).ok().filter(|entry| entry.schema == SCHEMA) else {
        let pid = path.file_stem().and_then(|name| name.to_str()?.split('-').next()?.parse().ok());
        let what = "is damaged or was written by another version, so the change it describes is unknown: remove the file once the machine is in the desired state";
        return Some(Recovered { pid, undone: Vec::new(), failed: vec![format!("{} {what}", path.display())] });
    };
    if !entry.owner.is_dead() {
        return None;
    }
    let (undone, failed) = match entry.owner.is_of_this_boot() {
        true => undo_all(&entry.undo),
        false => (Vec::new(), Vec::new()),
    };
    if failed.is_empty() {
        let _ = fs::remove_file(path);
    }
    (!undone.is_empty() || !failed.is_empty()).then_some(Recovered { pid: Some(entry.owner.pid), undone, failed })
}

/// Creates the directory with mode 0700, because its entries are executed. Fails if the directory belongs to another
/// user or if other users can write to it.
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let meta = fs::symlink_metadata(folder)?;
    let mine = meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0;
    match meta.is_dir() && mine {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users can write to the directory")),
    }
}

fn write_new(path: &Path, entry: &Entry) -> io::Result<()> {
    let aside = path.with_extension(ASIDE);
    let mut file = File::create(&aside)?;
    file.write_all(&serde_json::to_vec(entry)?)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(journal: &Journal, owner: Owner, undo: Vec<Undo>) -> PathBuf {
        make_private(&journal.folder).unwrap();
        let path = journal.folder.join(format!("{}-0.json", owner.pid));
        write_new(&path, &Entry { schema: SCHEMA.into(), owner, undo }).unwrap();
        path
    }

    fn dead() -> Owner {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let owner = Owner { pid: child.id(), start_ticks: 1, ..Owner::this_process().unwrap() };
        child.wait().unwrap();
        owner
    }

    #[test]
    fn given_back_in_reverse_order() {
        let home = tempfile::tempdir().unwrap();
        let (file, folder) = (home.path().join("f"), home.path().join("d"));
        fs::write(&file, "new").unwrap();
        fs::create_dir(&folder).unwrap();
        let journal = Journal::at(home.path().join("j"));
        let lease = journal
            .lease(vec![
                Undo::Write { path: file.clone(), text: "old".into() },
                Undo::RemoveFolder { path: folder.clone() },
            ])
            .unwrap();
        assert_eq!(fs::read_dir(home.path().join("j")).unwrap().count(), 1);
        lease.give_back().unwrap();
        assert_eq!(fs::read_to_string(file).unwrap(), "old");
        assert!(!folder.exists());
        assert_eq!(fs::read_dir(home.path().join("j")).unwrap().count(), 0);
    }

    #[test]
    fn the_living_keep_theirs_and_the_dead_are_cleaned_up_after() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("f");
        fs::write(&file, "new").unwrap();
        let undo = vec![Undo::Write { path: file.clone(), text: "old".into() }];
        let journal = Journal::at(home.path().join("j"));
        let held = journal.lease(undo.clone()).unwrap();
        assert!(journal.recover().is_empty());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let path = entry_of(&journal, dead(), undo);
        let recovered = journal.recover();
        assert_eq!((recovered.len(), recovered[0].undone.len()), (1, 1));
        assert!(!path.exists());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        drop(held);
    }

    #[test]
    fn a_file_is_removed_and_one_that_is_gone_is_no_failure() {
        let home = tempfile::tempdir().unwrap();
        let (file, gone) = (home.path().join("f"), home.path().join("gone"));
        fs::write(&file, "x").unwrap();
        let journal = Journal::at(home.path().join("j"));
        entry_of(
            &journal,
            dead(),
            vec![Undo::RemoveFile { path: file.clone() }, Undo::RemoveFile { path: gone.clone() }],
        );
        let recovered = journal.recover();
        assert_eq!((recovered[0].undone.len(), recovered[0].failed.len(), file.exists()), (2, 0, false));
        // A folder at the path of the file is an error.
        fs::create_dir(&gone).unwrap();
        assert_eq!(journal.lease(vec![Undo::RemoveFile { path: gone }]).unwrap().give_back().unwrap_err().len(), 1);
    }

    /// A trace instance with a uprobe is removed before the uprobe, which is busy until then.
    #[test]
    fn what_a_killed_process_changed_last_is_undone_first() {
        let home = tempfile::tempdir().unwrap();
        let folders = [home.path().join("a"), home.path().join("a/b")];
        folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let (journal, owner) = (Journal::at(home.path().join("j")), dead());
        for (number, path) in [9, 10].iter().zip(&folders) {
            let entry = entry_of(&journal, owner.clone(), vec![Undo::RemoveFolder { path: path.clone() }]);
            fs::rename(&entry, entry.with_file_name(format!("{}-1-{number}.json", owner.pid))).unwrap();
        }
        let recovered = journal.recover();
        assert!(recovered.len() == 2 && recovered.iter().all(|one| one.failed.is_empty()), "{recovered:?}");
        assert!(!folders[0].exists());
    }

    #[test]
    fn a_recycled_pid_is_not_the_owner() {
        let mine = Owner::this_process().unwrap();
        assert!(!mine.is_dead());
        assert!(Owner { start_ticks: mine.start_ticks + 1, ..mine.clone() }.is_dead());
        assert!(Owner { boot_id: "another".into(), ..mine.clone() }.is_dead());
        // A process in another PID namespace is not visible from here.
        assert!(!Owner { pid_namespace: "pid:[1]".into(), start_ticks: 1, ..mine }.is_dead());
    }

    #[test]
    fn what_cannot_be_undone_stays_and_is_reported() {
        let home = tempfile::tempdir().unwrap();
        let journal = Journal::at(home.path().join("j"));
        let missing = home.path().join("no/such/file");
        let path = entry_of(&journal, dead(), vec![Undo::Write { path: missing, text: "x".into() }]);
        let recovered = journal.recover();
        assert_eq!(recovered[0].failed.len(), 1);
        assert!(path.exists());
    }

    #[test]
    fn an_entry_that_was_killed_half_written_is_removed_and_nothing_undone() {
        let home = tempfile::tempdir().unwrap();
        let (file, journal) = (home.path().join("f"), Journal::at(home.path().join("j")));
        fs::write(&file, "x").unwrap();
        let path = entry_of(&journal, dead(), vec![Undo::RemoveFile { path: file.clone() }]);
        fs::rename(&path, path.with_extension(ASIDE)).unwrap();
        // An entry being written by a living process.
        let held = File::open(&journal.folder).unwrap();
        lock(&held, Share::Shared, PATIENCE, &mut |_| {}).unwrap();
        std::thread::scope(|scope| {
            let recovering = scope.spawn(|| journal.recover());
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(path.with_extension(ASIDE).exists());
            drop(held);
            assert!(recovering.join().unwrap().is_empty());
        });
        assert!(file.exists() && fs::read_dir(&journal.folder).unwrap().next().is_none());
    }

    #[test]
    fn a_lock_that_is_not_given_back_is_reported_with_who_holds_it_and_nothing_is_undone() {
        let home = tempfile::tempdir().unwrap();
        let (file, journal) = (home.path().join("f"), Journal::at(home.path().join("j")));
        fs::write(&file, "x").unwrap();
        let path = entry_of(&journal, dead(), vec![Undo::RemoveFile { path: file.clone() }]);
        let held = File::open(&journal.folder).unwrap();
        lock(&held, Share::Exclusive, PATIENCE, &mut |_| {}).unwrap();
        let holder = format!("PID {}", std::process::id());
        let journal = Journal { patience: Duration::from_millis(50), ..journal };
        let found = journal.recover();
        assert!(found.len() == 1 && found[0].failed[0].contains(&holder), "{found:?}");
        assert!(file.exists() && path.exists());
        let refused = journal.lease(Vec::new()).unwrap_err().source;
        assert!(refused.to_string().contains(&holder), "{refused}");
    }

    #[test]
    fn garbage_in_the_folder_is_left_alone_and_reported() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("j");
        make_private(&folder).unwrap();
        for (name, text) in [("1-0.json", "{"), ("2-0.json", "[]"), ("x.txt", "hello"), ("3-0.json", "")] {
            fs::write(folder.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", folder.join("4-0.json")).unwrap();
        let recovered = Journal::at(&folder).recover();
        assert_eq!(
            recovered.iter().map(|one| (one.pid, one.failed.len())).collect::<Vec<_>>(),
            [(Some(3), 1), (Some(2), 1), (Some(1), 1)]
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 5);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("j");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Journal::at(&folder).lease(Vec::new()).is_err());
    }
}
