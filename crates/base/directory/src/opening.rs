//! Opens directories, and checks the owner and the path.

use crate::dir::{DIRECTORY, assume, uid};
use crate::{Dir, Error, Whose, safe, whose};
use punctual_uapi::Identity;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, fstat, openat};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Dir {
    /// Opens a directory for reading, and for writing with the caller's permissions. Symbolic links in the path are
    /// followed, because the caller chose the path.
    ///
    /// # Errors
    /// See open(2).
    pub fn open(path: &Path) -> Result<Dir, Error> {
        let fd = openat(CWD, path, DIRECTORY, Mode::empty());
        Ok(Dir::new(fd.map_err(Error::io("open", path))?, path, None))
    }

    /// Wraps the descriptor of a directory that another process opened. If this process is root, it accesses the
    /// contents as the user who owns the directory.
    ///
    /// # Errors
    /// See fstat(2); [`Error::Unfit`] if it is not a directory.
    pub fn inherited(fd: OwnedFd, path: &Path) -> Result<Dir, Error> {
        let stat = fstat(&fd).map_err(Error::io("examine", path))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Err(Error::Unfit { path: path.into(), why: "it is not a directory".into() });
        }
        Ok(Dir::new(fd, path, whose::of_owner(stat.st_uid)))
    }

    /// Returns the directory of a file to be written, and the name of the file. Root writes to a directory of another
    /// user as that user.
    ///
    /// # Errors
    /// [`Error::Exposed`] if the process is root and another user can redirect the path to a directory that belongs to
    /// someone else; [`Error::Unfit`] if the path has no file name; otherwise see open(2).
    pub fn of_file(path: &Path) -> Result<(Dir, PathBuf), Error> {
        let name =
            path.file_name().ok_or_else(|| Error::Unfit { path: path.into(), why: "it has no file name".into() })?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !rustix::process::geteuid().is_root() {
            return Ok((Dir::open(above)?, name.into()));
        }
        let fd = safe::follow(above)?;
        let stat = fstat(&fd).map_err(Error::io("open", above))?;
        let shared = Mode::from_raw_mode(stat.st_mode).contains(Mode::SVTX);
        let acts_as = whose::of_owner(stat.st_uid)
            .or_else(|| Whose::Results.owner().filter(|_| shared).map(|owner| owner.identity.clone()));
        Ok((Dir::new(fd, above, acts_as), name.into()))
    }

    /// Opens a directory for writing, and creates it and its missing parents.
    ///
    /// # Errors
    /// [`Error::Exposed`] if the process is root and another user can change the directory or one of its parents;
    /// [`Error::Unfit`] if it belongs to another user; otherwise see mkdir(2) and open(2).
    pub fn create(path: &Path, whose: Whose) -> Result<Dir, Error> {
        Dir::writable(path, whose, true)
    }

    /// Like [`Dir::create`], for an existing directory.
    ///
    /// # Errors
    /// See [`Dir::create`].
    pub fn open_to_write(path: &Path, whose: Whose) -> Result<Dir, Error> {
        Dir::writable(path, whose, false)
    }

    fn writable(path: &Path, whose: Whose, make: bool) -> Result<Dir, Error> {
        let as_root = || {
            let opened = safe::open(path, make).map_err(|refused| match (refused, whose) {
                // `--owner` applies to results only.
                (Error::Exposed { path, why, .. }, Whose::System) => Error::Exposed { path, why, owner: None },
                (refused, _) => refused,
            });
            Ok(Dir::new(opened?, path, None))
        };
        match whose.owner() {
            None if rustix::process::geteuid().is_root() => as_root(),
            None => Dir::of_user(path, None, make),
            Some(owner) => match Dir::of_user(path, Some(owner.identity.clone()), make) {
                Err(refused) if !owner.named && refused.is_for_want_of_rights() => as_root().map_err(|e| match e {
                    Error::Exposed { owner: Some(_), .. } => e,
                    _ => refused,
                }),
                opened => opened,
            },
        }
    }

    /// Opens a directory with the permissions of `user`, so that only files that this user could change anyway can be
    /// reached.
    fn of_user(path: &Path, user: Option<Arc<Identity>>, make: bool) -> Result<Dir, Error> {
        let _as = assume(user.as_deref(), path)?;
        if make {
            make_all(path)?;
        }
        let fd = openat(CWD, path, DIRECTORY, Mode::empty()).map_err(Error::io("open", path))?;
        let owner = fstat(&fd).map_err(Error::io("open", path))?.st_uid;
        let wanted = uid(user.as_deref());
        // An ordinary user has no more permissions than the owner; some file systems (vfat, NFS) report another owner.
        if user.is_some() && owner != wanted {
            let why = format!("it belongs to user {owner}, not to {wanted}: choose another directory, or a new one");
            return Err(Error::Unfit { path: path.into(), why });
        }
        Ok(Dir::new(fd, path, user))
    }
}

/// Creates a directory and its missing parents with the permissions of the calling thread.
fn make_all(path: &Path) -> Result<(), Error> {
    let made = |source| Error::Io { doing: "create", path: path.into(), source };
    std::fs::DirBuilder::new().recursive(true).create(path).map_err(made)
}
