//! All changes go through one trait, so that tests can fail or kill it at every single operation.

use punctual_model::Argv;
use punctual_units::{CpuList, Scheduling};
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Last modification: seconds and nanoseconds since 1970; `None`: now.
    pub modified: Option<(i64, u32)>,
    /// By name, base64. Those that may not be read are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<(String, String)>,
}

/// What is at a path, not following a symbolic link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With its number of hard links.
    File(u64),
    Folder,
    Link(String),
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output, cut.
    pub output: String,
    /// Standard error, cut.
    pub complaint: String,
}

/// Held while the journal is in use; released when dropped, and when every command that was run meanwhile has ended.
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
    fn look(&self, path: &Path) -> io::Result<(Kind, Attributes)>;
    /// Sorted.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Writes to an existing file, in one write(2): the kernel's files take a value whole or not at all.
    fn write_value(&self, path: &Path, value: &[u8]) -> io::Result<()>;
    /// Creates a new, private file, and syncs it.
    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// As far as the file system has them.
    fn set_attributes(&self, path: &Path, attributes: &Attributes) -> io::Result<()>;
    /// Renames within a folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// It must be empty.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes changes to the names in a folder durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Appends to a private file, created if missing, and syncs it.
    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Truncates a file, and syncs it.
    fn cut(&self, path: &Path, length: u64) -> io::Result<()>;
    /// Policy and parameters of a thread, and whether its children are reset.
    fn scheduling(&self, tid: u32) -> io::Result<(Scheduling, bool)>;
    fn set_scheduling(&self, tid: u32, wanted: Scheduling, reset_on_fork: bool) -> io::Result<()>;
    fn affinity(&self, tid: u32) -> io::Result<CpuList>;
    fn set_affinity(&self, tid: u32, cpus: &CpuList) -> io::Result<()>;
    /// Runs a command to its end. It shares the lock: one that outlives this process (SIGKILL) keeps the next from
    /// comparing files that it still writes.
    fn run(&self, argv: &Argv) -> io::Result<Ran>;
    /// Is the program certainly not in the folders that [`System::run`] searches?
    fn lacks(&self, program: &str) -> bool;
    fn boot_id(&self) -> io::Result<String>;
    /// Seconds since boot, including suspend.
    fn boottime_s(&self) -> u64;
    /// Takes the lock on a folder; if another process has it, waits until `TimedOut`, or fails with `WouldBlock`.
    fn lock(&self, folder: &Path, wait: bool) -> io::Result<Lock>;
    fn user(&self) -> u32;
    fn wait(&self, seconds: u64);
}

pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
