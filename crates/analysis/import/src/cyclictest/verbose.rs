//! `-v`: a row per wakeup, `       0:       0:      49` (thread, cycle, latency); may be gigabytes.

use super::live::Facts;
use crate::block::{Beyond, Block, Loss, MOST_THREADS, Samples, Thread};
use crate::number;
use punctual_model::LostKind;
use punctual_units::Histogram;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Verbose {
    threads: BTreeMap<u32, Raw>,
    intervals_us: BTreeMap<u32, u64>,
}

#[derive(Default)]
struct Raw {
    samples: Histogram,
    next: u64,
    /// Cycles missing from the log.
    missing: u64,
    /// Rows with a repeated or earlier cycle.
    back: u64,
}

impl Verbose {
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// `Thread 0 Interval: 1500`
    pub fn interval(&mut self, line: &str) -> bool {
        let Some(rest) = line.strip_prefix("Thread ") else { return false };
        let Some((number, us)) = rest.split_once(" Interval:") else { return false };
        let (number, us) = (number::whole(number), number::whole(us));
        if let (Some(number), Some(us)) = (number.filter(|&n| n < u64::from(MOST_THREADS)), us.filter(|&us| us > 0)) {
            self.intervals_us.insert(number as u32, us);
        }
        true
    }

    pub fn interval_us(&self, thread: u32) -> Option<u64> {
        self.intervals_us.get(&thread).copied()
    }

    /// Returns `false` if the row cannot be read.
    pub fn row(&mut self, line: &str, unit_ns: u64) -> bool {
        let mut parts = line.split(':');
        let mut next = || parts.next().unwrap_or_default();
        let (number, cycle, rest) = (number::whole(next()), number::samples(next()), next());
        // With --smi a count follows the latency.
        let latency = rest.split_ascii_whitespace().next().and_then(|ns| number::latency(ns, unit_ns));
        let Some(((number, cycle), ns)) = number.filter(|&n| n < u64::from(MOST_THREADS)).zip(cycle).zip(latency)
        else {
            return false;
        };
        let raw = self.threads.entry(number as u32).or_default();
        if cycle < raw.next {
            raw.back += 1;
            return true;
        }
        raw.missing = raw.missing.saturating_add(cycle - raw.next);
        raw.next = cycle.saturating_add(1);
        raw.samples.record(ns);
        true
    }

    pub fn block(&self, unit_ns: u64, facts: &Facts) -> Block {
        let mut block = Block { label: "wakeup latency".into(), ..Block::default() };
        for (&number, raw) in &self.threads {
            let mut thread = Thread::new(number, Samples::Each(raw.samples.clone()), unit_ns);
            if raw.missing > 0 {
                let text = "cycles are not in the log: cyclictest overwrote them before it printed them";
                thread.lost.push(Loss::told(LostKind::Gap, Some(raw.missing), text));
                // Any of the missing samples may have been the largest.
                thread.beyond = Beyond::Unknown { from_ns: 0 };
            }
            if raw.back > 0 {
                let text = "rows repeat a cycle or go back, and were left out";
                thread.lost.push(Loss::problem(LostKind::Unreadable, Some(raw.back), text));
            }
            facts.add_to(&mut thread, true);
            block.threads.push(thread);
        }
        block
    }
}
