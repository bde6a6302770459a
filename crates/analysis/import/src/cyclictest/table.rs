use super::live::Facts;
use crate::bins::{Bins, MOST_BINS};
use crate::block::{Beyond, Block, Loss, MOST_THREADS, Samples, Thread};
use crate::number;
use punctual_model::LostKind;

const MOST_BLOCKS: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    No,
    Yes,
    Unreadable,
    TooMany,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Total,
    Min,
    Avg,
    Max,
    Overflow,
}

const KEYS: [(&str, Key); 5] = [
    ("# Total:", Key::Total),
    ("# Min Latencies:", Key::Min),
    ("# Avg Latencies:", Key::Avg),
    ("# Max Latencies:", Key::Max),
    ("# Histogram Overflows:", Key::Overflow),
];

#[derive(Default)]
pub(super) struct Histograms {
    done: Vec<One>,
    now: Option<One>,
    filled: usize,
}

#[derive(Default)]
struct One {
    columns: Vec<Bins>,
    row: Option<(u64, Vec<u64>)>,
    wide: usize,
    ragged: u64,
    last_bin: Option<u64>,
    back: u64,
    summary: [Vec<Option<u64>>; 5],
    key: Option<Key>,
    /// The summary has begun: no more rows.
    summed: bool,
    /// Cycle numbers of overflows follow, which look like rows.
    cycles: bool,
}

impl Histograms {
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.now.is_none()
    }

    pub fn line(&mut self, line: &str, unit_ns: u64) -> Taken {
        let trimmed = line.trim();
        if trimmed.eq_ignore_ascii_case("# Histogram") {
            return self.begin();
        }
        if let Some((text, key)) = KEYS.iter().find_map(|(t, k)| Some((trimmed.strip_prefix(t)?, *k))) {
            let one = self.now.get_or_insert_default();
            one.end_row(unit_ns, &mut self.filled);
            (one.key, one.summed) = (Some(key), true);
            return one.summary_words(key, text);
        }
        if trimmed.starts_with("# Histogram Overflow at") || trimmed.starts_with("# Thread ") {
            if let Some(one) = &mut self.now {
                (one.key, one.cycles) = (None, true);
            }
            return if self.now.is_some() { Taken::Yes } else { Taken::No };
        }
        self.numbers(line, trimmed, unit_ns)
    }

    fn begin(&mut self) -> Taken {
        if let Some(one) = self.now.replace(One::default())
            && self.done.len() < MOST_BLOCKS
        {
            self.done.push(one);
        }
        Taken::Yes
    }

    /// A line of numbers: a row, or the rest of one that a mail client wrapped.
    fn numbers(&mut self, line: &str, trimmed: &str, unit_ns: u64) -> Taken {
        let digits = |w: &str| w.bytes().all(|b| b.is_ascii_digit());
        if trimmed.is_empty() || !trimmed.split_ascii_whitespace().all(digits) {
            // Other text ends whatever was to be continued.
            if let Some(one) = &mut self.now {
                one.key = None;
            }
            return Taken::No;
        }
        if self.filled > MOST_BINS {
            return Taken::TooMany;
        }
        let filled = &mut self.filled;
        match &mut self.now {
            Some(one) if one.cycles => Taken::Yes,
            Some(One { key: Some(key), .. }) => {
                let key = *key;
                self.now.as_mut().map_or(Taken::No, |one| one.summary_words(key, trimmed))
            }
            Some(one) if one.summed => Taken::No,
            Some(one) if one.continues(line) => one.more(trimmed),
            _ if !is_row(trimmed) => Taken::No,
            now => now.get_or_insert_default().row(trimmed, unit_ns, filled),
        }
    }

    pub fn finish(mut self, unit_ns: u64, facts: &Facts) -> Vec<Block> {
        let last = self.now.take().map(|mut one| {
            one.end_row(unit_ns, &mut self.filled);
            one
        });
        let all: Vec<One> = self.done.into_iter().chain(last).collect();
        let single = all.len() == 1;
        all.into_iter().map(|one| one.block(unit_ns, facts, single)).filter(|b| !b.threads.is_empty()).collect()
    }
}

/// At least six digits, then at least one count.
fn is_row(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next().is_some_and(|w| w.len() >= 6) && words.next().is_some()
}

impl One {
    /// The line continues the preceding row. A row begins with its bin and a space; its columns are separated by tabs,
    /// so a continuation begins with a tab, is a single number, or has as many columns as the row lacks.
    fn continues(&self, line: &str) -> bool {
        let Some((bin, columns)) = &self.row else { return false };
        if self.wide > 0 && columns.len() >= self.wide {
            return false;
        }
        let mut words = line.split_ascii_whitespace();
        let first = words.next().and_then(number::whole);
        let single = words.next().is_none();
        let by_tab = line
            .trim_start_matches(' ')
            .find(char::is_whitespace)
            .is_some_and(|at| line.trim_start_matches(' ').as_bytes().get(at) == Some(&b'\t'));
        line.starts_with('\t') || single || by_tab || first.is_some_and(|first| self.wide > 0 && first <= *bin)
    }

    fn more(&mut self, line: &str) -> Taken {
        let Some((_, columns)) = &mut self.row else { return Taken::No };
        push_all(columns, line)
    }

    fn row(&mut self, line: &str, unit_ns: u64, filled: &mut usize) -> Taken {
        self.end_row(unit_ns, filled);
        let Some((bin, rest)) = line.split_once(|c: char| c.is_ascii_whitespace()) else { return Taken::Unreadable };
        let Some(bin) = number::whole(bin).filter(|&b| number::scaled(b, unit_ns).is_some()) else {
            return Taken::Unreadable;
        };
        let mut columns = Vec::new();
        let taken = push_all(&mut columns, rest);
        self.row = Some((bin, columns));
        taken
    }

    fn end_row(&mut self, unit_ns: u64, filled: &mut usize) {
        let Some((bin, columns)) = self.row.take() else { return };
        if self.wide == 0 {
            self.wide = columns.len();
            self.columns = vec![Bins::default(); columns.len()];
        }
        self.ragged += u64::from(columns.len() != self.wide);
        // A repeated bin would count twice.
        if self.last_bin.is_some_and(|last| bin <= last) {
            self.back += 1;
            return;
        }
        self.last_bin = Some(bin);
        let Some(edge) = number::scaled(bin, unit_ns) else { return };
        for (samples, bins) in columns.into_iter().zip(&mut self.columns) {
            *filled += usize::from(samples > 0);
            self.ragged += u64::from(!bins.add(edge, samples));
        }
    }

    fn summary_words(&mut self, key: Key, text: &str) -> Taken {
        let Some(row) = self.summary.get_mut(key as usize) else { return Taken::No };
        for word in text.split_ascii_whitespace() {
            if row.len() > MOST_THREADS as usize {
                return Taken::Unreadable;
            }
            row.push(number::whole(word));
        }
        Taken::Yes
    }

    fn told(&self, key: Key, column: usize) -> Option<u64> {
        self.summary.get(key as usize)?.get(column).copied().flatten()
    }

    /// The last column is the sum of the others (`-H`).
    fn has_sum(&self) -> bool {
        let rows = |key: Key| self.summary.get(key as usize).map_or(0, Vec::len);
        if rows(Key::Min) > 0 {
            // The minimum has no sum.
            return self.columns.len() > rows(Key::Min) && rows(Key::Min) > 1;
        }
        let Some((last, others)) = self.columns.split_last() else { return false };
        others.len() >= 2 && last.count > 0 && last.count == others.iter().map(|b| b.count).fold(0, u64::saturating_add)
    }

    fn block(self, unit_ns: u64, facts: &Facts, single: bool) -> Block {
        let sum = self.has_sum();
        let threads = match self.columns.len() {
            0 => self.summary.get(Key::Min as usize).map_or(0, Vec::len),
            n => n - usize::from(sum),
        };
        let mut block = Block { label: "wakeup latency".into(), lost: self.faults(sum), ..Block::default() };
        for number in 0..threads.min(MOST_THREADS as usize) {
            let thread = self.thread(number, unit_ns, single, facts);
            block.threads.push(thread);
        }
        block
    }

    fn thread(&self, number: usize, unit_ns: u64, single: bool, facts: &Facts) -> Thread {
        let bins = self.columns.get(number).cloned().unwrap_or_default();
        let in_bins = bins.count;
        let mut thread = Thread::new(number as u32, Samples::Bins(bins), unit_ns);
        let scaled = |n: Option<u64>| n.and_then(|n| crate::number::scaled(n, unit_ns));
        // Newer versions omit empty rows; the command gives the end of the bins.
        let asked = facts.command.and_then(|c| c.bins()).unwrap_or(0);
        let edge = self.last_bin.map_or(0, |bin| bin.saturating_add(1)).max(asked);
        let from_ns = scaled(Some(edge)).unwrap_or(0);
        thread.beyond = match self.told(Key::Overflow, number) {
            Some(0) => Beyond::None,
            Some(count) => Beyond::Counted { count, from_ns },
            None => Beyond::Unknown { from_ns },
        };
        let samples = in_bins.saturating_add(self.told(Key::Overflow, number).unwrap_or(0));
        if samples > 0 {
            thread.min_ns = scaled(self.told(Key::Min, number));
            thread.max_ns = scaled(self.told(Key::Max, number));
            // Truncated to whole units: used only if the bins give no better mean.
            let mean = scaled(self.told(Key::Avg, number)).map(|ns| ns as f64);
            thread.mean_ns = mean.filter(|_| thread.beyond != Beyond::None);
        }
        if let Some(told) = self.told(Key::Total, number).filter(|&told| told != in_bins) {
            let text = format!("`# Total` tells {told} samples, the bins hold {in_bins}");
            thread.lost.push(Loss::problem(LostKind::Disagreement, None, text));
        }
        facts.add_to(&mut thread, single);
        thread
    }

    fn faults(&self, sum: bool) -> Vec<Loss> {
        let mut lost = Vec::new();
        if self.ragged > 0 {
            let text = "rows of the histogram have another number of columns than the first, or counts that cannot be";
            lost.push(Loss::problem(LostKind::Unreadable, Some(self.ragged), text));
        }
        if self.back > 0 {
            let text = "rows of the histogram repeat or go back; they were left out";
            lost.push(Loss::problem(LostKind::Unreadable, Some(self.back), text));
        }
        let rows = |key: Key| self.summary.get(key as usize).map_or(0, Vec::len);
        if rows(Key::Overflow) == 0 || rows(Key::Max) == 0 || rows(Key::Min) == 0 {
            let text = "the text ends before the histogram's summary: smallest and largest latency and the samples beyond the \
                        last bin are not told";
            lost.push(Loss::problem(LostKind::Truncated, None, text));
        }
        if let Some((last, others)) = self.columns.split_last().filter(|_| sum) {
            let added = others.iter().map(|b| b.count).fold(0, u64::saturating_add);
            if added != last.count {
                let text = format!("the sum column holds {} samples, the threads {added}", last.count);
                lost.push(Loss::problem(LostKind::Disagreement, None, text));
            }
        }
        lost
    }
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
