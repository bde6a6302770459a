//! Lets a measuring thread report a late wakeup without blocking.

use punctual_units::Nanos;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{read, write};
use std::io;
use std::sync::Arc;

/// An eventfd(2) to which measuring threads write.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Bell {
    /// Creates a bell.
    ///
    /// # Errors
    /// No file descriptor is available.
    pub fn new() -> io::Result<Bell> {
        Ok(Bell(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Signals the waiting thread with one system call that never blocks.
    pub fn ring(&self) {
        // write(2) fails only after 2^64 signals that nobody has read.
        let _ = write(&*self.0, &1u64.to_ne_bytes());
    }

    /// Waits for a signal for at most the time `at_most`, or without limit if it is `None`. Returns true if there was
    /// one; several signals count as one.
    pub fn wait(&self, at_most: Option<Nanos>) -> bool {
        let limit =
            at_most.map(|ns| Timespec { tv_sec: (ns.0 / 1_000_000_000) as i64, tv_nsec: (ns.0 % 1_000_000_000) as _ });
        // A signal ends the wait early, as a timeout does.
        let _ = poll(&mut [PollFd::new(&*self.0, PollFlags::IN)], limit.as_ref());
        read(&*self.0, &mut [0u8; 8]).is_ok()
    }
}
