//! `rtla timerlat top` (count and extremes), `rtla osnoise top` and `rtla hwnoise` (shares and counts).

use super::Kind;
use crate::Options;
use crate::block::{Beyond, Block, Loss, MOST_THREADS, Samples, Thread};
use crate::number;
use crate::tools::Taken;
use punctual_model::{LostKind, Series};

#[derive(Default)]
pub(super) struct Timerlat {
    seconds: u64,
    rows: Vec<Row>,
    done: bool,
    unit_ns: Option<u64>,
    /// Number of latency kinds announced in the header.
    kinds: usize,
    /// The row over all CPUs.
    all: Option<Row>,
}

struct Row {
    cpu: u32,
    count: u64,
    /// Minimum, mean and maximum of each latency: IRQ, thread, and return to user space.
    parts: Vec<Option<[u64; 3]>>,
}

/// Parses a duration such as `0 00:00:04`, in seconds.
fn seconds(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let days = number::whole(words.next()?)?;
    let clock = words.next()?.split(':').map(number::whole).collect::<Option<Vec<u64>>>()?;
    let [hours, minutes, seconds] = clock.as_slice() else { return None };
    let add = |a: u64, b: u64| a.saturating_mul(60).saturating_add(b);
    Some(add(add(days.saturating_mul(24).saturating_add(*hours), *minutes), *seconds))
}

impl Timerlat {
    /// Returns true if the screen shows the same run as `before` at a later time: it has the same CPUs, and counts
    /// and extremes do not decrease.
    pub fn continues(&self, before: &Timerlat) -> bool {
        let goes_on = |old: &Row| {
            let new = self.rows.iter().find(|row| row.cpu == old.cpu);
            new.is_some_and(|new| {
                new.count >= old.count && new.parts.iter().zip(&old.parts).all(|(new, old)| wider(*new, *old))
            })
        };
        let known = |row: &Row| before.rows.iter().any(|old| old.cpu == row.cpu);
        self.seconds >= before.seconds
            && before.rows.iter().all(goes_on)
            && (before.rows.is_empty() || self.rows.iter().all(known))
    }

    /// Reads a line; `None` if it looks like results but cannot be read.
    pub fn line(&mut self, line: &str) -> Option<Taken> {
        let own = line.starts_with("---------------|")
            || (line.starts_with("CPU") && line.contains('|'))
            || line.starts_with("ALL")
            || line.starts_with("timerlat hit");
        let other = if own { Taken::Yes } else { Taken::No };
        if let Some(row) = line.strip_prefix("ALL").and_then(|rest| self.all_row(rest)) {
            self.all = Some(row);
        }
        if line.starts_with("ALL")
            || line.starts_with("timerlat hit")
            || line.starts_with("---") && !self.rows.is_empty()
        {
            self.done = true;
        }
        if self.done {
            return Some(other);
        }
        if line.contains("IRQ Timer Latency") {
            self.seconds = line.split_once('|').and_then(|(d, _)| seconds(d)).unwrap_or(0);
            self.unit_ns = Some(if line.contains("(ns)") { 1 } else { 1_000 });
            return Some(Taken::Yes);
        }
        if line.starts_with("CPU") && line.contains('|') {
            self.kinds = line.matches('|').count().min(3);
        }
        if !line.starts_with(|c: char| c.is_ascii_digit()) || !line.contains('|') {
            return Some(other);
        }
        if line.matches('|').count() < self.kinds {
            return None;
        }
        let mut parts = line.split('|');
        let mut head = parts.next()?.split(['#', ' ']).filter(|w| !w.is_empty());
        let cpu = number::whole(head.next()?).filter(|&cpu| cpu < 8_192)? as u32;
        let count = number::samples(head.next()?)?;
        let row = Row { cpu, count, parts: parts.take(3).map(part).collect::<Option<_>>()? };
        if self.rows.len() < MOST_THREADS as usize && !self.rows.iter().any(|r| r.cpu == cpu) {
            self.rows.push(row);
        }
        Some(Taken::Yes)
    }

    /// Parses ` #240010 | …` after `ALL`. Some versions print the letter `e` for an unknown count.
    fn all_row(&self, rest: &str) -> Option<Row> {
        let mut parts = rest.split('|');
        let count = parts.next()?.split(['#', ' ']).find_map(number::samples)?;
        let figures = |text: &str| {
            let words: Vec<&str> = text.split_ascii_whitespace().collect();
            let [.., min, avg, max] = words.as_slice() else { return None };
            Some([number::whole(min)?, number::whole(avg)?, number::whole(max)?])
        };
        Some(Row { cpu: 0, count, parts: parts.take(3).map(figures).collect() })
    }

    /// Returns true if the count in the row over all CPUs is not the sum of the other rows, or its maximum is not their
    /// largest.
    fn contradicts(&self, at: usize) -> bool {
        let Some(all) = &self.all else { return false };
        let counted = self.rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.count));
        let of = |row: &Row| row.parts.get(at).copied().flatten();
        let most = self.rows.iter().filter_map(of).map(|[_, _, max]| max).max();
        counted != all.count || of(all).map(|[_, _, max]| max).is_some_and(|max| most.is_none_or(|most| most != max))
    }

    pub fn blocks(&self, options: &Options) -> Vec<Block> {
        let kinds = [Kind::Irq, Kind::Thread, Kind::User];
        let block = |(at, kind): (usize, Kind)| {
            let threads = self.rows.iter().filter_map(|row| self.thread(row, at, options)).collect();
            let mut block = Block { label: kind.label().into(), threads, ..Block::default() };
            if self.contradicts(at) {
                let text = "the row over all CPUs differs from the rows of the CPUs: a row is missing or duplicated";
                block.lost.push(Loss::problem(LostKind::Disagreement, None, text));
            }
            block
        };
        kinds.into_iter().enumerate().map(block).filter(|b| !b.threads.is_empty()).collect()
    }

    fn thread(&self, row: &Row, at: usize, options: &Options) -> Option<Thread> {
        let unit_ns = self.unit_ns.unwrap_or(1_000);
        let [min, avg, max] = (*row.parts.get(at)?)?;
        let mut thread = Thread::new(row.cpu, Samples::Summary, unit_ns);
        let scaled = |n: u64| number::scaled(n, unit_ns);
        thread.cpu = Some(row.cpu);
        thread.beyond = Beyond::Counted { count: row.count, from_ns: 0 };
        (thread.count, thread.min_ns, thread.max_ns) = (Some(row.count), scaled(min), scaled(max));
        thread.mean_ns = scaled(avg).map(|ns| ns as f64);
        thread.period_ns = options.period.map(|p| p.0);
        if at > 0 {
            let text = "the number of samples is that of the timer interrupts; the thread may have fewer";
            thread.lost.push(Loss::reported(LostKind::Other, None, text));
        }
        Some(thread)
    }
}

/// Returns true if the new range of minimum and maximum includes the old one.
fn wider(new: Option<[u64; 3]>, old: Option<[u64; 3]>) -> bool {
    match (new, old) {
        (Some([min, _, max]), Some([old_min, _, old_max])) => min <= old_min && max >= old_max,
        (new, old) => old.is_none() || new.is_some(),
    }
}

/// Parses `cur min avg max`, or dashes if there are no samples.
fn part(text: &str) -> Option<Option<[u64; 3]>> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [_, rest @ ..] = words.as_slice() else { return None };
    match rest {
        [min, avg, max] if [*min, *avg, *max] == ["-", "-", "-"] => Some(None),
        [min, avg, max] => Some(Some([number::whole(min)?, number::whole(avg)?, number::whole(max)?])),
        _ => None,
    }
}

pub(super) struct Noise {
    of: &'static str,
    seconds: u64,
    columns: Vec<(&'static str, &'static str)>,
    rows: Vec<(u32, Vec<f64>)>,
    done: bool,
}

/// Column header, meaning and unit.
const COLUMNS: [(&str, &str, &str); 9] = [
    ("Runtime", "observed time", "µs"),
    ("Noise", "noise in that time", "µs"),
    ("% CPU Aval", "remaining CPU time", "%"),
    ("Max Noise", "maximum noise in one period", "µs"),
    ("Max Single", "longest single noise", "µs"),
    ("HW", "hardware noises", ""),
    ("NMI", "NMIs", ""),
    ("IRQ", "interrupts", ""),
    ("Softirq", "softirqs", ""),
];

impl Noise {
    pub fn new(of: &'static str) -> Noise {
        Noise { of, seconds: 0, columns: Vec::new(), rows: Vec::new(), done: false }
    }

    /// Returns true if the screen shows the same run as `before` at a later time: it has the same CPUs, and the
    /// observed time does not decrease.
    pub fn continues(&self, before: &Noise) -> bool {
        let figure = |row: &(u32, Vec<f64>), name: &str| {
            let at = self.columns.iter().position(|(_, column)| column == &name);
            at.and_then(|at| row.1.get(at).copied())
        };
        let grows = |old: &(u32, Vec<f64>)| {
            let new = self.rows.iter().find(|row| row.0 == old.0);
            let longest = "longest single noise";
            new.is_some_and(|new| figure(new, longest).zip(figure(old, longest)).is_none_or(|(new, old)| new >= old))
        };
        let same = self.of == before.of && self.columns == before.columns && self.rows.len() == before.rows.len();
        same && self.seconds >= before.seconds && before.rows.iter().all(grows)
    }

    /// Reads a line; `None` if it looks like results but cannot be read.
    pub fn line(&mut self, line: &str) -> Option<Taken> {
        if let Some(rest) = line.strip_prefix("duration:") {
            self.seconds = rest.split_once('|').and_then(|(d, _)| seconds(d)).unwrap_or(0);
            return Some(Taken::Yes);
        }
        if line.starts_with("CPU Period") {
            // Sources in the order of the header, threads last.
            self.columns =
                COLUMNS.iter().filter(|(key, ..)| line.contains(key)).map(|(_, name, unit)| (*name, *unit)).collect();
            if line.contains("Thread") {
                self.columns.push(("threads", ""));
            }
            return Some(Taken::Yes);
        }
        let is_row = line.starts_with(|c: char| c.is_ascii_digit()) && line.contains('#');
        if self.columns.is_empty() || self.done || !is_row {
            self.done |= !self.rows.is_empty();
            return Some(Taken::No);
        }
        let mut words = line.split_ascii_whitespace();
        let cpu = number::whole(words.next()?).filter(|&cpu| cpu < 8_192)? as u32;
        words.next().filter(|period| period.starts_with('#'))?;
        let figures: Vec<f64> = words.map(number::decimal).collect::<Option<_>>()?;
        if figures.len() != self.columns.len() || self.rows.len() >= MOST_THREADS as usize {
            return None;
        }
        self.rows.push((cpu, figures));
        Some(Taken::Yes)
    }

    pub fn series(&self) -> Vec<Series> {
        let of = format!("{} over {} s", self.of, self.seconds);
        let series = |(at, (name, unit)): (usize, &(&str, &str))| {
            let mut series = Series::new(of.clone(), *name, *unit);
            for (cpu, figures) in &self.rows {
                if let Some(&figure) = figures.get(at) {
                    series.push(figure);
                    series.labels.push(format!("CPU {cpu}"));
                }
            }
            series
        };
        self.columns.iter().enumerate().map(series).filter(|s| s.count > 0).collect()
    }
}
