//! oslat of rt-tests (src/oslat/oslat.c): a column for each CPU, a row for each bucket, then extremes, mean and duration.
//!
//! A bucket is named by its upper edge and the last one holds everything beyond it as well. What lies in a bucket differs
//! between versions, which [`Layout`] tells apart.

use super::{Line, Taken};
use crate::Options;
use crate::bins::{Bins, MOST_BINS};
use crate::block::{Beyond, Block, Found, Loss, MOST_THREADS, Samples, Skips, Thread};
use crate::number;
use punctual_model::LostKind;
use punctual_units::{Arrange, Priority, Scheduling};

const MOST_RUNS: usize = 256;
const MOST_CPU: u64 = 8_192;

/// Rows after the buckets, in the order of the program.
const SUMMARY: [&str; 5] = ["Minimum:", "Average:", "Maximum:", "Max-Min:", "Duration:"];

/// Lines before the table, with a value.
const HEADER: [&str; 6] =
    ["Thread priority:", "CPU list:", "CPU for main thread:", "Workload:", "Workload mem:", "Preheat cores:"];
const STEPS: [&str; 3] = ["Pre-heat for 1 seconds...", "Test starts...", "Test completed."];

#[derive(Default)]
pub(crate) struct Reader {
    version: Option<String>,
    /// The header of a run whose table has not begun.
    head: Option<Head>,
    table: Option<Table>,
    done: Vec<Table>,
    filled: usize,
    /// Runs that began and have no table: line of the first, and number.
    torn: Option<(u64, u64)>,
    stopped: u64,
    dropped: u64,
}

#[derive(Clone, Default)]
struct Head {
    line: u64,
    before: Option<String>,
    priority: Option<Priority>,
    bias: bool,
}

#[derive(Default)]
struct Table {
    head: Head,
    version: Option<String>,
    cpus: Vec<u32>,
    frequency: bool,
    /// Named edge in ns, samples; in file order.
    columns: Vec<Bins>,
    /// Edge of the last row.
    last: Option<u64>,
    /// Samples in the row marked as holding the overflows.
    overflow: Option<Vec<u64>>,
    width: Option<u64>,
    /// Rows of nothing were left out before the next one.
    omitted: bool,
    /// Edge of the first row, and whether rows were left out before it.
    first: Option<(u64, bool)>,
    fine: bool,
    summary: [Vec<Option<f64>>; 5],
    seen: [u64; 5],
    /// Rows that repeat, go back, are missing, or have too few or too many columns.
    back: u64,
    missing: u64,
    ragged: u64,
}

impl Reader {
    pub(crate) fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn put_away(&mut self) {
        let Some(table) = self.table.take() else { return };
        if table.columns.iter().all(|c| c.count == 0) && table.last.is_none() {
            // A line that only looked like the beginning of a table.
            if table.frequency {
                self.tear(table.head.line);
            }
            return;
        }
        if self.done.len() < MOST_RUNS {
            self.done.push(table);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    fn tear(&mut self, line: u64) {
        let (first, runs) = self.torn.unwrap_or((line, 0));
        self.torn = Some((first, runs.saturating_add(1)));
    }

    /// A run begins.
    fn begin(&mut self, line: &Line) {
        self.put_away();
        if let Some(head) = self.head.take() {
            self.tear(head.line);
        }
        self.head = Some(Head { line: line.number, before: line.before.map(str::to_owned), ..Head::default() });
    }

    fn head_line(&mut self, text: &str, line: &Line) -> Option<Taken> {
        if let Some(version) = text.strip_prefix("oslat V ").filter(|v| number::decimal(v).is_some()) {
            self.begin(line);
            self.version = Some(version.into());
            return Some(Taken::Yes);
        }
        if let Some(seconds) = text.strip_prefix("Total runtime:").and_then(|t| t.trim().strip_suffix(" seconds")) {
            number::whole(seconds)?;
            // The version stands directly before it.
            if self.head.as_ref().is_none_or(|h| h.line.checked_add(1) != Some(line.number)) {
                self.begin(line);
            }
            return Some(Taken::Yes);
        }
        let head = self.head.as_mut()?;
        if STEPS.contains(&text) {
            return Some(Taken::Yes);
        }
        if text.starts_with("Global bias set to ") {
            head.bias = true;
            return Some(Taken::Yes);
        }
        if text.contains("Trace threshold (") && text.contains(" triggered on cpu ") {
            self.stopped = self.stopped.saturating_add(1);
            return Some(Taken::Yes);
        }
        let (key, value) = HEADER.iter().find_map(|key| Some((*key, text.strip_prefix(key)?.trim())))?;
        if key == "Thread priority:" {
            head.priority = value.strip_prefix("SCHED_FIFO:").and_then(|p| p.parse().ok());
        }
        Some(Taken::Yes)
    }

    /// `Core: 0 1 2`
    fn cores(&mut self, text: &str, line: &Line) -> Option<Taken> {
        let rest = text.strip_prefix("Core:")?;
        let cpus: Vec<u32> = rest
            .split_ascii_whitespace()
            .take(MOST_THREADS as usize + 1)
            .map(|w| number::whole(w).filter(|&cpu| cpu < MOST_CPU).map(|cpu| cpu as u32))
            .collect::<Option<_>>()?;
        if cpus.is_empty() || cpus.len() > MOST_THREADS as usize {
            return None;
        }
        self.put_away();
        let here = || Head { line: line.number, before: line.before.map(str::to_owned), ..Head::default() };
        let head = self.head.take().unwrap_or_else(here);
        let columns = vec![Bins::default(); cpus.len()];
        self.table = Some(Table { head, version: self.version.take(), cpus, columns, ..Table::default() });
        Some(Taken::Yes)
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        if let Some(taken) = self.head_line(text, line).or_else(|| self.cores(text, line)) {
            return taken;
        }
        let Some(table) = &mut self.table else { return Taken::No };
        let taken = table.line(text, &mut self.filled);
        if taken == Taken::No && !table.frequency && !text.is_empty() {
            self.table = None;
        }
        taken
    }

    fn finish(mut self: Box<Self>, _: &Options) -> Option<Found> {
        self.put_away();
        if let Some(head) = self.head.take() {
            self.tear(head.line);
        }
        if self.done.is_empty() {
            return None;
        }
        let mut found = Found { format: "oslat".into(), tool: Some("oslat".into()), ..Found::default() };
        let versions: Vec<&String> = self.done.iter().filter_map(|t| t.version.as_ref()).collect();
        found.version = versions.first().filter(|v| versions.iter().all(|w| w == *v)).map(|v| (*v).clone());
        if let Some((line, runs)) = self.torn {
            let text = format!("a run of oslat begins at line {line} and has no results");
            found.lost.push(Loss::problem(LostKind::Truncated, Some(runs), text));
        }
        if self.stopped > 0 {
            let text = "oslat stopped at its trace threshold: the latency that it names is in no histogram";
            found.lost.push(Loss::problem(LostKind::Gap, Some(self.stopped), text));
        }
        if self.dropped > 0 {
            let text = format!("more than {MOST_RUNS} runs: the others were left out");
            found.lost.push(Loss::problem(LostKind::Truncated, Some(self.dropped), text));
        }
        found.blocks = self.done.into_iter().map(Table::block).collect();
        Some(found)
    }
}

/// Values of a row, without its unit.
fn words<'a>(rest: &'a str, unit: &str) -> impl Iterator<Item = &'a str> {
    let rest = rest.trim();
    rest.strip_suffix(unit).unwrap_or(rest).split_ascii_whitespace().take(MOST_THREADS as usize + 1)
}

/// Microseconds with up to three places, exact.
fn micros(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = match part.len() {
        0 => 0,
        3 => number::whole(part)?,
        _ => return None,
    };
    number::scaled(number::whole(whole)?.checked_mul(1_000)?.checked_add(part)?, 1)
}

impl Table {
    fn line(&mut self, text: &str, filled: &mut usize) -> Taken {
        if !self.frequency {
            let rest = text.strip_prefix("Counter Freq:").or_else(|| text.strip_prefix("CPU Freq:"));
            let Some(rest) = rest else { return Taken::No };
            let lower = rest.to_ascii_lowercase();
            let read = words(&lower, "(mhz)").map(number::whole).collect::<Option<Vec<u64>>>();
            self.frequency = read.is_some_and(|read| read.len() == self.cpus.len());
            return if self.frequency { Taken::Yes } else { Taken::Unreadable };
        }
        if text == "..." {
            self.omitted = true;
            return Taken::Yes;
        }
        if let Some((name, rest)) = text.split_once("(us):") {
            return self.bucket(name.trim(), rest, filled);
        }
        let Some((at, rest)) = SUMMARY.iter().enumerate().find_map(|(at, key)| Some((at, text.strip_prefix(key)?)))
        else {
            return Taken::No;
        };
        self.summed(at, rest)
    }

    fn bucket(&mut self, name: &str, rest: &str, filled: &mut usize) -> Taken {
        let Some(edge) = micros(name).filter(|&edge| edge > 0) else { return Taken::No };
        let (rest, last) = match rest.trim().strip_suffix("(including overflows)") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let counts = rest.split_ascii_whitespace().take(MOST_THREADS as usize + 1).map(number::samples);
        let Some(counts) = counts.collect::<Option<Vec<u64>>>().filter(|c| c.len() == self.cpus.len()) else {
            self.ragged = self.ragged.saturating_add(1);
            return Taken::Unreadable;
        };
        if self.overflow.is_some() || self.last.is_some_and(|last| edge <= last) {
            self.back = self.back.saturating_add(1);
            return Taken::Yes;
        }
        self.fine |= name.contains('.');
        self.steps(edge);
        (self.last, self.omitted) = (Some(edge), false);
        if last {
            self.overflow = Some(counts);
            return Taken::Yes;
        }
        for (&samples, bins) in counts.iter().zip(&mut self.columns) {
            if *filled < MOST_BINS && bins.add(edge, samples) {
                *filled = filled.saturating_add(usize::from(samples > 0));
            } else {
                self.ragged = self.ragged.saturating_add(1);
            }
        }
        Taken::Yes
    }

    /// The buckets are equally wide; only rows before which `...` stands may be further apart.
    fn steps(&mut self, edge: u64) {
        let Some(last) = self.last else {
            self.first = Some((edge, self.omitted));
            return;
        };
        let step = edge.saturating_sub(last);
        match self.width {
            // The first step that no row was left out of is the width.
            None if !self.omitted => self.width = Some(step),
            Some(width) if !self.omitted && step != width => self.missing = self.missing.saturating_add(1),
            Some(width) if self.omitted && (step <= width || step % width != 0) => {
                self.missing = self.missing.saturating_add(1);
            }
            _ => {}
        }
    }

    fn summed(&mut self, at: usize, rest: &str) -> Taken {
        let unit = if at == 4 { "(sec)" } else { "(us)" };
        // Without a sample the mean is `-nan`.
        let read: Vec<Option<f64>> = words(rest, unit).map(number::decimal).collect();
        let plain = read.iter().enumerate().all(|(n, v)| v.is_some() || at == 1 && self.is_empty(n));
        let (Some(seen), Some(row)) = (self.seen.get_mut(at), self.summary.get_mut(at)) else { return Taken::No };
        *seen = seen.saturating_add(1);
        if read.len() != self.cpus.len() || !plain {
            self.ragged = self.ragged.saturating_add(1);
            return Taken::Unreadable;
        }
        if row.is_empty() {
            *row = read;
        }
        Taken::Yes
    }

    fn is_empty(&self, column: usize) -> bool {
        let over = self.overflow.as_ref().and_then(|o| o.get(column)).copied().unwrap_or(0);
        over == 0 && self.columns.get(column).is_none_or(|c| c.count == 0)
    }

    fn told(&self, row: usize, column: usize) -> Option<f64> {
        self.summary.get(row)?.get(column).copied().flatten()
    }

    fn told_ns(&self, row: usize, column: usize) -> Option<u64> {
        let ns = (self.told(row, column)? * 1_000.0).round();
        (ns <= number::LARGEST_NS as f64).then_some(ns as u64)
    }

    fn unit_ns(&self) -> u64 {
        if self.fine { 1 } else { 1_000 }
    }

    fn width_ns(&self) -> u64 {
        // The buckets begin at 0, or at the bias.
        let first = self.first.filter(|(_, omitted)| !omitted && !self.head.bias).map(|(edge, _)| edge);
        self.width.or(first).unwrap_or(self.unit_ns()).max(1)
    }

    /// Which latencies a bucket named `e` holds, told by the smallest latency and the lowest bucket.
    fn layout(&self) -> Layout {
        let apart = (0..self.columns.len()).filter_map(|n| {
            let lowest = self.columns.get(n)?.range()?.0;
            Some(lowest.saturating_sub(self.told_ns(0, n)?))
        });
        let shifted = !self.head.bias && apart.min().is_some_and(|apart| apart > 0);
        match (shifted, self.version.as_deref().and_then(number::decimal)) {
            (false, _) => Layout::Named,
            (true, Some(version)) if version <= 2.8 => Layout::Shifted,
            (true, _) => Layout::Unknown,
        }
    }

    fn block(self) -> Block {
        let layout = self.layout();
        let mut block = Block {
            label: "operating system noise".into(),
            line: self.head.line,
            before: self.head.before.clone(),
            threads: Vec::new(),
            lost: self.faults(),
            ..Block::default()
        };
        if layout == Layout::Unknown {
            let text = "this version of oslat names buckets one step above the latencies that it prints: each stands at the \
                        bucket's name, and the largest a step above the printed one";
            block.lost.push(Loss::told(LostKind::Resolution, None, text));
        }
        for (column, &cpu) in self.cpus.iter().enumerate() {
            block.threads.push(self.thread(column, cpu, layout));
        }
        block
    }

    fn thread(&self, column: usize, cpu: u32, layout: Layout) -> Thread {
        let (unit, width) = (self.unit_ns(), self.width_ns());
        let shift = if layout == Layout::Shifted { unit } else { 0 };
        let mut bins = Bins::default();
        let named = self.columns.get(column).map(|c| c.filled.as_slice()).unwrap_or_default();
        for &(edge, samples) in named {
            bins.add(edge.saturating_sub(shift), samples);
        }
        let mut thread = Thread::new(cpu, Samples::Summary, width);
        if layout == Layout::Unknown {
            // Rounded up or down, depending on the version.
            thread.width_ns = width.saturating_add(unit);
        }
        let (min, max) = (self.told_ns(0, column), self.told_ns(2, column));
        let max = if layout == Layout::Unknown { max.map(|max| max.saturating_add(unit)) } else { max };
        let over = self.overflow.as_ref().and_then(|o| o.get(column)).copied();
        match (over, self.last) {
            (Some(0), _) => {}
            (Some(count), Some(edge)) => {
                let edge = edge.saturating_sub(shift);
                // The last bucket holds everything beyond it, unless the largest latency lies in it.
                if max.is_none_or(|max| max > edge) || !bins.add(edge, count) {
                    thread.beyond = Beyond::Counted { count, from_ns: edge.saturating_sub(thread.width_ns) };
                }
            }
            (_, last) => thread.beyond = Beyond::Unknown { from_ns: last.unwrap_or(0) },
        }
        if !self.is_empty(column) {
            (thread.min_ns, thread.max_ns) = (min, max);
        }
        thread.mean_ns = self.mean(column).map(|ns| (ns - shift as f64).max(0.0));
        thread.samples = Samples::Bins(bins);
        (thread.cpu, thread.upper_edges, thread.skips) = (Some(cpu), true, Skips::NoPeriods);
        thread.got = self.head.priority.map(|priority| Scheduling::Fifo { priority });
        thread.lost = self.contradictions(column);
        thread
    }

    /// The mean is of the buckets' names; oslat adds what lies beyond the last bucket of the first CPU to all CPUs.
    fn mean(&self, column: usize) -> Option<f64> {
        let within = |n: usize| Some(self.told_ns(2, n)? < self.last?);
        let usable = self.overflow.is_some() && within(0)? && within(column)? && !self.is_empty(column);
        self.told(1, column).filter(|_| usable).map(|us| us * 1_000.0)
    }

    fn contradictions(&self, column: usize) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut problem = |text: String| lost.push(Loss::problem(LostKind::Disagreement, None, text));
        if let (Some(min), Some(max), Some(apart)) =
            (self.told_ns(0, column), self.told_ns(2, column), self.told_ns(3, column))
            && max.checked_sub(min) != Some(apart)
        {
            problem("`Max-Min` is not the difference of `Maximum` and `Minimum`".into());
        }
        let over = self.overflow.as_ref().and_then(|over| over.get(column)).copied().unwrap_or(0);
        if let (Some(max), Some(last)) = (self.told_ns(2, column), self.last)
            && over > 0
            && self.layout() == Layout::Named
            && max < last
        {
            problem("the last bucket holds samples, and `Maximum` is below it".into());
        }
        if let (Some(told), Some(bins), Some(over), Some(last)) =
            (self.mean(column), self.columns.get(column), &self.overflow, self.last)
        {
            let over = over.get(column).copied().unwrap_or(0);
            let all = bins.filled.iter().copied().chain([(last, over)]);
            let (sum, count) =
                all.fold((0.0, 0.0), |(sum, count), (edge, n)| (sum + edge as f64 * n as f64, count + n as f64));
            let found = sum / count;
            if (found - told).abs() > 0.6 + found * 1e-6 {
                problem(format!(
                    "the mean is told as {:.3} µs, that of the buckets is {:.3} µs",
                    told / 1e3,
                    found / 1e3
                ));
            }
        }
        lost
    }

    fn faults(&self) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut problem = |kind, count, text: &str| lost.push(Loss::problem(kind, count, text));
        if self.ragged > 0 {
            let text = "rows have another number of columns than CPUs, or figures that cannot be";
            problem(LostKind::Unreadable, Some(self.ragged), text);
        }
        if self.back > 0 {
            problem(
                LostKind::Unreadable,
                Some(self.back),
                "rows of the histogram repeat or go back; they were left out",
            );
        }
        let wide = self.width.unwrap_or(0);
        let begins_late =
            self.first.is_some_and(|(edge, omitted)| !omitted && !self.head.bias && wide > 0 && edge != wide);
        let missing = self.missing.saturating_add(u64::from(begins_late));
        if missing > 0 {
            problem(LostKind::Unreadable, Some(missing), "rows of the histogram are missing");
        }
        if self.overflow.is_none() || self.seen.last() == Some(&0) {
            let text = "the text ends before the histogram's last row and its summary";
            problem(LostKind::Truncated, None, text);
        } else if self.seen.contains(&0) {
            problem(LostKind::Unreadable, None, "rows of the histogram's summary are missing");
        }
        let twice = self.seen.iter().filter(|&&n| n > 1).count() as u64;
        if twice > 0 {
            problem(LostKind::Disagreement, Some(twice), "rows of the histogram's summary are there twice");
        }
        let mut cpus = self.cpus.clone();
        cpus.arrange_by_key(|&cpu| cpu);
        if cpus.windows(2).any(|w| w.first() == w.last()) {
            problem(LostKind::Disagreement, None, "a CPU is told twice");
        }
        lost
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Latencies, rounded up, of at most `e` (before 2.5).
    Named,
    /// Latencies, rounded up to whole units, of less than `e` (2.5 to 2.8).
    Shifted,
    /// As [`Layout::Shifted`], but rounded up or down.
    Unknown,
}

#[cfg(test)]
mod tests;
