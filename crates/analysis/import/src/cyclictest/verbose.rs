//! Rows of `-v`, one per wakeup: `       0:       0:      49` (thread, cycle, latency; "%8d:%8lu:%8ld"). A log may have
//! gigabytes.

use super::run::Facts;
use crate::block::{Beyond, Block, Loss, MOST_THREADS, Samples, Thread};
use crate::number;
use punctual_model::LostKind;
use punctual_units::Histogram;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Verbose {
    /// Threads, indexed by their number.
    threads: Vec<Option<Raw>>,
    intervals_us: BTreeMap<u32, u64>,
}

#[derive(Default)]
struct Raw {
    samples: Histogram,
    next: u64,
    /// Number of cycles missing from the log.
    missing: u64,
    /// Number of rows that repeat a cycle.
    back: u64,
    /// Number of negative latencies.
    negative: u64,
    /// Number of latencies too large for a histogram.
    unreadable: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    thread: u32,
    cycle: u64,
    latency: i64,
}

/// Parses a line such as `Thread 0 Interval: 1500`.
pub(super) fn interval(line: &str) -> Option<(u32, u64)> {
    let (number, us) = line.strip_prefix("Thread ")?.split_once(" Interval:")?;
    let thread = number::whole(number).filter(|&n| n < u64::from(MOST_THREADS))?;
    Some((thread as u32, number::whole(us)?))
}

/// Parses three numbers with colons, each padded to eight characters, so that a space precedes a shorter number, and
/// `12:31:01` is not a row. With --smi a count follows.
pub(super) fn row(line: &str) -> Option<Row> {
    let line = line.trim_start();
    if !line.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    let (thread, rest) = line.split_once(':')?;
    let (cycle, rest) = rest.split_once(':')?;
    let padded = |text: &str| text.starts_with(' ') || text.len() >= 8;
    if !padded(cycle) || !padded(rest) {
        return None;
    }
    let mut words = rest.split_ascii_whitespace();
    let latency = number::integer(words.next()?)?;
    let rest = words.next().is_none_or(|smi| number::whole(smi).is_some()) && words.next().is_none();
    let thread = number::whole(thread).filter(|&n| rest && n < u64::from(MOST_THREADS))? as u32;
    Some(Row { thread, cycle: number::samples(cycle)?, latency })
}

/// Returns a row and the length of its line, if it consists of three padded non-negative numbers and a newline.
fn plain(bytes: &[u8]) -> Option<(Row, usize)> {
    let mut at = 0;
    let thread = field(bytes, &mut at, b':', 0)?;
    let cycle = field(bytes, &mut at, b':', 8)?;
    let latency = field(bytes, &mut at, b'\n', 8)?;
    let thread = u32::try_from(thread).ok()?;
    Some((Row { thread, cycle, latency: i64::try_from(latency).ok()? }, at))
}

/// Parses spaces, a number of at most 15 digits, and the character after it. The spaces and the number together must be
/// at least `wide` bytes long.
fn field(bytes: &[u8], at: &mut usize, end: u8, wide: usize) -> Option<u64> {
    let start = *at;
    while bytes.get(*at) == Some(&b' ') {
        *at += 1;
    }
    let first = *at;
    let mut value = 0;
    while let Some(digit) = bytes.get(*at).map(|b| b.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value * 10 + u64::from(digit);
        *at += 1;
        if *at - first > 15 {
            return None;
        }
    }
    let whole = *at > first && *at - start >= wide && bytes.get(*at) == Some(&end);
    *at += 1;
    whole.then_some(value)
}

impl Verbose {
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    pub fn interval(&mut self, thread: u32, us: u64) {
        if us > 0 {
            self.intervals_us.insert(thread, us);
        }
    }

    pub fn interval_us(&self, thread: u32) -> Option<u64> {
        self.intervals_us.get(&thread).copied()
    }

    /// Returns true if the row begins another run: its cycle number decreases by more than for a row that was printed
    /// twice.
    pub fn restarts(&self, row: &Row) -> bool {
        self.raw(row.thread).is_some_and(|raw| row.cycle.saturating_add(1) < raw.next)
    }

    fn raw(&self, thread: u32) -> Option<&Raw> {
        self.threads.get(thread as usize)?.as_ref()
    }

    /// Reads consecutive rows in the format of the program, until a line differs or begins another run.
    pub fn many(&mut self, bytes: &[u8], unit_ns: u64) -> (usize, u64) {
        let (mut at, mut lines) = (0, 0);
        while let Some((row, length)) = bytes.get(at..).and_then(plain) {
            let raw = self.threads.get_mut(row.thread as usize).and_then(Option::as_mut);
            let Some(raw) = raw.filter(|raw| raw.next == row.cycle) else { break };
            let Some(ns) = number::scaled(row.latency as u64, unit_ns) else { break };
            raw.next += 1;
            raw.samples.record(ns);
            at += length;
            lines += 1;
        }
        (at, lines)
    }

    pub fn add(&mut self, row: &Row, unit_ns: u64) {
        let at = row.thread as usize;
        if at >= self.threads.len() {
            self.threads.resize_with(at + 1, || None);
        }
        let Some(raw) = self.threads.get_mut(at).map(Option::get_or_insert_default) else { return };
        if row.cycle < raw.next {
            raw.back += 1;
            return;
        }
        raw.missing = raw.missing.saturating_add(row.cycle - raw.next);
        raw.next = row.cycle.saturating_add(1);
        match u64::try_from(row.latency).ok().map(|us| number::scaled(us, unit_ns)) {
            Some(Some(ns)) => raw.samples.record(ns),
            Some(None) => raw.unreadable += 1,
            None => {
                raw.negative += 1;
                raw.samples.record(0);
            }
        }
    }

    pub fn block(&self, unit_ns: u64, facts: &Facts) -> Block {
        let mut block = Block { label: "wakeup latency".into(), ..Block::default() };
        for (number, raw) in self.threads.iter().enumerate() {
            let Some(raw) = raw else { continue };
            let mut thread = Thread::new(number as u32, Samples::Each(raw.samples.clone()), unit_ns);
            if raw.missing > 0 {
                let text = "cycles are missing from the log: lines were lost, or cyclictest overwrote samples before it printed them";
                thread.lost.push(Loss::reported(LostKind::Gap, Some(raw.missing), text));
                // Any of the missing samples may be the largest.
                thread.beyond = Beyond::Unknown { from_ns: 0 };
            }
            let faults = [
                (raw.back, "rows repeat a cycle and were skipped"),
                (raw.negative, "latencies are negative: a clock was set back, or the thread woke too early"),
                (raw.unreadable, "latencies are impossibly large"),
            ];
            for (n, text) in faults.into_iter().filter(|(n, _)| *n > 0) {
                thread.lost.push(Loss::problem(LostKind::Unreadable, Some(n), text));
            }
            facts.add_to(&mut thread);
            block.threads.push(thread);
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_the_rows_one_by_one() {
        let text = "       0:       1:      49\n       1:       1:       7\n       0:       2:123456789\n       0:       4:       1\n";
        let mut many = Verbose::default();
        for thread in 0..2 {
            many.add(&Row { thread, cycle: 0, latency: 5 }, 1_000);
        }
        // The last row skips a cycle.
        let until = text.len() - 27;
        assert_eq!(many.many(text.as_bytes(), 1_000), (until, 3));
        assert_eq!(
            many.raw(0).map(|raw| (raw.next, raw.samples.count(), raw.samples.max())),
            Some((3, 3, Some(123_456_789_000)))
        );
        assert_eq!(many.many(b"       1:       2:      49", 1_000), (0, 0));
        assert_eq!(many.many(b"1:2:3\n", 1_000), (0, 0));
    }

    #[test]
    fn a_row_is_no_time_of_day() {
        let read = |text| row(text).map(|r| (r.thread, r.cycle, r.latency));
        assert_eq!(read("       0:       0:      49"), Some((0, 0, 49)));
        assert_eq!(read("0:12345678:      49 2"), Some((0, 12_345_678, 49)));
        assert_eq!(read("       1:       7:     -12"), Some((1, 7, -12)));
        for text in ["12:31:01", "12:31:01 start", "03:21:59 up  1 day", "1: 2: 3: 4", "1: 2: 3 4 5"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
