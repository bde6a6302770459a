//! Passes through chains of threads, in which each thread's cycle is released by the thread before it.

use super::lane::{Lane, Value};
use punctual_explain::Closed;
use punctual_measure::Cell;
use punctual_model::{AppChain, AppValue, Claim};
use punctual_rt::Wakeup;
use punctual_units::Nanos;
use std::collections::VecDeque;

/// Maximum number of ended cycles of a chain's last thread that wait for a cycle of an earlier thread to end.
const WAITING: usize = 4096;

pub(super) struct Chain {
    /// Thread IDs, from the first to the last thread of the chain.
    tids: Vec<i32>,
    pub value: Value,
    waiting: VecDeque<Pass>,
    totals: AppChain,
}

/// A cycle of the last thread, followed back to the release of the thread at `at`.
#[derive(Clone, Copy)]
struct Pass {
    end: u64,
    at: usize,
    /// In this pass, the release time in ns of the cycle of the thread that follows the one at `at`.
    released: u64,
}

impl Chain {
    /// Returns `None` if a thread with one of these names was not found.
    pub fn new(names: &[String], lanes: &[Lane], claims: &[Claim], keep: usize, load: &str) -> Option<Chain> {
        let tid =
            |name: &String| lanes.iter().find(|lane| lane.learned.thread.name == *name).map(|l| l.learned.thread.tid);
        let tids = names.iter().map(tid).collect::<Option<Vec<i32>>>()?;
        let value = Value::new(AppValue::Chain(names.to_vec()), claims, keep, None);
        let totals = AppChain { load: load.to_owned(), chain: names.join(" > "), passes: 0, others: 0 };
        Some(Chain { tids, value, waiting: VecDeque::new(), totals })
    }

    pub fn last(&self) -> Option<i32> {
        self.tids.last().copied()
    }

    /// Called when a cycle of the last thread has ended.
    pub fn ended(&mut self, closed: &Closed) {
        let before = self.tids.len().saturating_sub(2);
        match self.tids.get(before) {
            Some(tid) if closed.woken_by == Some(*tid) && self.waiting.len() < WAITING => {
                self.waiting.push_back(Pass { end: closed.end_ns, at: before, released: closed.release_ns });
            }
            _ => self.totals.others += 1,
        }
    }

    /// Follows the waiting passes as far as possible: the cycles of a thread are known only after they have ended.
    /// `last`: no more cycles will follow.
    pub fn follow(&mut self, lanes: &[Lane], last: bool) {
        for _ in 0..self.waiting.len() {
            let Some(pass) = self.waiting.pop_front() else { return };
            match self.back(pass, lanes) {
                Ok(released) => self.passed(released, pass.end),
                Err(Some(pass)) if !last => self.waiting.push_back(pass),
                Err(_) => self.totals.others += 1,
            }
        }
    }

    /// Returns the release of the first thread. If the pass cannot be followed that far, the error is the pass as far
    /// as it could be followed, or `None` if it cannot be followed at all.
    fn back(&self, mut pass: Pass, lanes: &[Lane]) -> Result<u64, Option<Pass>> {
        loop {
            let tid = self.tids.get(pass.at).copied().ok_or(None)?;
            let lane = lanes.iter().find(|lane| lane.learned.thread.tid == tid).ok_or(None)?;
            let next = lane.recent.partition_point(|cycle| cycle.end_ns < pass.released);
            let Some(cycle) = lane.recent.get(next) else { return Err(Some(pass)) };
            if cycle.release_ns > pass.released {
                return Err(None);
            }
            let Some(before) = pass.at.checked_sub(1) else { return Ok(cycle.release_ns) };
            if cycle.woken_by != self.tids.get(before).copied() {
                return Err(None);
            }
            pass = Pass { at: before, released: cycle.release_ns, ..pass };
        }
    }

    fn passed(&mut self, released: u64, end: u64) {
        let cell: &Cell = &self.value.cell;
        cell.record(
            &Wakeup { cycle: self.totals.passes, release: Nanos(released), woke: Nanos(end), skipped: 0 },
            u64::MAX,
        );
        self.totals.passes += 1;
    }

    pub fn finish(self) -> (Value, AppChain) {
        (self.value, self.totals)
    }
}
