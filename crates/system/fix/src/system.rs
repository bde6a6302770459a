//! The one way to change anything: a trait, so that tests can fail or kill it at every single operation.

use punctual_model::Argv;
use punctual_units::{CpuList, Scheduling};
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Owner, permissions, time and extended attributes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// Permission bits.
    pub mode: u32,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Last modification: seconds and nanoseconds since 1970; `None`: now.
    pub modified: Option<(i64, u32)>,
    /// Extended attributes by name: base64. Those that may not be read are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<(String, String)>,
}

/// What stands at a path, not following a symbolic link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file, with the number of its names.
    File(u64),
    /// A folder.
    Folder,
    /// A symbolic link, and where it leads.
    Link(String),
    /// A device, socket or pipe.
    Other,
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed, cut.
    pub output: String,
    /// What it complained about, cut.
    pub complaint: String,
}

/// Held while the journal is in use; given back when dropped, and when every command that was run meanwhile has ended.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] pub(crate) Option<Arc<OwnedFd>>);

/// A machine that can be changed. Paths are absolute.
///
/// # Errors
/// All calls return the system's errors.
#[allow(clippy::missing_errors_doc)]
pub trait System {
    /// A regular file's content, at most 4 MiB; the last part of the path is not followed.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// What stands there, and its attributes.
    fn look(&self, path: &Path) -> io::Result<(Kind, Attributes)>;
    /// The names in a folder, sorted.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Writes to a file that is there, in one write(2): the kernel's files take a value whole or not at all.
    fn write_value(&self, path: &Path, value: &[u8]) -> io::Result<()>;
    /// Makes a file that is not there, private, and syncs it.
    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Sets attributes as far as the file system has them.
    fn set_attributes(&self, path: &Path, attributes: &Attributes) -> io::Result<()>;
    /// Renames within a folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes one folder.
    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes names in a folder last.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Appends to a private file, made if need be, and syncs it.
    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Cuts a file to a length, and syncs it.
    fn cut(&self, path: &Path, length: u64) -> io::Result<()>;
    /// Policy and parameters of a thread, and whether its children are reset.
    fn scheduling(&self, tid: u32) -> io::Result<(Scheduling, bool)>;
    /// Sets them.
    fn set_scheduling(&self, tid: u32, wanted: Scheduling, reset_on_fork: bool) -> io::Result<()>;
    /// The CPUs a thread may use.
    fn affinity(&self, tid: u32) -> io::Result<CpuList>;
    /// Sets them.
    fn set_affinity(&self, tid: u32, cpus: &CpuList) -> io::Result<()>;
    /// Runs a command to its end. It shares the lock: one that outlives this process (SIGKILL) keeps the next from comparing files
    /// that it still writes.
    fn run(&self, argv: &Argv) -> io::Result<Ran>;
    /// Is there surely no such program in the folders that [`System::run`] looks into? Where that cannot be told, no.
    fn lacks(&self, program: &str) -> bool;
    /// Another one at every boot.
    fn boot_id(&self) -> io::Result<String>;
    /// Seconds since boot, also those asleep.
    fn boottime_s(&self) -> u64;
    /// Takes the lock on a folder; where another process has it, waits, or else fails with `WouldBlock`.
    fn lock(&self, folder: &Path, wait: bool) -> io::Result<Lock>;
    /// User id of this process.
    fn user(&self) -> u32;
    /// Lets time pass.
    fn wait(&self, seconds: u64);
}

/// Is it not there?
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
