//! A machine on which a chosen operation fails, for tests.

use crate::system::{Attributes, Kind, Lock, Ran, System};
use punctual_model::Argv;
use punctual_units::{CpuList, Scheduling};
use std::cell::Cell;
use std::io;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Only this operation fails, with this errno (EIO: 5, ENOSPC: 28). If it writes a file, half of the content is
    /// written.
    Error(i32),
    /// The process dies. This operation is done in part or not at all, and no later operation is done.
    Killed,
}

/// Passes operations to another system, but makes one modifying operation fail. Reads are not counted; they fail once
/// the process is dead.
pub struct Faulty<'s> {
    below: &'s dyn System,
    at: u64,
    fault: Fault,
    count: Cell<u64>,
    is_dead: Cell<bool>,
}

impl<'s> Faulty<'s> {
    /// Creates a system that fails at operation `at`, counted from 0.
    pub fn new(below: &'s dyn System, at: u64, fault: Fault) -> Faulty<'s> {
        Faulty { below, at, fault, count: Cell::new(0), is_dead: Cell::new(false) }
    }

    /// Returns the number of modifying operations so far.
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    fn gone() -> io::Error {
        io::Error::other("killed")
    }

    fn read<T>(&self, read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.is_dead.get() { Err(Faulty::gone()) } else { read() }
    }

    fn change<T>(&self, whole: impl FnOnce() -> io::Result<T>, half: impl FnOnce()) -> io::Result<T> {
        if self.is_dead.get() {
            return Err(Faulty::gone());
        }
        let at = self.count.replace(self.count.get() + 1);
        if at != self.at {
            return whole();
        }
        half();
        match self.fault {
            Fault::Error(errno) => Err(io::Error::from_raw_os_error(errno)),
            Fault::Killed => {
                self.is_dead.set(true);
                Err(Faulty::gone())
            }
        }
    }
}

fn half(content: &[u8]) -> &[u8] {
    content.get(..content.len() / 2).unwrap_or_default()
}

impl System for Faulty<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read(|| self.below.read(path))
    }

    fn look(&self, path: &Path) -> io::Result<(Kind, Attributes)> {
        self.read(|| self.below.look(path))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.read(|| self.below.list(folder))
    }

    fn write_value(&self, path: &Path, value: &[u8]) -> io::Result<()> {
        let is_done = self.fault == Fault::Killed && self.at % 2 == 1;
        // The write succeeds completely or not at all.
        self.change(
            || self.below.write_value(path, value),
            || drop(is_done.then(|| self.below.write_value(path, value))),
        )
    }

    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.change(|| self.below.create(path, content), || drop(self.below.create(path, half(content))))
    }

    fn set_attributes(&self, path: &Path, attributes: &Attributes) -> io::Result<()> {
        self.change(|| self.below.set_attributes(path, attributes), || {})
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|| self.below.rename(from, to), || {})
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(|| self.below.remove(path), || {})
    }

    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.change(|| self.below.make_folder(path, mode), || {})
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.change(|| self.below.remove_folder(path), || {})
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.change(|| self.below.sync_folder(path), || {})
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.change(|| self.below.append(path, content), || drop(self.below.append(path, half(content))))
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        self.change(|| self.below.cut(path, length), || {})
    }

    fn scheduling(&self, tid: u32) -> io::Result<(Scheduling, bool)> {
        self.read(|| self.below.scheduling(tid))
    }

    fn set_scheduling(&self, tid: u32, wanted: Scheduling, reset_on_fork: bool) -> io::Result<()> {
        self.change(|| self.below.set_scheduling(tid, wanted, reset_on_fork), || {})
    }

    fn affinity(&self, tid: u32) -> io::Result<CpuList> {
        self.read(|| self.below.affinity(tid))
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuList) -> io::Result<()> {
        self.change(|| self.below.set_affinity(tid, cpus), || {})
    }

    fn run(&self, argv: &Argv) -> io::Result<Ran> {
        let is_done = self.fault == Fault::Killed && self.at % 2 == 1;
        self.change(|| self.below.run(argv), || drop(is_done.then(|| self.below.run(argv))))
    }

    fn lacks(&self, program: &str) -> bool {
        self.below.lacks(program)
    }

    fn boot_id(&self) -> io::Result<String> {
        self.read(|| self.below.boot_id())
    }

    fn boottime_s(&self) -> u64 {
        self.below.boottime_s()
    }

    fn lock(&self, folder: &Path, wait: bool) -> io::Result<Lock> {
        self.read(|| self.below.lock(folder, wait))
    }

    fn user(&self) -> u32 {
        self.below.user()
    }

    fn wait(&self, _: u64) {}
}
