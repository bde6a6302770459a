//! The FIFO of a pipe: opened or created, locked exclusively, and removed if it was created.

use crate::CapacityError;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, mknodat, open, statat, unlink,
};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// Path of a FIFO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// A name under /run, which is empty after a reboot.
    Run(String),
    /// A name under /dev, where Xenomai has its pipes: `rtp1` is /dev/rtp1.
    Dev(String),
    /// Any path.
    Path(PathBuf),
}

impl At {
    fn path(self) -> PathBuf {
        match self {
            At::Run(name) => Path::new("/run").join(name),
            At::Dev(name) => Path::new("/dev").join(name),
            At::Path(path) => path,
        }
    }
}

/// Text with a slash is a path; other text is a name under /run.
impl From<&str> for At {
    fn from(text: &str) -> At {
        if text.contains('/') { At::Path(text.into()) } else { At::Run(text.into()) }
    }
}

impl From<&Path> for At {
    fn from(path: &Path) -> At {
        At::Path(path.into())
    }
}

/// Why a pipe could not be opened.
#[derive(thiserror::Error)]
pub enum NotOpened {
    /// Invalid capacity or overflow policy.
    #[error(transparent)]
    Capacity(#[from] CapacityError),
    /// The path exists and is not a FIFO.
    #[error("{} is {what}, not a FIFO; see `ls -l {}`, then remove it or give another name", path.display(), path.display())]
    NotAFifo {
        /// The path that exists.
        path: PathBuf,
        /// Type of the file at that path.
        what: &'static str,
    },
    /// Another program is using the FIFO.
    #[error("{} belongs to another running program; see `fuser -v {}`, then end it or give another name", path.display(), path.display())]
    InUse {
        /// Path of the FIFO.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("{call}({}): {source}; see `ls -ld {}`: the folder must exist and be writable, or give another path",
            path.display(), path.parent().unwrap_or(path).display())]
    Refused {
        /// Name of the system call.
        call: &'static str,
        /// Path of the FIFO.
        path: PathBuf,
        /// Error of the system call.
        source: Errno,
    },
    /// eventfd(2) failed.
    #[error("eventfd(): {0}; see `ulimit -n`")]
    Event(Errno),
    /// The bridge's thread cannot be created.
    #[error("cannot start the thread that transfers the pipe's data: {0}; see `ulimit -u`")]
    Thread(io::Error),
}

/// A FIFO that only this program reads, or only this program writes (flock(2)). It is opened non-blocking and in both
/// directions, so that other programs may open and close it at any time. It is meant for programs with their own
/// bridge; [`pipe`](crate::pipe) and [`pipe_out`](crate::pipe_out) include one.
///
/// If the FIFO does not exist, it is created (mode 660, less the umask) and removed on drop. An existing FIFO is used
/// and left in place.
#[derive(Debug)]
pub struct Fifo {
    fd: OwnedFd,
    path: PathBuf,
    made: bool,
    inode: (u64, u64),
}

impl AsFd for Fifo {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Fifo {
    /// Opens the FIFO, or creates it if it does not exist.
    ///
    /// # Errors
    /// [`NotOpened`]: another program uses it, it is not a FIFO, or a system call failed.
    pub fn open(at: impl Into<At>) -> Result<Fifo, NotOpened> {
        let path = at.into().path();
        // Another program that is ending may remove the FIFO that was opened here; then this is tried again.
        for _ in 0..8 {
            if let Some(fifo) = Fifo::try_open(&path)? {
                return Ok(fifo);
            }
        }
        Err(NotOpened::InUse { path })
    }

    /// Opens an existing FIFO. Returns `None` if it was removed in the meantime.
    fn try_open(path: &Path) -> Result<Option<Fifo>, NotOpened> {
        let refused = |call| move |source| NotOpened::Refused { call, path: path.into(), source };
        let made = match mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o660), 0) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(source) => return Err(refused("mknod")(source)),
        };
        // Checked before opening, because opening a device may have side effects.
        match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => is_fifo(path, &stat)?,
            Err(Errno::NOENT) => return Ok(None),
            Err(source) => return Err(refused("stat")(source)),
        }
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = match open(path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(source) => return Err(refused("open")(source)),
        };
        let stat = fstat(&fd).map_err(refused("fstat"))?;
        is_fifo(path, &stat)?;
        match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(NotOpened::InUse { path: path.into() }),
            Err(source) => return Err(refused("flock")(source)),
        }
        let inode = inode(&stat);
        let fifo = Fifo { fd, path: path.into(), made, inode };
        Ok(fifo.is_there().then_some(fifo))
    }

    /// Returns a second descriptor, for the bridge's thread.
    pub(super) fn fd(&self) -> Result<OwnedFd, NotOpened> {
        let refused = |source| NotOpened::Refused { call: "fcntl", path: self.path.clone(), source };
        rustix::io::fcntl_dupfd_cloexec(&self.fd, 0).map_err(refused)
    }

    /// Returns the path of the FIFO.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if this program created the FIFO, which is then removed on drop.
    pub fn made(&self) -> bool {
        self.made
    }

    /// Returns true if the path still refers to this FIFO.
    fn is_there(&self) -> bool {
        statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| inode(&stat) == self.inode)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        if self.made && self.is_there() {
            let _ = unlink(&self.path);
        }
    }
}

#[allow(clippy::unnecessary_cast)] // their widths differ between architectures
fn inode(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}

fn is_fifo(path: &Path, stat: &Stat) -> Result<(), NotOpened> {
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => return Ok(()),
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Socket => "a socket",
        _ => "something else",
    };
    Err(NotOpened::NotAFifo { path: path.into(), what })
}

punctual_units::debug_as_display!(NotOpened);
