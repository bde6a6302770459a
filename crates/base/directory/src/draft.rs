//! Files that other processes see either complete or not at all.

use crate::dir::{DIRECTORY, FILE_MODE};
use crate::{Dir, Error};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, RenameFlags, flock, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file with a temporary name. It is removed on drop unless it was published with [`Draft::publish`].
#[derive(Debug)]
pub struct Draft {
    dir: Dir,
    parent: OwnedFd,
    file: File,
    temporary: Vec<u8>,
    name: PathBuf,
    published: bool,
}

impl Dir {
    /// Creates a file with a temporary name. It gets its final name when it is complete, see [`Draft::publish`].
    ///
    /// # Errors
    /// See open(2).
    pub fn draft(&self, name: impl AsRef<Path>) -> Result<Draft, Error> {
        let (name, path) = self.named(&name);
        let _as = self.assume(&path)?;
        let (parent, _) = self.parent(name).map_err(Error::io("create", &path))?;
        // The name is unique, so that two writers of the same file do not collide, and short, so that a long file name
        // still fits.
        for _ in 0..8 {
            let temporary = [b".", &random()[..], b".new"].concat();
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&parent, &temporary[..], flags, FILE_MODE) {
                Ok(fd) => {
                    // The lock is for [`Dir::remove_stale_drafts`]. On a file system without locks, no draft is ever
                    // stale.
                    let _ = flock(&fd, FlockOperation::NonBlockingLockExclusive);
                    let (dir, name) = (self.clone(), name.to_owned());
                    return Ok(Draft { dir, parent, file: File::from(fd), temporary, name, published: false });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(Error::io("create", &path)(errno)),
            }
        }
        Err(Error::io("create", &path)(Errno::EXIST))
    }

    /// Replaces a file atomically: readers see either the complete old content or the complete new content. A link with
    /// that name is replaced, not followed. With `sync`, content and name survive a power failure.
    ///
    /// # Errors
    /// See [`Dir::draft`], write(2) and rename(2). After an error the old file still exists.
    pub fn replace(&self, name: impl AsRef<Path>, content: &[u8], sync: bool) -> Result<(), Error> {
        let path = self.path().join(&name);
        let mut draft = self.draft(&name)?;
        let failed = |source| Error::Io { doing: "write", path: path.clone(), source };
        draft.file.write_all(content).map_err(failed)?;
        draft.publish(sync)
    }
}

impl Draft {
    /// Renames the file to its final name and replaces an existing file with that name. With `sync`, content and name
    /// survive a power failure.
    ///
    /// # Errors
    /// See fsync(2) and rename(2). If one of them fails, the draft is removed.
    pub fn publish(self, sync: bool) -> Result<(), Error> {
        self.finish(sync, false)
    }

    /// Like [`Draft::publish`], but fails if the name exists.
    ///
    /// # Errors
    /// `EEXIST` if the name exists; otherwise see [`Draft::publish`].
    pub fn publish_new(self, sync: bool) -> Result<(), Error> {
        self.finish(sync, true)
    }

    fn finish(mut self, sync: bool, new: bool) -> Result<(), Error> {
        let path = self.dir.path().join(&self.name);
        if sync {
            rustix::fs::fsync(&self.file).map_err(Error::io("sync", &path))?;
        }
        let name = self.name.file_name().unwrap_or_default().as_bytes();
        {
            let _as = self.dir.assume(&path)?;
            let temporary = &self.temporary[..];
            let renamed = || renameat(&self.parent, temporary, &self.parent, name);
            let is_free = || statat(&self.parent, name, AtFlags::SYMLINK_NOFOLLOW).err() == Some(Errno::NOENT);
            let done = match new {
                false => renamed(),
                true => match renameat_with(&self.parent, temporary, &self.parent, name, RenameFlags::NOREPLACE) {
                    // The file system does not support the flags of renameat2(2), or a seccomp filter blocks it; the
                    // name was free just before.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) if is_free() => renamed(),
                    Err(Errno::INVAL | Errno::NOSYS) => Err(Errno::EXIST),
                    done => done,
                },
            };
            done.map_err(Error::io("write", &path))?;
        }
        self.published = true;
        if sync {
            // The descriptor is O_PATH, which fsync(2) refuses.
            let parent = openat(&self.parent, c".", DIRECTORY, Mode::empty());
            parent.and_then(rustix::fs::fsync).map_err(Error::io("sync", &path))?;
        }
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Draft {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.published {
            // The draft is incomplete and useless. If it cannot be removed, the next draft of that name replaces it.
            let _as = self.dir.assume(self.dir.path());
            let _ = unlinkat(&self.parent, &self.temporary[..], AtFlags::empty());
        }
    }
}

pub(crate) fn random() -> [u8; 16] {
    let mut bytes = [0; 8];
    // Without randomness the name repeats, and the caller gives up after its last attempt.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    let mut hex = [0; 16];
    for (two, byte) in hex.chunks_mut(2).zip(bytes) {
        for (digit, half) in two.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = char::from_digit(half.into(), 16).map_or(b'0', |c| c as u8);
        }
    }
    hex
}
