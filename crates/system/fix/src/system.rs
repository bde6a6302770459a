//! All changes go through one trait, so that tests can make any single operation fail, or kill the process during it.

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
    /// Last modification: seconds and nanoseconds since 1970; `None` for now.
    pub modified: Option<(i64, u32)>,
    /// Extended attributes by name, base64, without unreadable ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<(String, String)>,
}

/// Type of the file at a path; a symbolic link is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file, with its number of hard links.
    File(u64),
    Folder,
    Link(String),
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Exit code of the command; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output, truncated.
    pub output: String,
    /// Standard error, truncated.
    pub complaint: String,
}

/// Held while the journal is in use; released when dropped, and when every command run meanwhile has ended.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] pub(crate) Option<Arc<OwnedFd>>);

/// A machine that can be changed. Paths are absolute.
///
/// # Errors
/// All calls return the system's errors.
#[allow(clippy::missing_errors_doc)]
pub trait System {
    /// Content of a regular file, at most 4 MiB; a link in the last component is not followed.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    fn look(&self, path: &Path) -> io::Result<(Kind, Attributes)>;
    /// Names in a folder, sorted.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Writes to an existing file with one write(2): kernel files accept a value completely or not at all.
    fn write_value(&self, path: &Path, value: &[u8]) -> io::Result<()>;
    /// Creates a new, private file and syncs it.
    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Sets the attributes that the file system supports.
    fn set_attributes(&self, path: &Path, attributes: &Attributes) -> io::Result<()>;
    /// Renames within a folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes changes to the names in a folder durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Appends to a private file, created if missing, and syncs it.
    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Truncates a file and syncs it.
    fn cut(&self, path: &Path, length: u64) -> io::Result<()>;
    /// Policy and parameters of a thread, and whether its children get SCHED_OTHER.
    fn scheduling(&self, tid: u32) -> io::Result<(Scheduling, bool)>;
    fn set_scheduling(&self, tid: u32, wanted: Scheduling, reset_on_fork: bool) -> io::Result<()>;
    fn affinity(&self, tid: u32) -> io::Result<CpuList>;
    fn set_affinity(&self, tid: u32, cpus: &CpuList) -> io::Result<()>;
    /// Runs a command to its end. The command shares the lock: if it outlives this process (SIGKILL), it keeps the next
    /// one from comparing files that it still writes.
    fn run(&self, argv: &Argv) -> io::Result<Ran>;
    /// Returns true if the program is certainly not in the folders that [`System::run`] searches.
    fn lacks(&self, program: &str) -> bool;
    fn boot_id(&self) -> io::Result<String>;
    /// Seconds since boot, including suspend.
    fn boottime_s(&self) -> u64;
    /// Takes the lock on a folder; if another process holds it, fails with `TimedOut` after waiting, or at once with
    /// `WouldBlock` if `wait` is false.
    fn lock(&self, folder: &Path, wait: bool) -> io::Result<Lock>;
    fn user(&self) -> u32;
    fn wait(&self, seconds: u64);
}

pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
