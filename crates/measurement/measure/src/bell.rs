//! How a measuring thread tells that a wakeup was late, without waiting for anybody.

use punctual_units::Nanos;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{read, write};
use std::io;
use std::sync::Arc;

/// An eventfd(2): rung by measuring threads, waited for by whoever cares.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

/// To be waited for beside other descriptors.
impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Bell {
    /// A bell that nobody has rung.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> io::Result<Bell> {
        Ok(Bell(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Rings; one system call that never waits.
    pub fn ring(&self) {
        // It fails only when it was rung 2^64 times and nobody came.
        let _ = write(&*self.0, &1u64.to_ne_bytes());
    }

    /// Waits until it is rung, at most so long; `true` if it was. All rings until then count as one.
    pub fn wait(&self, at_most: Option<Nanos>) -> bool {
        let limit =
            at_most.map(|ns| Timespec { tv_sec: (ns.0 / 1_000_000_000) as i64, tv_nsec: (ns.0 % 1_000_000_000) as _ });
        // A signal ends the wait early, like a time-out.
        let _ = poll(&mut [PollFd::new(&*self.0, PollFlags::IN)], limit.as_ref());
        read(&*self.0, &mut [0u8; 8]).is_ok()
    }
}
