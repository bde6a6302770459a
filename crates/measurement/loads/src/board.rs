//! Memory that a load shares with its parent. The load writes it, and the parent reads it without waking any thread.

use crate::LoadError;
use punctual_uapi::SharedWords;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Maximum number of kinds of work that one worker counts.
pub(crate) const UNITS: usize = 4;

/// Size of the header and of each slot in 64-bit words: a cache line of 128 bytes (Apple CPUs, and x86 CPUs that
/// prefetch pairs of lines).
const STRIDE: usize = 16;

const EPOCH: usize = 0;
const RECORDING_SINCE: usize = 1;
const GROUP: usize = 2;

const BEATS: usize = 0;
const LAST: usize = 1;
const LONGEST: usize = 2;
const SEEN_EPOCH: usize = 3;
const TID: usize = 4;
const DONE: usize = 5;

#[derive(Clone, Debug)]
pub(crate) struct Board {
    words: Arc<SharedWords>,
    slots: usize,
}

/// State that a worker has published. Times are CLOCK_MONOTONIC, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    pub beats: u64,
    pub last: u64,
    pub longest: u64,
    pub epoch: u64,
    pub tid: i32,
    pub done: [u64; UNITS],
}

impl Board {
    pub fn create(slots: usize) -> Result<(Board, OwnedFd), LoadError> {
        let (words, fd) = SharedWords::create("punctual-load", words(slots))?;
        Ok((Board { words: Arc::new(words), slots }, fd))
    }

    pub fn from_fd(fd: impl AsFd, slots: usize) -> Result<Board, LoadError> {
        Ok(Board { words: Arc::new(SharedWords::from_fd(fd, words(slots))?), slots })
    }

    pub fn slots(&self) -> usize {
        self.slots
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        &self.words.words()[at]
    }

    fn slot_word(&self, slot: usize, word: usize) -> &AtomicU64 {
        self.word((slot + 1) * STRIDE + word)
    }

    /// Starts a recording at `now`: earlier intervals in which workers made no progress are discarded.
    pub fn start_recording(&self, now: u64) {
        self.word(RECORDING_SINCE).store(now, Relaxed);
        self.word(EPOCH).fetch_add(1, Release);
    }

    /// Returns the number of the recording and its start, CLOCK_MONOTONIC, ns.
    pub fn recording(&self) -> (u64, u64) {
        let epoch = self.word(EPOCH).load(Acquire);
        (epoch, self.word(RECORDING_SINCE).load(Relaxed))
    }

    /// Sets the process group of a command. The parent kills it if the load dies first.
    pub fn set_group(&self, pgid: i32) {
        self.word(GROUP).store(pgid as u64, Relaxed);
    }

    pub fn group(&self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(self.word(GROUP).load(Relaxed) as i32)
    }

    pub fn read(&self, slot: usize) -> Slot {
        let word = |w| self.slot_word(slot, w).load(Relaxed);
        Slot {
            beats: self.slot_word(slot, BEATS).load(Acquire),
            last: word(LAST),
            longest: word(LONGEST),
            epoch: word(SEEN_EPOCH),
            tid: word(TID) as i32,
            done: std::array::from_fn(|i| word(DONE + i)),
        }
    }

    pub fn write(&self, slot: usize, values: &Slot) {
        let word = |w, value| self.slot_word(slot, w).store(value, Relaxed);
        word(LAST, values.last);
        word(LONGEST, values.longest);
        word(SEEN_EPOCH, values.epoch);
        word(TID, values.tid as u64);
        for (i, done) in values.done.iter().enumerate() {
            word(DONE + i, *done);
        }
        self.slot_word(slot, BEATS).store(values.beats, Release);
    }
}

fn words(slots: usize) -> usize {
    (slots + 1) * STRIDE
}

/// Returns the current time on CLOCK_MONOTONIC, ns.
pub(crate) fn now() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap() {
        let (board, fd) = Board::create(3).unwrap();
        let theirs = Board::from_fd(&fd, 3).unwrap();
        let values = |n: u64| Slot { beats: n, last: n + 1, longest: n + 2, epoch: n + 3, tid: 9, done: [n; UNITS] };
        for slot in 0..3 {
            theirs.write(slot, &values(100 * slot as u64));
        }
        board.start_recording(77);
        for slot in 0..3 {
            assert_eq!(board.read(slot), values(100 * slot as u64));
        }
        assert_eq!(theirs.recording(), (1, 77));
        assert_eq!(theirs.group(), None);
    }
}
