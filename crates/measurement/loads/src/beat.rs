use crate::board::{Board, Slot, now};

/// Publishes the progress of a worker. A beat is one completed unit of real work.
pub(crate) struct Beat {
    board: Board,
    slot: usize,
    pending: Slot,
}

/// During the first [`REST`] ns of every [`EVERY`] ns of CLOCK_MONOTONIC, all CPU-bound workers pause.
///
/// This leaves 1 % of the CPU time to other tasks. Without this pause, Linux 6.18 with fair group scheduling
/// (autogroups, cgroups) can starve kernel threads while groups that never sleep are runnable, so that disks do not
/// respond ("workqueue lockup - pool stuck for 49s", observed on 6.18.44).
const EVERY: u64 = 100_000_000;
const REST: u64 = 1_000_000;

impl Beat {
    pub fn new(board: Board, slot: usize) -> Beat {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        Beat { pending: Slot { last: now(), tid, ..Slot::default() }, board, slot }
    }

    /// Adds `amount` to the count of `unit`, which is published with the next beat.
    pub fn count(&mut self, unit: usize, amount: u64) {
        self.pending.done[unit] += amount;
    }

    /// Sets the count of `unit`, which is published with the next beat.
    pub fn total(&mut self, unit: usize, amount: u64) {
        self.pending.done[unit] = amount.max(self.pending.done[unit]);
    }

    /// Sets the process group that the parent kills if this process dies first.
    pub fn set_group(&self, pgid: i32) {
        self.board.set_group(pgid);
    }

    pub fn beat(&mut self) {
        self.beat_at(now());
    }

    /// Like [`Beat::beat`], for CPU-bound work: also pauses when all such workers pause.
    pub fn beat_and_rest(&mut self) {
        self.beat();
        let left = rest(self.pending.last);
        if left > 0 {
            std::thread::sleep(std::time::Duration::from_nanos(left));
        }
    }

    fn beat_at(&mut self, now: u64) {
        let (epoch, since) = self.board.recording();
        if epoch != self.pending.epoch {
            self.pending.epoch = epoch;
            self.pending.longest = 0;
            self.pending.last = self.pending.last.max(since);
        }
        self.pending.longest = self.pending.longest.max(now.saturating_sub(self.pending.last));
        self.pending.last = now;
        self.pending.beats += 1;
        self.board.write(self.slot, &self.pending);
    }
}

fn rest(now: u64) -> u64 {
    REST.saturating_sub(now % EVERY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rest_at_the_same_time() {
        assert_eq!([rest(7 * EVERY), rest(7 * EVERY + REST / 4), rest(7 * EVERY + REST)], [REST, REST / 4 * 3, 0]);
    }

    #[test]
    fn only_silence_while_recording_counts() {
        let (board, _fd) = Board::create(1).unwrap();
        let mut beat = Beat::new(board.clone(), 0);
        let t = now();
        beat.beat_at(t + 1_000);
        beat.beat_at(t + 900_000);
        board.start_recording(t + 1_000_000);
        beat.beat_at(t + 1_000_010);
        assert_eq!((board.read(0).longest, board.read(0).beats), (10, 3));
        beat.beat_at(t + 1_000_300);
        beat.beat_at(t + 1_000_350);
        assert_eq!(board.read(0).longest, 290);
    }
}
