//! Histograms: `# Histogram`, then a row per bin (`"%06d "` followed by `"%06lu\t"` per thread), then the summary.
//!
//! Versions of rt-tests before 2.5 print every bin; later versions print only bins with samples. Overflows are counted
//! without their values. `-H` adds a column with the sum. The files of OSADL's mklatencyplot contain only the rows,
//! with a tab after the bin.

use super::run::Facts;
use crate::bins::Bins;
use crate::block::{Beyond, Block, Loss, MOST_THREADS, Samples, Thread};
use crate::number;
use crate::tools::{Line, Taken};
use punctual_model::LostKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Total,
    Min,
    Avg,
    Max,
    Overflow,
}

/// Keys as printed by rt-tests 0.78 and later, and the spelling `Latencys` of earlier versions.
const KEYS: [(&str, Key); 8] = [
    ("# Min Latencys:", Key::Min),
    ("# Avg Latencys:", Key::Avg),
    ("# Max Latencys:", Key::Max),
    ("# Total:", Key::Total),
    ("# Min Latencies:", Key::Min),
    ("# Avg Latencies:", Key::Avg),
    ("# Max Latencies:", Key::Max),
    ("# Histogram Overflows:", Key::Overflow),
];

/// The kind of a line that belongs to a table, with its contents.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Header,
    Summary(Key, &'a str),
    /// Start of the list of overflow cycles, which look like rows.
    Cycles,
    /// Only integers: a row, or the remainder of a line that a mail client wrapped.
    Numbers(&'a str),
}

/// Classifies a line; `None` if it does not belong to a table.
pub(super) fn part(line: &str) -> Option<Part<'_>> {
    let trimmed = line.trim();
    if trimmed.eq_ignore_ascii_case("# Histogram") {
        return Some(Part::Header);
    }
    if let Some((text, key)) = KEYS.iter().find_map(|(t, k)| Some((trimmed.strip_prefix(t)?, *k))) {
        return Some(Part::Summary(key, text));
    }
    if trimmed.starts_with("# Histogram Overflow at") || trimmed.starts_with("# Thread ") {
        return Some(Part::Cycles);
    }
    let digits = |w: &str| w.bytes().all(|b| b.is_ascii_digit());
    (!trimmed.is_empty() && trimmed.split_ascii_whitespace().all(digits)).then_some(Part::Numbers(line))
}

impl Part<'_> {
    /// Returns true if a table begins with this line.
    pub fn begins(&self) -> bool {
        match self {
            Part::Header | Part::Summary(..) => true,
            Part::Cycles => false,
            Part::Numbers(line) => is_row(line),
        }
    }
}

/// Returns true for at least six digits followed by at least one count.
fn is_row(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next().is_some_and(|w| w.len() >= 6) && words.next().is_some_and(|w| w.len() >= 6)
}

#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<Bins>,
    row: Option<(u64, Vec<u64>)>,
    wide: usize,
    ragged: u64,
    last_bin: Option<u64>,
    /// Number of rows of the table.
    rows: u64,
    empty: u64,
    jumps: u64,
    back: u64,
    /// True if a tab follows the bin.
    tabs: bool,
    summary: [Vec<Option<u64>>; 5],
    /// Number of values in the summary with fewer digits than the program prints.
    short: u64,
    key: Option<Key>,
    cycles: bool,
    /// For each thread, the number of overflows whose cycle is listed.
    listed: Vec<u64>,
    /// Number of the last line accepted.
    at: u64,
}

impl Table {
    /// Returns true if the summary has begun, after which there are no more rows.
    pub fn is_summed(&self) -> bool {
        self.summary.iter().any(|row| !row.is_empty())
    }

    /// Returns true if the line is the first of another table.
    pub fn ends_before(&self, part: &Part, line: &Line) -> bool {
        let begun = self.rows > 0 || self.row.is_some() || self.is_summed();
        match part {
            Part::Header => begun,
            Part::Cycles => false,
            // Another total begins another table: that of this one has already been read.
            Part::Summary(Key::Total, _) => {
                self.cycles && self.summary.first().is_some_and(|row| !row.is_empty()) && self.at + 1 < line.number
            }
            Part::Summary(key, _) => {
                self.cycles
                    && self.at + 1 < line.number
                    && self.summary.get(*key as usize).is_some_and(|row| !row.is_empty())
            }
            Part::Numbers(text) => {
                self.is_summed() && is_row(text) && !(self.continues_summary(line) || self.continues_cycles(line))
            }
        }
    }

    fn continues_summary(&self, line: &Line) -> bool {
        self.key.is_some() && self.at + 1 == line.number
    }

    fn continues_cycles(&self, line: &Line) -> bool {
        self.cycles && self.at + 1 == line.number
    }

    /// Notes other text, after which a row cannot continue.
    pub fn interrupted(&mut self) {
        (self.key, self.at) = (None, 0);
    }

    pub fn add(&mut self, part: Part, line: &Line, unit_ns: u64, filled: &mut usize) -> Taken {
        let (summary, cycles) = (self.continues_summary(line), self.continues_cycles(line));
        let follows = self.at + 1 == line.number;
        self.at = line.number;
        match part {
            Part::Header => Taken::Yes,
            Part::Summary(key, text) => {
                self.end_row(unit_ns, filled);
                (self.key, self.cycles) = (Some(key), false);
                self.summary_words(key, text)
            }
            Part::Cycles => {
                self.end_row(unit_ns, filled);
                (self.key, self.cycles) = (None, true);
                self.list(line.text);
                Taken::Yes
            }
            Part::Numbers(text) if cycles => {
                if let Some(listed) = self.listed.last_mut() {
                    *listed += text.split_ascii_whitespace().count() as u64;
                }
                Taken::Yes
            }
            Part::Numbers(text) if summary => self.key.map_or(Taken::No, |key| self.summary_words(key, text)),
            Part::Numbers(_) if self.is_summed() => Taken::No,
            Part::Numbers(text) if follows && self.continues(text) => self.more(text),
            Part::Numbers(text) if is_row(text) => self.row(text, unit_ns, filled),
            Part::Numbers(_) => Taken::No,
        }
    }

    /// Reads a line such as `# Thread 0: 00050 00061 # 00002 others`.
    fn list(&mut self, line: &str) {
        let Some((number, rest)) = line.trim().strip_prefix("# Thread ").and_then(|rest| rest.split_once(':')) else {
            return;
        };
        if number::whole(number) == Some(self.listed.len() as u64) && self.listed.len() < MOST_THREADS as usize {
            let cycles = rest.split('#').next().unwrap_or_default().split_ascii_whitespace();
            // Versions from 2.7 on print a zero if there are no overflows.
            self.listed.push(cycles.filter(|cycle| cycle.bytes().any(|b| b != b'0')).count() as u64);
        }
    }

    /// Returns true if the line continues the preceding row. A row begins with its bin and a space, and its columns are
    /// separated by tabs. A continuation begins with a tab, is a single number, or has exactly the missing number of
    /// columns.
    fn continues(&self, line: &str) -> bool {
        let Some((bin, columns)) = &self.row else { return false };
        if self.tabs || (self.wide > 0 && columns.len() >= self.wide) {
            return false;
        }
        let mut words = line.split_ascii_whitespace();
        let first = words.next().and_then(number::whole);
        let single = words.next().is_none();
        line.starts_with('\t') || single || by_tab(line) || first.is_some_and(|first| self.wide > 0 && first <= *bin)
    }

    fn more(&mut self, line: &str) -> Taken {
        let Some((_, columns)) = &mut self.row else { return Taken::No };
        push_all(columns, line)
    }

    fn row(&mut self, line: &str, unit_ns: u64, filled: &mut usize) -> Taken {
        self.end_row(unit_ns, filled);
        if self.rows == 0 {
            self.tabs = by_tab(line);
        }
        let Some((bin, rest)) = line.trim().split_once(|c: char| c.is_ascii_whitespace()) else {
            return Taken::Unreadable;
        };
        let Some(bin) = number::whole(bin).filter(|&b| number::scaled(b, unit_ns).is_some()) else {
            return Taken::Unreadable;
        };
        let mut columns = Vec::new();
        let taken = push_all(&mut columns, rest);
        self.row = Some((bin, columns));
        taken
    }

    pub fn end_row(&mut self, unit_ns: u64, filled: &mut usize) {
        let Some((bin, columns)) = self.row.take() else { return };
        if self.wide == 0 {
            self.wide = columns.len();
            self.columns = vec![Bins::default(); columns.len()];
        }
        self.ragged += u64::from(columns.len() != self.wide);
        // A repeated bin would be counted twice.
        if self.last_bin.is_some_and(|last| bin <= last) {
            self.back += 1;
            return;
        }
        self.rows += 1;
        self.empty += u64::from(columns.iter().all(|&n| n == 0));
        self.jumps += u64::from(self.last_bin.map_or(bin > 0, |last| bin > last + 1));
        self.last_bin = Some(bin);
        let Some(edge) = number::scaled(bin, unit_ns) else { return };
        for (samples, bins) in columns.into_iter().zip(&mut self.columns) {
            *filled += usize::from(samples > 0);
            self.ragged += u64::from(!bins.add(edge, samples));
        }
    }

    fn summary_words(&mut self, key: Key, text: &str) -> Taken {
        // Minimum width of figures: "%05lu", and "%09lu" for the total.
        const DIGITS: usize = 5;
        let Some(row) = self.summary.get_mut(key as usize) else { return Taken::No };
        for word in text.split_ascii_whitespace() {
            if row.len() > MOST_THREADS as usize {
                return Taken::Unreadable;
            }
            self.short += u64::from(word.len() < DIGITS);
            row.push(number::whole(word));
        }
        Taken::Yes
    }

    fn stated(&self, key: Key, column: usize) -> Option<u64> {
        self.summary.get(key as usize)?.get(column).copied().flatten()
    }

    fn figures(&self, key: Key) -> usize {
        self.summary.get(key as usize).map_or(0, Vec::len)
    }

    /// Returns true if the last column is the sum of the others (`-H`).
    fn has_sum(&self) -> bool {
        let Some((last, others)) = self.columns.split_last() else { return false };
        let adds_up = last.count == others.iter().map(|b| b.count).fold(0, u64::saturating_add);
        match self.figures(Key::Min) {
            0 => others.len() >= 2 && last.count > 0 && adds_up,
            1 => others.len() == 1 && adds_up,
            // The line of minima has no sum.
            n => self.columns.len() > n,
        }
    }

    pub fn block(&self, unit_ns: u64, facts: &Facts) -> Block {
        let sum = self.has_sum();
        let threads = match self.columns.len() {
            // Only the summary, or a part of it, is present.
            0 => [Key::Min, Key::Avg, Key::Max].into_iter().map(|key| self.figures(key)).find(|n| *n > 0).unwrap_or(0),
            n => n - usize::from(sum),
        };
        let mut block = Block { label: "wakeup latency".into(), lost: self.faults(sum, threads), ..Block::default() };
        block.threads = (0..threads.min(MOST_THREADS as usize)).map(|n| self.thread(n, unit_ns, facts)).collect();
        block
    }

    fn thread(&self, number: usize, unit_ns: u64, facts: &Facts) -> Thread {
        let bins = self.columns.get(number).cloned().unwrap_or_default();
        let in_bins = bins.count;
        let mut thread = Thread::new(number as u32, Samples::Bins(bins), unit_ns);
        let scaled = |n: Option<u64>| n.and_then(|n| number::scaled(n, unit_ns));
        let (total, over) = (self.stated(Key::Total, number), self.stated(Key::Overflow, number));
        // Newer versions omit empty rows, so the end of the bins is taken from the command.
        let asked = facts.command.and_then(|c| c.bins()).unwrap_or(0);
        let edge = self.last_bin.map_or(0, |bin| bin.saturating_add(1)).max(asked);
        let from_ns = scaled(Some(edge)).unwrap_or(0);
        thread.beyond = match over {
            Some(0) => Beyond::None,
            Some(count) => Beyond::Counted { count, from_ns },
            None => Beyond::Unknown { from_ns },
        };
        thread.count = total.zip(over).map(|(total, over)| total.saturating_add(over));
        let some = in_bins.max(total.unwrap_or(0)).saturating_add(over.unwrap_or(0)) > 0;
        if some || self.columns.is_empty() {
            thread.min_ns = scaled(self.stated(Key::Min, number));
            thread.max_ns = scaled(self.stated(Key::Max, number));
            // The stated mean is truncated to whole units and used only if the bins do not yield a better one.
            let mean = scaled(self.stated(Key::Avg, number)).map(|ns| ns as f64);
            thread.mean_ns = mean.filter(|_| thread.beyond != Beyond::None || self.columns.is_empty());
        }
        // If rows are wrapped irreparably, they are not bins.
        if self.columns.is_empty() || (self.ragged > 0 && self.is_summed()) {
            thread.samples = Samples::Summary;
            thread.beyond = match thread.count {
                Some(count) => Beyond::Counted { count, from_ns: 0 },
                None => Beyond::Unknown { from_ns: 0 },
            };
        }
        thread.lost.extend(self.other_mean(number, &thread));
        facts.add_to(&mut thread);
        thread
    }

    /// Compares the stated mean with the mean of the bins if all samples are in bins. This is the only check for
    /// versions without a total.
    fn other_mean(&self, number: usize, thread: &Thread) -> Option<Loss> {
        let Samples::Bins(bins) = &thread.samples else { return None };
        let stated = number::scaled(self.stated(Key::Avg, number)?, thread.width_ns)?;
        let complete = bins.count > 0 && thread.beyond == Beyond::None;
        let sum = bins.filled.iter().fold(0u128, |sum, (edge, n)| sum + u128::from(*edge) * u128::from(*n));
        let mean = sum.checked_div(u128::from(bins.count))?;
        let far = mean.abs_diff(u128::from(stated)) > u128::from(thread.width_ns);
        let text = "the stated mean latency differs from the mean of the bins";
        (complete && far).then(|| Loss::problem(LostKind::Disagreement, None, text))
    }

    fn faults(&self, sum: bool, threads: usize) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut rows = |n: u64, text: &str| {
            if n > 0 {
                lost.push(Loss::problem(LostKind::Unreadable, Some(n), text));
            }
        };
        rows(
            self.ragged,
            "rows of the histogram have a different number of columns than the first row, or impossible counts",
        );
        rows(self.back, "rows of the histogram repeat or decrease; they were skipped");
        rows(
            self.short,
            "values in the histogram's summary are truncated: they have fewer digits than the program prints",
        );
        // If empty bins have rows and almost all rows are one bin apart, the table has a row for every bin.
        let missing = if self.empty > 0 && self.jumps * 10 <= self.rows { self.jumps } else { 0 };
        if self.figures(Key::Total) == 0 {
            rows(missing, "rows of the histogram are missing");
        }
        if !self.is_summed() && self.tabs {
            let text = "the file has only the histogram's rows (as mklatencyplot keeps them): smallest and largest latency and the \
                        samples beyond the last bin are not stated";
            lost.push(Loss::reported(LostKind::Other, None, text));
        } else if [Key::Overflow, Key::Max, Key::Min].iter().any(|key| self.figures(*key) == 0) {
            let text = "the text ends before the histogram's summary: smallest and largest latency and the samples beyond the \
                        last bin are not stated";
            lost.push(Loss::problem(LostKind::Truncated, None, text));
        } else {
            lost.extend(self.uneven(threads));
            lost.extend(self.other_sums(threads));
        }
        if let Some((last, others)) = self.columns.split_last().filter(|_| sum) {
            let added = others.iter().map(|b| b.count).fold(0, u64::saturating_add);
            if added != last.count {
                let text = format!("the sum column has {} samples, but the threads have {added}", last.count);
                lost.push(Loss::problem(LostKind::Disagreement, None, text));
            }
        }
        lost
    }

    /// Compares the totals over all threads (`-H`) and the number of listed overflow cycles with the values stated for
    /// each thread.
    fn other_sums(&self, threads: usize) -> Option<Loss> {
        let of = |key: Key| (0..threads).map(move |n| self.stated(key, n).unwrap_or(0));
        let sum = |key: Key| of(key).fold(0, u64::saturating_add);
        let differs = |key: Key, figure: u64| self.stated(key, threads).is_some_and(|all| all != figure);
        let sums = differs(Key::Max, of(Key::Max).max().unwrap_or(0))
            || differs(Key::Overflow, sum(Key::Overflow))
            || differs(Key::Total, sum(Key::Total));
        let listed = self.listed.iter().zip(of(Key::Overflow)).any(|(listed, over)| *listed > over);
        let text = "the summary is contradictory: the totals over all threads, or the listed cycles, differ from the values of the threads";
        (sums || listed).then(|| Loss::problem(LostKind::Disagreement, None, text))
    }

    /// Checks that rows of the summary have one value per thread, plus one if the table has a sum column.
    fn uneven(&self, threads: usize) -> Option<Loss> {
        let odd = |key: Key| {
            let n = self.figures(key);
            let absent = n == 0 && matches!(key, Key::Total | Key::Avg);
            n != threads && n != threads + 1 && !absent
        };
        let any = [Key::Total, Key::Min, Key::Avg, Key::Max, Key::Overflow].into_iter().any(odd);
        let text = "rows of the histogram's summary have a different number of values than there are threads";
        any.then(|| Loss::problem(LostKind::Disagreement, None, text))
    }
}

/// Returns true if a tab follows the first word.
fn by_tab(line: &str) -> bool {
    let line = line.trim_start_matches(' ');
    line.find(char::is_whitespace).is_some_and(|at| line.as_bytes().get(at) == Some(&b'\t'))
}

fn push_all(columns: &mut Vec<u64>, text: &str) -> Taken {
    for word in text.split_ascii_whitespace() {
        match number::samples(word) {
            Some(n) if columns.len() <= MOST_THREADS as usize => columns.push(n),
            _ => return Taken::Unreadable,
        }
    }
    Taken::Yes
}
