//! Pipes between a real-time thread and the shell: a ring and an eventfd on one side, a FIFO on the other, a bridge between them.

mod bridge;
mod fifo;
mod frame;

pub use fifo::{At, Fifo, NotOpened};
pub use frame::{Frame, Line, Parsed};

use super::queue::Full;
use super::{Overflow, ordinary, queue};
use crate::clock::{monotonic, timespec};
use crate::sync::TimedOut;
use crate::{Receiver, Sender};
use bridge::Common;
use punctual_units::Nanos;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{read, write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;
use std::thread::JoinHandle;

/// What a pipe has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PipeCounts {
    /// Frames read from the FIFO and handed to the real-time side.
    pub received: u64,
    /// Frames of the real-time side written to the FIFO.
    pub sent: u64,
    /// Frames dropped for want of room in the ring.
    pub dropped: u64,
    /// Frames that went back to the real-time sender for want of room ([`Overflow::Refuse`]).
    pub refused: u64,
    /// Pieces of input that were no frame.
    pub malformed: u64,
}

/// Commands from the shell to a real-time thread: `echo d21 > /run/rtp1`.
///
/// `N` frames fit between the two ends. The receiver never touches the FIFO, nor waits for who writes into it. The bridge is a thread under
/// SCHED_OTHER that opens the FIFO for reading and writing, so that a writer that leaves is no end of file. With
/// [`Overflow::DropNewest`] frames without room are dropped and counted; with [`Overflow::Refuse`] the bridge stops reading until
/// there is room, and the FIFO's writers wait. A FIFO carries one direction: for answers make another with [`pipe_out`].
///
/// The FIFO is made where there is none (mode 660, less the umask) and removed with the [`Bridge`]. One that is there, of a killed run or
/// made by hand, is taken over and left. One that another running program has (flock(2)) is refused, and so is everything that is no FIFO.
///
/// # Errors
/// [`NotOpened`].
pub fn pipe<T: Frame, const N: usize>(
    at: impl Into<At>,
    overflow: Overflow,
) -> Result<(RtReceiver<T>, Bridge), NotOpened> {
    let (sender, receiver) = queue::<T>(N, overflow)?;
    let (fifo, common) = begin(at.into())?;
    let theirs = common.clone();
    let fd = fifo.fd()?;
    let thread = ordinary::spawn("pipe", move || bridge::carry_in(&theirs, &fd, sender)).map_err(NotOpened::Thread)?;
    Ok((RtReceiver { receiver, common: common.clone() }, Bridge { common, fifo, thread: Some(thread) }))
}

/// Text from a real-time thread to the shell: `cat /run/rtp2`. Otherwise as [`pipe`].
///
/// The sender leaves frames; the bridge makes text of them. What nobody reads stays in the FIFO (64 KiB), then in the ring, and then
/// `overflow` decides.
///
/// # Errors
/// [`NotOpened`].
pub fn pipe_out<T: Frame, const N: usize>(
    at: impl Into<At>,
    overflow: Overflow,
) -> Result<(RtSender<T>, Bridge), NotOpened> {
    let (sender, receiver) = queue::<T>(N, overflow)?;
    let (fifo, common) = begin(at.into())?;
    let theirs = common.clone();
    let fd = fifo.fd()?;
    let thread =
        ordinary::spawn("pipe", move || bridge::carry_out(&theirs, &fd, receiver)).map_err(NotOpened::Thread)?;
    Ok((RtSender { sender, common: common.clone() }, Bridge { common, fifo, thread: Some(thread) }))
}

fn begin(at: At) -> Result<(Fifo, Arc<Common>), NotOpened> {
    let fifo = Fifo::open(at)?;
    let event = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(NotOpened::Event);
    Ok((fifo, Arc::new(Common::new(event()?, event()?))))
}

/// The real-time end of a [`pipe`].
#[derive(Debug)]
pub struct RtReceiver<T> {
    receiver: Receiver<T>,
    common: Arc<Common>,
}

impl<T> RtReceiver<T> {
    /// The oldest frame, where there is one. Wait-free, no system call.
    pub fn receive(&mut self) -> Option<T> {
        self.receiver.receive()
    }

    /// The oldest frame; sleeps until there is one (poll(2) on the eventfd), or until `until` on CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`TimedOut`].
    pub fn receive_until(&mut self, until: Nanos) -> Result<T, TimedOut> {
        loop {
            if let Some(frame) = self.receive() {
                return Ok(frame);
            }
            self.clear();
            if let Some(frame) = self.receive() {
                return Ok(frame);
            }
            let left = until.saturating_sub(monotonic());
            if left == Nanos::ZERO {
                return Err(TimedOut);
            }
            let mut fds = [PollFd::new(&self.common.event, PollFlags::IN)];
            // A signal or the time: both are looked at above.
            let _ = poll(&mut fds, Some(&timespec(left)));
        }
    }

    /// Makes the descriptor ([`AsFd`]) not readable until the next frame: call it, then [`RtReceiver::receive`] until `None`, then poll.
    pub fn clear(&self) {
        // EAGAIN: it was not readable.
        let _ = read(&self.common.event, &mut [0u8; 8]);
    }

    /// What the pipe has seen.
    pub fn counts(&self) -> PipeCounts {
        self.common.counts()
    }
}

/// The eventfd, readable when frames have come: for epoll(7) together with other descriptors.
impl<T> AsFd for RtReceiver<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.common.event.as_fd()
    }
}

/// The real-time end of a [`pipe_out`].
#[derive(Debug)]
pub struct RtSender<T> {
    sender: Sender<T>,
    common: Arc<Common>,
}

impl<T> RtSender<T> {
    /// Leaves a frame for the bridge. Never blocks; a system call (write(2) to an eventfd) where the bridge sleeps.
    ///
    /// # Errors
    /// [`Full`], with [`Overflow::Refuse`] only.
    pub fn send(&mut self, frame: T) -> Result<(), Full<T>> {
        let sent = self.sender.send(frame);
        let counts = self.sender.counts();
        self.common.dropped.store(counts.dropped, Relaxed);
        self.common.refused.store(counts.refused, Relaxed);
        // The bridge says that it sleeps before it looks into the ring once more: one of the two sees the other.
        fence(SeqCst);
        if self.common.asleep.load(Relaxed) && self.common.asleep.swap(false, Relaxed) {
            wake(&self.common.event);
        }
        sent
    }

    /// What the pipe has seen.
    pub fn counts(&self) -> PipeCounts {
        self.common.counts()
    }
}

/// Adds one to an eventfd. It is not blocking: where the count is at its most, it is readable anyway.
fn wake(event: &OwnedFd) {
    let _ = write(event, &1u64.to_ne_bytes());
}

/// The ordinary end of a pipe: its thread and its FIFO. Dropping it writes what is left where there is room, stops the thread, and
/// removes the FIFO where it was made by us.
#[derive(Debug)]
#[must_use = "the pipe closes at once"]
pub struct Bridge {
    common: Arc<Common>,
    fifo: Fifo,
    thread: Option<JoinHandle<()>>,
}

impl Bridge {
    /// Where the FIFO is.
    pub fn path(&self) -> &Path {
        self.fifo.path()
    }

    /// Was it made, and will it be removed? Otherwise it was there already.
    pub fn made(&self) -> bool {
        self.fifo.made()
    }

    /// What the pipe has seen.
    pub fn counts(&self) -> PipeCounts {
        self.common.counts()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        wake(&self.common.stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
