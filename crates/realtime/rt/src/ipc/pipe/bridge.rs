//! The ordinary thread that moves frames between the ring and the FIFO of a pipe.

use super::PipeCounts;
use super::frame::{Decoder, Frame, MAX_INPUT};
use super::wake;
use crate::clock::timespec;
use crate::{Full, Receiver, Sender};
use punctual_units::Nanos;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::{read, write};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};

/// Interval at which the bridge polls for room in a ring whose reader does not wake it.
const LOOK_AGAIN: Nanos = Nanos::from_millis(1);

/// State shared by the real-time end of a pipe and its bridge.
#[derive(Debug)]
pub(super) struct Common {
    /// An eventfd. For input it signals that frames have arrived; for output it wakes the sleeping bridge.
    pub(super) event: OwnedFd,
    pub(super) stop: OwnedFd,
    pub(super) asleep: AtomicBool,
    pub(super) dropped: AtomicU64,
    pub(super) refused: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    malformed: AtomicU64,
}

impl Common {
    pub(super) fn new(event: OwnedFd, stop: OwnedFd) -> Common {
        let zero = || AtomicU64::new(0);
        Common {
            event,
            stop,
            asleep: AtomicBool::new(false),
            dropped: zero(),
            refused: zero(),
            received: zero(),
            sent: zero(),
            malformed: zero(),
        }
    }

    pub(super) fn counts(&self) -> PipeCounts {
        PipeCounts {
            received: self.received.load(Relaxed),
            sent: self.sent.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            refused: self.refused.load(Relaxed),
            malformed: self.malformed.load(Relaxed),
        }
    }

    /// Sleeps until `fd` has one of the events in `events`, or the time limit passes. Returns `false` if the bridge
    /// should stop.
    fn wait(&self, fd: &OwnedFd, events: PollFlags, time: Option<Nanos>) -> bool {
        let mut fds = [PollFd::new(&self.stop, PollFlags::IN), PollFd::new(fd, events)];
        // EINTR needs no handling: the callers check again.
        let _ = poll(&mut fds, time.map(timespec).as_ref());
        fds[0].revents().is_empty()
    }
}

/// Moves frames from the FIFO into the ring until the bridge is stopped.
pub(super) fn carry_in<T: Frame>(common: &Common, fifo: &OwnedFd, mut ring: Sender<T>) {
    let mut decoder = Decoder::default();
    let mut refused = None;
    let mut bytes = [0; MAX_INPUT];
    loop {
        let goes_on = match refused {
            None => common.wait(fifo, PollFlags::IN, None),
            // The FIFO is not read meanwhile: it fills up, and its writers wait.
            Some(_) => common.wait(fifo, PollFlags::empty(), Some(LOOK_AGAIN)),
        };
        if !goes_on {
            return;
        }
        if refused.is_none() {
            let room = decoder.room();
            let got = read(fifo, &mut bytes[..room]).unwrap_or(0);
            decoder.feed(&bytes[..got]);
        }
        let before = ring.counts().sent;
        while let Some(frame) = refused.take().or_else(|| decoder.next::<T>()) {
            if let Err(Full(frame)) = ring.send(frame) {
                refused = Some(frame);
                break;
            }
        }
        let counts = ring.counts();
        common.received.store(counts.sent, Relaxed);
        common.dropped.store(counts.dropped, Relaxed);
        common.malformed.store(decoder.malformed, Relaxed);
        if counts.sent > before {
            wake(&common.event);
        }
    }
}

/// Moves frames from the ring into the FIFO until the bridge is stopped; then writes the remaining frames that fit.
pub(super) fn carry_out<T: Frame>(common: &Common, fifo: &OwnedFd, mut ring: Receiver<T>) {
    let mut batch = Batch::default();
    let mut goes_on = true;
    loop {
        batch.fill(&mut ring);
        if batch.bytes.is_empty() {
            if !goes_on {
                return;
            }
            goes_on = sleep(common, &ring);
        } else if batch.write(fifo) {
            common.sent.fetch_add(std::mem::take(&mut batch.frames), Relaxed);
        } else if !goes_on {
            return;
        } else {
            goes_on = common.wait(fifo, PollFlags::OUT, None);
        }
    }
}

/// Sleeps until the sender wakes it. Returns `false` if the bridge should stop.
fn sleep<T>(common: &Common, ring: &Receiver<T>) -> bool {
    common.asleep.store(true, SeqCst);
    fence(SeqCst);
    // Do not sleep if frames arrived before the sender could see the flag.
    let goes_on = ring.waiting() > 0 || common.wait(&common.event, PollFlags::IN, None);
    common.asleep.store(false, SeqCst);
    let _ = read(&common.event, &mut [0u8; 8]);
    goes_on
}

/// Text that is ready to be written to the FIFO.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    written: usize,
    frames: u64,
}

impl Batch {
    /// Takes frames from the ring if all previous text has been written.
    fn fill<T: Frame>(&mut self, ring: &mut Receiver<T>) {
        if !self.bytes.is_empty() {
            return;
        }
        while self.bytes.len() < MAX_INPUT {
            let Some(frame) = ring.receive() else { return };
            frame.write(&mut self.bytes);
            self.frames += 1;
        }
    }

    /// Writes as much as fits. Returns `true` if everything is written.
    fn write(&mut self, fifo: &OwnedFd) -> bool {
        while self.written < self.bytes.len() {
            match write(fifo, &self.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(_) => return false,
            }
        }
        self.bytes.clear();
        self.written = 0;
        true
    }
}
