//! samples.raw of jitterdebugger: packed little-endian records of CPU (32 bits), wakeup time (two longs) and latency
//! (64 bits). A record has 28 bytes, or 20 from 32-bit machines (jitterdebugger.h, `struct latency_sample`).

use crate::block::{Beyond, Block, Found, Loss, MOST_THREADS, Samples, Skips, Thread};
use crate::lines::Lines;
use crate::number;
use crate::{Error, Options, Unit};
use punctual_model::LostKind;
use punctual_units::Histogram;
use std::collections::BTreeMap;

const NANOS: u64 = 1_000_000_000;
const LOOKED_AT: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Bits64,
    Bits32,
}

struct Record {
    thread: u32,
    woke_ns: u64,
    value: u64,
}

impl Layout {
    fn size(self) -> usize {
        match self {
            Layout::Bits64 => 28,
            Layout::Bits32 => 20,
        }
    }

    fn record(self, bytes: &[u8]) -> Option<Record> {
        let word = |at: usize| Some(u64::from(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)));
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let thread = word(0)?;
        let (seconds, nanos, value) = match self {
            Layout::Bits64 => (long(4)?, long(12)?, long(20)?),
            Layout::Bits32 => (word(4)?, word(8)?, long(12)?),
        };
        if thread >= u64::from(MOST_THREADS) || nanos >= NANOS || seconds > 1 << 33 {
            return None;
        }
        Some(Record { thread: thread as u32, woke_ns: seconds.checked_mul(NANOS)?.checked_add(nanos)?, value })
    }
}

pub(crate) fn plausible(head: &[u8]) -> bool {
    layout(head).is_some()
}

fn layout(head: &[u8]) -> Option<Layout> {
    [Layout::Bits64, Layout::Bits32].into_iter().find(|layout| {
        let records = || head.chunks_exact(layout.size()).take(LOOKED_AT).map(|chunk| layout.record(chunk));
        // Latencies of a day or more are implausible.
        records().next().is_some()
            && records().all(|r| r.is_some_and(|r| r.value < 86_400_000_000_000 && r.woke_ns > 0))
    })
}

#[derive(Default)]
struct Raw {
    samples: Histogram,
    first: Vec<u64>,
    period: Option<u64>,
    last_release: Option<u64>,
    dropped: u64,
    /// Number of releases that are not a whole number of periods after the preceding one.
    odd: u64,
    unreadable: u64,
}

const FIRST: usize = 65;

impl Raw {
    fn add(&mut self, record: &Record, unit_ns: u64) {
        let Some(ns) = number::scaled(record.value, unit_ns) else {
            self.unreadable += 1;
            return;
        };
        self.samples.record(ns);
        // The latency is truncated to its unit, so the release is only as accurate.
        let release = record.woke_ns.saturating_sub(ns);
        if self.period.is_none() {
            self.first.push(release);
            if self.first.len() >= FIRST {
                self.learn(unit_ns);
            }
        } else {
            self.follow(release, unit_ns);
        }
    }

    /// Determines the period, which is the smallest distance between two releases, rounded to the unit. No period is
    /// skipped, so most releases are one period apart.
    fn learn(&mut self, unit_ns: u64) {
        let first = std::mem::take(&mut self.first);
        let apart = || first.windows(2).filter_map(|w| w.get(1)?.checked_sub(*w.first()?));
        let mut all: Vec<u64> = apart().filter(|&d| d > 2 * unit_ns).collect();
        all.sort_unstable();
        let middle = all.get(all.len() / 2).copied();
        self.period = Some(middle.map_or(0, |d| (d + unit_ns / 2) / unit_ns * unit_ns));
        first.into_iter().for_each(|release| self.follow(release, unit_ns));
    }

    fn follow(&mut self, release: u64, unit_ns: u64) {
        let (last, period) = (self.last_release.replace(release), self.period.unwrap_or(0));
        let (Some(last), true) = (last, period > 4 * unit_ns) else { return };
        let Some(apart) = release.checked_sub(last) else {
            self.odd += 1;
            return;
        };
        let periods = (apart + period / 2) / period;
        let off = apart.abs_diff(periods.saturating_mul(period));
        if periods == 0 || off > 2 * unit_ns + periods {
            self.odd += 1;
        }
        self.dropped = self.dropped.saturating_add(periods.saturating_sub(1));
    }

    fn thread(mut self, number: u32, unit_ns: u64, options: &Options) -> Thread {
        if self.period.is_none() {
            self.learn(unit_ns);
        }
        let period = self.period.filter(|&p| p > 4 * unit_ns && self.odd == 0);
        let mut thread = Thread::new(number, Samples::Each(self.samples), unit_ns);
        thread.skips = Skips::Never;
        thread.period_ns = options.period.map(|p| p.0).or(period);
        let gap = |count, text: &str| Loss::reported(LostKind::Gap, count, text);
        if period.is_none() {
            let text = "dropped samples cannot be detected, since the releases show no single period";
            thread.lost.push(gap(None, text));
        } else if self.dropped > 0 {
            let text = "periods are missing from the file: jitterdebugger's ring buffer dropped them";
            thread.lost.push(gap(Some(self.dropped), text));
        }
        if period.is_none() || self.dropped > 0 {
            thread.beyond = Beyond::Unknown { from_ns: 0 };
        }
        if self.unreadable > 0 {
            let text = "records have impossible latencies";
            thread.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        thread
    }
}

pub(crate) fn read(name: &str, input: &mut Lines, options: &Options) -> Result<Found, Error> {
    let head = input.head(LOOKED_AT * 28).map_err(|e| Error::io(name, e))?;
    let Some(layout) = layout(head) else {
        let why = "it does not contain records of jitterdebugger".to_owned();
        return Err(Error::Form {
            file: name.into(),
            line: 0,
            why,
            next: "give the file samples.raw as written by jitterdebugger -o",
        });
    };
    let unit_ns = options.unit.unwrap_or(Unit::Micros).ns();
    let (mut threads, mut bytes, mut bad): (BTreeMap<u32, Raw>, Vec<u8>, u64) = Default::default();
    loop {
        input.exact(&mut bytes, layout.size()).map_err(|e| Error::io(name, e))?;
        if bytes.len() < layout.size() {
            break;
        }
        match layout.record(&bytes) {
            Some(record) => threads.entry(record.thread).or_default().add(&record, unit_ns),
            None => bad += 1,
        }
    }
    let mut block = Block { label: "wakeup latency".into(), ..Block::default() };
    if !bytes.is_empty() {
        block.lost.push(Loss::problem(LostKind::Truncated, None, "the file ends in the middle of a record"));
    }
    if bad > 0 {
        block.lost.push(Loss::problem(LostKind::Unreadable, Some(bad), "records are not those of jitterdebugger"));
    }
    block.threads = threads.into_iter().map(|(number, raw)| raw.thread(number, unit_ns, options)).collect();
    let mut found =
        Found { format: "jitterdebugger-raw".into(), tool: Some("jitterdebugger".into()), ..Found::default() };
    found.blocks.push(block);
    if options.unit.is_none() {
        let text = "samples.raw does not state its unit: microseconds are assumed (if jitterdebugger ran with -N, use --unit ns)";
        found.lost.push(Loss::reported(LostKind::Unit, None, text));
    }
    Ok(found)
}
