//! Allows only one deployment at a time.

use crate::error::{DeployError, errno, file};
use punctual_watchdog::{PROGRAMS, Share, lock};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code)] OwnedFd);

/// Takes the lock, waiting for another holder for at most as long as the programs that it runs may take.
pub(crate) fn take(folder: &Path) -> Result<Lock, DeployError> {
    let fd = opened(folder)?;
    lock(&fd, Share::Exclusive, PROGRAMS, &mut |_| {}).map_err(file("lock", folder))?;
    Ok(Lock(fd))
}

/// Takes the lock without waiting. Returns `None` if another process holds it.
pub(crate) fn take_if_free(folder: &Path) -> Result<Option<Lock>, DeployError> {
    let fd = opened(folder)?;
    match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Lock(fd))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(errno("lock", folder)(error)),
    }
}

fn opened(folder: &Path) -> Result<OwnedFd, DeployError> {
    open(folder, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(errno("open", folder))
}
