//! The trait through which all changes are made, so that tests can make any operation fail, or kill the process during
//! it.

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
    /// Time of the last modification: seconds and nanoseconds since 1970; `None`: now.
    pub modified: Option<(i64, u32)>,
    /// Names of extended attributes and their values in base64. Attributes that cannot be read are omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<(String, String)>,
}

/// Type of the file at a path. A symbolic link is not followed.
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
    /// Standard output, truncated to a maximum size.
    pub output: String,
    /// Standard error, truncated to a maximum size.
    pub complaint: String,
}

/// Lock that is held while the journal is in use. It is released once this value has been dropped and every command
/// that ran while the lock was held has ended.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] pub(crate) Option<Arc<OwnedFd>>);

/// A machine that can be changed. Paths are absolute.
///
/// # Errors
/// All methods return the errors of the operating system.
#[allow(clippy::missing_errors_doc)]
pub trait System {
    /// Reads a regular file of at most 4 MiB. A link in the last component is not followed.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    fn look(&self, path: &Path) -> io::Result<(Kind, Attributes)>;
    /// Returns the names in a directory, sorted.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Writes to an existing file in one write(2), because kernel files accept a value completely or not at all.
    fn write_value(&self, path: &Path, value: &[u8]) -> io::Result<()>;
    /// Creates a new file that only its owner can access, writes it and syncs it.
    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Sets those attributes that the file system supports.
    fn set_attributes(&self, path: &Path, attributes: &Attributes) -> io::Result<()>;
    /// Renames a file within a directory.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Syncs a directory, so that changes to its names survive a power failure.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Appends to a file that only its owner can access, creates it if it does not exist, and syncs it.
    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Truncates a file and syncs it.
    fn cut(&self, path: &Path, length: u64) -> io::Result<()>;
    /// Returns policy and parameters of a thread, and whether its child processes get SCHED_OTHER.
    fn scheduling(&self, tid: u32) -> io::Result<(Scheduling, bool)>;
    fn set_scheduling(&self, tid: u32, wanted: Scheduling, reset_on_fork: bool) -> io::Result<()>;
    fn affinity(&self, tid: u32) -> io::Result<CpuList>;
    fn set_affinity(&self, tid: u32, cpus: &CpuList) -> io::Result<()>;
    /// Runs a command until it ends. The command shares the lock: if it survives this process (SIGKILL), another
    /// process cannot compare files that the command still writes.
    fn run(&self, argv: &Argv) -> io::Result<Ran>;
    /// Returns true if the program is certainly not in the directories that [`System::run`] searches.
    fn lacks(&self, program: &str) -> bool;
    fn boot_id(&self) -> io::Result<String>;
    /// Returns the time since boot, including suspend, s.
    fn boottime_s(&self) -> u64;
    /// Takes the lock on a directory. If another process has it, fails with `TimedOut` after some time, or immediately
    /// with `WouldBlock` if `wait` is false.
    fn lock(&self, folder: &Path, wait: bool) -> io::Result<Lock>;
    fn user(&self) -> u32;
    fn wait(&self, seconds: u64);
}

pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
