//! Pipes between a real-time thread and the shell: a ring and an eventfd on the real-time side, a FIFO on the other,
//! and a bridge thread between them.

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

/// Counters of a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PipeCounts {
    /// Number of frames read from the FIFO and passed to the real-time side.
    pub received: u64,
    /// Number of frames from the real-time side that were written to the FIFO.
    pub sent: u64,
    /// Number of frames dropped because the ring was full.
    pub dropped: u64,
    /// Number of frames returned to the real-time sender because the ring was full ([`Overflow::Refuse`]).
    pub refused: u64,
    /// Number of parts of the input that were skipped because they were not a frame.
    pub malformed: u64,
}

/// Creates a pipe for commands from the shell to a real-time thread: `echo d21 > /run/rtp1`.
///
/// The ring holds `N` frames. The receiver never touches the FIFO, and never waits for its writers. The bridge is a
/// thread under SCHED_OTHER that opens the FIFO for reading and writing, so that it does not see an end of file when a
/// writer closes the FIFO. With [`Overflow::DropNewest`], frames that do not fit are dropped and counted; with
/// [`Overflow::Refuse`], the bridge stops reading until there is room, and the FIFO's writers wait. A FIFO has one
/// direction: for answers use a second FIFO, with [`pipe_out`].
///
/// If the FIFO does not exist, it is created (mode 660, less the umask) and removed with the [`Bridge`]. An existing
/// FIFO, which a killed program left or the user created, is used and left in place. Any other file, and a FIFO used by
/// another running program (flock(2)), is refused.
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

/// Creates a pipe for text from a real-time thread to the shell: `cat /run/rtp2`. See [`pipe`] for the FIFO and the
/// bridge.
///
/// The sender queues frames, which the bridge formats. While no program reads the FIFO, it holds up to 64 KiB of text,
/// and further frames wait in the ring; when the ring is full, `overflow` applies.
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
    /// Takes the oldest frame, if there is one. Wait-free, no system call.
    pub fn receive(&mut self) -> Option<T> {
        self.receiver.receive()
    }

    /// Takes the oldest frame; sleeps until there is one (poll(2) on the eventfd), at most until `until` on
    /// CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`TimedOut`] if no frame arrived before `until`.
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
            // A signal and the time limit are both handled above.
            let _ = poll(&mut fds, Some(&timespec(left)));
        }
    }

    /// Makes the eventfd ([`AsFd`]) unreadable until the next frame arrives. To wait with poll(2): call this, then
    /// [`RtReceiver::receive`] until it returns `None`, then poll.
    pub fn clear(&self) {
        // EAGAIN means that it was not readable.
        let _ = read(&self.common.event, &mut [0u8; 8]);
    }

    /// Returns the current counters.
    pub fn counts(&self) -> PipeCounts {
        self.common.counts()
    }
}

/// The eventfd is readable when frames have arrived. Use it to wait for the pipe together with other descriptors:
/// epoll(7).
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
    /// Queues a frame for the bridge. Never blocks; makes a system call (write(2) to an eventfd) if the bridge sleeps.
    ///
    /// # Errors
    /// [`Full`]; only with [`Overflow::Refuse`].
    pub fn send(&mut self, frame: T) -> Result<(), Full<T>> {
        let sent = self.sender.send(frame);
        let counts = self.sender.counts();
        self.common.dropped.store(counts.dropped, Relaxed);
        self.common.refused.store(counts.refused, Relaxed);
        // The bridge sets `asleep` before it checks the ring again, so one of the two sees the other's store.
        fence(SeqCst);
        if self.common.asleep.load(Relaxed) && self.common.asleep.swap(false, Relaxed) {
            wake(&self.common.event);
        }
        sent
    }

    /// Returns the current counters.
    pub fn counts(&self) -> PipeCounts {
        self.common.counts()
    }
}

/// Adds one to a non-blocking eventfd. The write fails if the counter is at its maximum, which is harmless: the eventfd
/// is readable then.
fn wake(event: &OwnedFd) {
    let _ = write(event, &1u64.to_ne_bytes());
}

/// The ordinary end of a pipe: its thread and its FIFO. Dropping it writes the remaining frames that fit, stops the
/// thread, and removes the FIFO if this program created it.
#[derive(Debug)]
#[must_use = "the pipe is closed as soon as this is dropped"]
pub struct Bridge {
    common: Arc<Common>,
    fifo: Fifo,
    thread: Option<JoinHandle<()>>,
}

impl Bridge {
    /// Returns the path of the FIFO.
    pub fn path(&self) -> &Path {
        self.fifo.path()
    }

    /// Returns true if this program created the FIFO, which is then removed on drop; false if it existed before.
    pub fn made(&self) -> bool {
        self.fifo.made()
    }

    /// Returns the current counters.
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
