//! One deployment at a time.

use crate::error::{DeployError, errno};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code)] OwnedFd);

/// Waits for another holder, or fails.
pub(crate) fn take(folder: &Path, wait: bool) -> Result<Lock, DeployError> {
    let fd = open(folder, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(errno("open", folder))?;
    let how = if wait { FlockOperation::LockExclusive } else { FlockOperation::NonBlockingLockExclusive };
    match flock(&fd, how) {
        Ok(()) => Ok(Lock(fd)),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(DeployError::Refused(
            "another deployment is under way: wait for it, `punctual kernel status` shows it".to_owned(),
        )),
        Err(error) => Err(errno("lock", folder)(error)),
    }
}
