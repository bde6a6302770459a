//! A directory held open as a descriptor.

use crate::safe::DIRECTORY_MODE;
use crate::{Error, beneath};
use punctual_uapi::{Assumed, Identity};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, fstat, mkdirat, mknodat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Mode of new files: readable by everyone, subject to the umask.
pub(crate) const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Maximum nesting depth of a recursive walk.
const DEEPEST: usize = 128;

/// A directory held open as a descriptor. Clones refer to the same directory.
#[derive(Clone, Debug)]
pub struct Dir {
    fd: Arc<OwnedFd>,
    /// Path with which the directory was opened; used only in messages.
    path: PathBuf,
    /// Identity with which the entries of the directory are accessed; `None` for the identity of the caller.
    acts_as: Option<Arc<Identity>>,
}

/// Type of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    /// A link, a device, a socket or a FIFO.
    Other,
}

impl Dir {
    pub(crate) fn new(fd: OwnedFd, path: &Path, acts_as: Option<Arc<Identity>>) -> Dir {
        Dir { fd: Arc::new(fd), path: path.into(), acts_as }
    }

    /// Makes the calling thread assume the identity of the directory's owner, if that is another user, until the
    /// returned guard is dropped. Meant for libraries that open files by path (SQLite). The thread then has access only
    /// to files that the owner could change anyway.
    ///
    /// # Errors
    /// See setfsuid(2) and setgroups(2).
    pub fn as_owner(&self) -> Result<Option<Assumed>, Error> {
        self.assume(&self.path)
    }

    pub(crate) fn assume(&self, path: &Path) -> Result<Option<Assumed>, Error> {
        assume(self.acts_as.as_deref(), path)
    }

    /// Returns the path with which the directory was opened. By now, this path may refer to another directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the parent directory, for operations on the name of this directory.
    pub(crate) fn above(&self) -> Result<Dir, Error> {
        let path = self.path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = openat(&*self.fd, c"..", flags, Mode::empty()).map_err(Error::io("open", path))?;
        Ok(Dir { fd: Arc::new(fd), path: path.into(), ..self.clone() })
    }

    /// Opens an existing subdirectory.
    ///
    /// # Errors
    /// `ELOOP` or `ENOTDIR` for a link; otherwise see open(2).
    pub fn dir(&self, name: impl AsRef<Path>) -> Result<Dir, Error> {
        let (name, path) = self.named(&name);
        let _as = self.assume(&path)?;
        let fd = self.beneath(name, OFlags::RDONLY | OFlags::DIRECTORY).map_err(Error::io("open", &path))?;
        Ok(Dir::new(fd, &path, self.acts_as.clone()))
    }

    /// Opens a subdirectory and creates it if it is missing.
    ///
    /// # Errors
    /// See mkdir(2) and [`Dir::dir`].
    pub fn make_dir(&self, name: impl AsRef<Path>) -> Result<Dir, Error> {
        let (name, path) = self.named(&name);
        {
            let _as = self.assume(&path)?;
            let mut made = PathBuf::new();
            for part in name.components() {
                made.push(part);
                let (parent, last) = self.parent(&made).map_err(Error::io("create", &path))?;
                match mkdirat(&parent, last.as_bytes(), DIRECTORY_MODE) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(Error::io("create", &path)(errno)),
                }
            }
        }
        self.dir(name)
    }

    /// Opens a regular file for reading. If the entry is a FIFO or a device, returns an error instead of blocking.
    ///
    /// # Errors
    /// [`Error::Unfit`] if it is not a regular file; otherwise see open(2).
    pub fn file(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        let (name, path) = self.named(&name);
        let _as = self.assume(&path)?;
        let fd =
            self.beneath(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(Error::io("read", &path))?;
        regular(&fd, &path)?;
        Ok(File::from(fd))
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    /// [`Error::Unfit`] if the file is larger; otherwise see [`Dir::file`].
    pub fn read(&self, name: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, Error> {
        let path = self.path.join(&name);
        let file = self.file(&name)?;
        let mut content = Vec::new();
        let failed = |source| Error::Io { doing: "read", path: path.clone(), source };
        file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
        if content.len() as u64 > limit {
            return Err(Error::Unfit {
                path,
                why: format!("it is larger than {limit} bytes, the limit for this kind of file"),
            });
        }
        Ok(content)
    }

    /// Creates a file for writing. Fails if an entry with that name exists, even if it is a link.
    ///
    /// # Errors
    /// See open(2); `EEXIST` if the entry exists.
    pub fn create_new(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        let (name, path) = self.named(&name);
        let _as = self.assume(&path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let fd = beneath::open(self.fd.as_fd(), name, flags, FILE_MODE).map_err(Error::io("create", &path))?;
        Ok(File::from(fd))
    }

    /// Opens a file for appending and creates it if it is missing.
    ///
    /// # Errors
    /// [`Error::Unfit`] if it is not a regular file, has more than one name (hard links), or belongs to another user;
    /// otherwise see open(2).
    pub fn append(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        self.existing(name.as_ref(), OFlags::WRONLY | OFlags::APPEND)
    }

    /// Opens a file that is changed in place (a lock file or a database), and creates it if it is missing.
    ///
    /// # Errors
    /// See [`Dir::append`].
    pub fn update(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        self.existing(name.as_ref(), OFlags::RDWR)
    }

    fn existing(&self, name: &Path, how: OFlags) -> Result<File, Error> {
        match self.create_new(name) {
            Err(e) if e.kind() == Some(std::io::ErrorKind::AlreadyExists) => {}
            Ok(made) if how == OFlags::RDWR => return Ok(made),
            // Reopened for appending.
            Ok(_) => {}
            refused => return refused,
        }
        let (name, path) = self.named(&name);
        let _as = self.assume(&path)?;
        let fd = self.beneath(name, how | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(Error::io("open", &path))?;
        let stat = regular(&fd, &path)?;
        let own = uid(self.acts_as.as_deref());
        let unfit = |why: String| Err(Error::Unfit { path: path.clone(), why });
        if stat.st_nlink != 1 {
            return unfit(format!(
                "it has {} names (hard links), so another file would be changed: remove it",
                stat.st_nlink
            ));
        }
        if rustix::process::geteuid().is_root() && stat.st_uid != own {
            return unfit(format!("it belongs to user {}, not to {own}: remove it", stat.st_uid));
        }
        Ok(File::from(fd))
    }

    /// Creates a FIFO.
    ///
    /// # Errors
    /// See mknod(2); `EEXIST` if the entry exists.
    pub fn make_fifo(&self, name: impl AsRef<Path>) -> Result<(), Error> {
        let (name, path) = self.named(&name);
        let _as = self.assume(&path)?;
        let (parent, last) = self.parent(name).map_err(Error::io("create", &path))?;
        mknodat(&parent, last.as_bytes(), FileType::Fifo, FILE_MODE, 0).map_err(Error::io("create", &path))
    }

    /// Opens a file that is written to and never replaced: a FIFO, a terminal or, for example, `/dev/stdout`. Without
    /// `wait`, opening a FIFO fails if no process has it open for reading. A link is followed only if it belongs to
    /// root or to the owner of the directory.
    ///
    /// # Errors
    /// [`Error::Unfit`] for a block device, for a link made by another user, and for a regular file, unless it is
    /// standard input, output or error and was reached through a link; otherwise see open(2).
    pub fn special(&self, name: impl AsRef<Path>, wait: bool) -> Result<File, Error> {
        let (name, path) = self.named(&name);
        let _as = self.assume(&path)?;
        let unfit = |why: &str| Error::Unfit { path: path.clone(), why: why.into() };
        let (parent, last) = self.parent(name).map_err(Error::io("open", &path))?;
        let stat = statat(&parent, last.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).map_err(Error::io("open", &path))?;
        let is_own = stat.st_uid == 0 || stat.st_uid == uid(self.acts_as.as_deref());
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        // A terminal may belong to anyone.
        if !is_own && FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice {
            return Err(unfit("it belongs to another user"));
        }
        let wait = if wait { OFlags::empty() } else { OFlags::NONBLOCK };
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC | wait;
        let flags = if is_link { flags } else { flags | OFlags::NOFOLLOW };
        let fd = openat(&parent, last.as_bytes(), flags, Mode::empty()).map_err(Error::io("open", &path))?;
        let opened = fstat(&fd).map_err(Error::io("examine", &path))?;
        if !is_link && (opened.st_dev, opened.st_ino) != (stat.st_dev, stat.st_ino) {
            return Err(unfit("it was replaced while it was being opened"));
        }
        match FileType::from_raw_mode(opened.st_mode) {
            FileType::Fifo | FileType::CharacterDevice => Ok(File::from(fd)),
            // `/dev/stdout`, redirected. Whoever started this process chose the open file.
            FileType::RegularFile if is_link && is_standard(&opened) => Ok(File::from(fd)),
            _ => Err(unfit("it is neither a FIFO nor a terminal")),
        }
    }

    /// Removes a file or a link, which is not followed.
    ///
    /// # Errors
    /// See unlink(2).
    pub fn remove_file(&self, name: impl AsRef<Path>) -> Result<(), Error> {
        self.unlink(name.as_ref(), AtFlags::empty())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// See rmdir(2).
    pub fn remove_dir(&self, name: impl AsRef<Path>) -> Result<(), Error> {
        self.unlink(name.as_ref(), AtFlags::REMOVEDIR)
    }

    /// Removes a file, or a directory with everything beneath it. Links are removed, not followed. It is not an error
    /// if the entry does not exist.
    ///
    /// # Errors
    /// The first error of unlink(2), rmdir(2) or getdents(2); `ELOOP` if directories are nested more than 128 deep.
    pub fn remove_all(&self, name: impl AsRef<Path>) -> Result<(), Error> {
        self.remove_beneath(name.as_ref(), DEEPEST)
    }

    fn remove_beneath(&self, name: &Path, depth: usize) -> Result<(), Error> {
        match self.kind(name)? {
            None => return Ok(()),
            Some(Kind::Directory) => {}
            Some(_) => return self.remove_file(name),
        }
        let dir = self.dir(name)?;
        let left = depth.checked_sub(1).ok_or(Errno::LOOP).map_err(Error::io("remove", dir.path()))?;
        for (entry, _) in dir.entries()? {
            dir.remove_beneath(&entry, left)?;
        }
        self.remove_dir(name)
    }

    fn unlink(&self, name: &Path, flags: AtFlags) -> Result<(), Error> {
        let (name, path) = self.named(&name);
        let _as = self.assume(&path)?;
        let (parent, last) = self.parent(name).map_err(Error::io("remove", &path))?;
        unlinkat(&parent, last.as_bytes(), flags).map_err(Error::io("remove", &path))
    }

    /// Renames an entry beneath this directory. An existing entry with the new name is replaced.
    ///
    /// # Errors
    /// See rename(2).
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), Error> {
        let ((from, path), (to, _)) = (self.named(&from), self.named(&to));
        let _as = self.assume(&path)?;
        let failed = || Error::io("rename", &path);
        let ((one, a), (two, b)) = (self.parent(from).map_err(failed())?, self.parent(to).map_err(failed())?);
        renameat(&one, a.as_bytes(), &two, b.as_bytes()).map_err(failed())
    }

    /// Returns the type of an entry, without following links; `None` if there is no such entry.
    ///
    /// # Errors
    /// See stat(2); `ENOENT` and `ENOTDIR` are not errors.
    pub fn kind(&self, name: impl AsRef<Path>) -> Result<Option<Kind>, Error> {
        let (name, path) = self.named(&name);
        let _as = self.assume(&path)?;
        let stat =
            self.parent(name).and_then(|(parent, last)| statat(&parent, last.as_bytes(), AtFlags::SYMLINK_NOFOLLOW));
        match stat {
            Ok(stat) => Ok(Some(kind(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(Error::io("examine", path)(errno)),
        }
    }

    /// Returns the user ID of the owner of an entry, without following links.
    pub(crate) fn owner_of(&self, name: &Path) -> Result<u32, Error> {
        let _as = self.assume(&self.path)?;
        let stat = statat(&*self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        Ok(stat.map_err(Error::io("examine", self.path.join(name)))?.st_uid)
    }

    /// Returns the ID of the user who will own entries that are created in this directory.
    pub(crate) fn uid(&self) -> u32 {
        uid(self.acts_as.as_deref())
    }

    /// Returns the names and types of the entries, sorted by name.
    ///
    /// # Errors
    /// See getdents(2) and stat(2).
    pub fn entries(&self) -> Result<Vec<(PathBuf, Kind)>, Error> {
        let _as = self.assume(&self.path)?;
        let listed = list(&*self.fd).map_err(Error::io("list", &self.path))?;
        Ok(listed.into_iter().map(|(name, stat)| (PathBuf::from(name), kind(&stat))).collect())
    }

    /// Returns the total size in bytes of all regular files beneath this directory. Files that disappear during the
    /// walk, cannot be examined, or are more than 128 directories deep are not counted.
    pub fn bytes(&self) -> u64 {
        let _as = self.assume(&self.path);
        bytes(&*self.fd, DEEPEST)
    }

    /// Calls fsync(2) on the directory, so that names created or changed in it survive a power failure.
    ///
    /// # Errors
    /// See fsync(2).
    pub fn sync(&self) -> Result<(), Error> {
        rustix::fs::fsync(&*self.fd).map_err(Error::io("sync", &self.path))
    }

    /// Calls fsync(2) on a file, so that its content survives a power failure.
    ///
    /// # Errors
    /// See [`Dir::file`] and fsync(2).
    pub fn sync_file(&self, name: impl AsRef<Path>) -> Result<(), Error> {
        rustix::fs::fsync(self.file(&name)?).map_err(Error::io("sync", self.path.join(&name)))
    }

    /// Calls fsync(2) on the parent directory, if it may be read, so that the name of this directory survives a power
    /// failure. Errors are ignored.
    pub fn sync_above(&self) {
        let above = openat(&*self.fd, c"..", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        // The directory exists; only its name could still be lost, which the caller accepts.
        let _ = above.and_then(rustix::fs::fsync);
    }

    /// Locks the directory (flock(2)) without waiting. The lock is released when all clones have been dropped. Returns
    /// false if another process holds a conflicting lock.
    ///
    /// # Errors
    /// See flock(2).
    pub fn lock(&self, exclusive: bool) -> Result<bool, Error> {
        let how =
            if exclusive { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
        match rustix::fs::flock(&*self.fd, how) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(errno) => Err(Error::io("lock", &self.path)(errno)),
        }
    }

    pub(crate) fn named<'a, P: AsRef<Path>>(&self, name: &'a P) -> (&'a Path, PathBuf) {
        (name.as_ref(), self.path.join(name.as_ref()))
    }

    fn beneath(&self, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        beneath::open(self.fd.as_fd(), name, flags, Mode::empty())
    }

    /// Opens the parent directory of a path. Returns the parent directory and the last component of the path.
    pub(crate) fn parent<'a>(&self, path: &'a Path) -> Result<(OwnedFd, &'a OsStr), Errno> {
        let last = path.file_name().ok_or(Errno::XDEV)?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok((self.beneath(above, OFlags::PATH | OFlags::DIRECTORY)?, last))
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

pub(crate) fn assume(identity: Option<&Identity>, path: &Path) -> Result<Option<Assumed>, Error> {
    let failed = |e: punctual_uapi::Error| {
        let source = std::io::Error::new(e.source.kind(), e);
        Error::Io { doing: "become the owner of", path: path.into(), source }
    };
    identity.map(Identity::assume).transpose().map_err(failed)
}

/// Returns the ID of the user who owns files created with this identity.
pub(crate) fn uid(acts_as: Option<&Identity>) -> u32 {
    acts_as.map_or_else(|| rustix::process::geteuid().as_raw(), |identity| identity.uid)
}

/// Returns true if standard input, output or error is this file.
fn is_standard(file: &Stat) -> bool {
    let same = |stat: Stat| (stat.st_dev, stat.st_ino) == (file.st_dev, file.st_ino);
    [fstat(std::io::stdin()), fstat(std::io::stdout()), fstat(std::io::stderr())].into_iter().flatten().any(same)
}

fn kind(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        _ => Kind::Other,
    }
}

/// Returns the names of the entries and their stat(2) data, without following links, sorted by name. Entries that
/// disappear meanwhile are omitted.
fn list(dir: impl AsFd) -> Result<Vec<(OsString, Stat)>, Errno> {
    let mut found = Vec::new();
    // Reopened, so that it has its own offset.
    let mut stream = rustix::fs::Dir::new(openat(&dir, c".", DIRECTORY, Mode::empty())?)?;
    while let Some(entry) = stream.read() {
        let entry = entry?;
        if entry.file_name() == c"." || entry.file_name() == c".." {
            continue;
        }
        match statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => found.push((OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(), stat)),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn bytes(dir: impl AsFd, depth: usize) -> u64 {
    let of = |(name, stat): (OsString, Stat)| match kind(&stat) {
        Kind::File => stat.st_size.unsigned_abs(),
        Kind::Directory if depth > 0 => {
            openat(&dir, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()).map_or(0, |dir| bytes(dir, depth - 1))
        }
        Kind::Directory => 0,
        Kind::Other => 0,
    };
    list(&dir).unwrap_or_default().into_iter().map(of).fold(0, u64::saturating_add)
}

fn regular(fd: &OwnedFd, path: &Path) -> Result<Stat, Error> {
    let stat = fstat(fd).map_err(Error::io("examine", path))?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        Ok(stat)
    } else {
        Err(Error::Unfit { path: path.into(), why: "it is not a regular file".into() })
    }
}
