//! The FIFO: found or made, ours alone, removed where made.

use crate::CapacityError;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, mknodat, open, statat, unlink,
};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// Where a FIFO is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Under /run, by name: gone after a reboot.
    Run(String),
    /// Under /dev, as Xenomai's pipes are: `rtp1` is /dev/rtp1.
    Dev(String),
    /// Anywhere.
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

/// A name is under /run, everything with a slash is a path.
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

/// Why there is no pipe.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// The capacity or the policy.
    #[error(transparent)]
    Capacity(#[from] CapacityError),
    /// Something else has the name.
    #[error("{} is {what}, not a FIFO; see `ls -l {}`, then remove it or give another name", path.display(), path.display())]
    NotAFifo {
        /// Where.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Another program has it.
    #[error("{} belongs to another running program; see `fuser -v {}`, then end it or give another name", path.display(), path.display())]
    InUse {
        /// Where.
        path: PathBuf,
    },
    /// A system call refused.
    #[error("{call}({}): {source}; see `ls -ld {}`: the folder must exist and be writable, or give another path",
            path.display(), path.parent().unwrap_or(path).display())]
    Refused {
        /// Which.
        call: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: Errno,
    },
    /// No eventfd: eventfd(2).
    #[error("eventfd(): {0}; see `ulimit -n`")]
    Event(Errno),
    /// No thread.
    #[error("the bridge's thread cannot be started: {0}; see `ulimit -u`")]
    Thread(io::Error),
}

/// A FIFO that this program alone reads or alone writes (flock(2)), open for both, so that the other ends may come and go; not blocking.
/// For programs whose bridge is their own; [`pipe`](crate::pipe) and [`pipe_out`](crate::pipe_out) have one.
///
/// It is made where there is none (mode 660, less the umask) and then removed when this is dropped; one that is there is taken over and left.
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
    /// Makes or takes over the FIFO.
    ///
    /// # Errors
    /// [`NotOpened`]: another program has it, it is no FIFO, or the system refuses.
    pub fn open(at: impl Into<At>) -> Result<Fifo, NotOpened> {
        let path = at.into().path();
        // A program that ends just now removes what we have opened: then once more.
        for _ in 0..8 {
            if let Some(fifo) = Fifo::try_open(&path)? {
                return Ok(fifo);
            }
        }
        Err(NotOpened::InUse { path })
    }

    /// `None`: it was removed meanwhile.
    fn try_open(path: &Path) -> Result<Option<Fifo>, NotOpened> {
        let refused = |call| move |source| NotOpened::Refused { call, path: path.into(), source };
        let made = match mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o660), 0) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(source) => return Err(refused("mknod")(source)),
        };
        // Looked at before it is opened: opening a device can do things.
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

    /// A second descriptor, for the bridge's thread.
    pub(super) fn fd(&self) -> Result<OwnedFd, NotOpened> {
        let refused = |source| NotOpened::Refused { call: "fcntl", path: self.path.clone(), source };
        rustix::io::fcntl_dupfd_cloexec(&self.fd, 0).map_err(refused)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Was it made, and will it be removed?
    pub fn made(&self) -> bool {
        self.made
    }

    /// Does the name still mean this FIFO?
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
