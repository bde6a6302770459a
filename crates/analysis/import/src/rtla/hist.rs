use super::Kind;
use crate::bins::{Bins, MOST_BINS};
use crate::block::{Beyond, Block, Loss, MOST_THREADS, Samples, Skips, Thread};
use crate::number;
use crate::tools::Taken;
use crate::{Options, Unit};
use punctual_model::LostKind;

pub(super) struct Hist {
    noise: bool,
    unit: Option<Unit>,
    columns: Vec<Column>,
    /// Greatest common divisor of all indices, which is the bucket size or a multiple of it.
    divisor: u64,
    last: Option<u64>,
    filled: usize,
    /// True if the table has ended. The block over all CPUs may follow.
    over: bool,
    /// The largest value of the block over all CPUs.
    all_max: Option<u64>,
    summary: u8,
    back: u64,
}

struct Column {
    kind: Kind,
    cpu: u32,
    bins: Vec<(u64, u64)>,
    count: u64,
    over: Option<u64>,
    stated: Option<u64>,
    min: Option<u64>,
    max: Option<u64>,
    avg: Option<f64>,
}

/// Returns true for a header such as `Index   IRQ-000   Thr-000`.
pub(super) fn is_header(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let column = |word: &str| ["IRQ-", "Thr-", "Usr-", "CPU-"].iter().any(|kind| word.starts_with(kind));
    words.next() == Some("Index") && words.next().is_some_and(column)
}

/// Returns true if the line consists of integers only.
fn is_row(line: &str) -> bool {
    !line.is_empty() && line.split_ascii_whitespace().all(|word| number::whole(word).is_some())
}

const SUMMARY: [&str; 5] = ["over:", "count:", "min:", "avg:", "max:"];

impl Hist {
    pub fn new(noise: bool) -> Hist {
        Hist {
            noise,
            unit: None,
            columns: Vec::new(),
            divisor: 0,
            last: None,
            filled: 0,
            over: false,
            all_max: None,
            summary: 0,
            back: 0,
        }
    }

    pub fn format(&self) -> &'static str {
        if self.noise { "rtla-osnoise-hist" } else { "rtla-timerlat-hist" }
    }

    pub fn without_unit(&self) -> bool {
        self.unit.is_none()
    }

    pub fn is_full(&self) -> bool {
        self.filled > MOST_BINS
    }

    /// Returns true for a line of the block over all CPUs: an index and at most one value of each latency kind.
    fn of_all(&self, line: &str) -> bool {
        let kinds = self.columns.iter().map(|column| column.kind).collect::<std::collections::BTreeSet<_>>().len();
        let words = line.split_ascii_whitespace();
        is_header(line) || (is_row(line) && words.count() <= kinds + 1 && !line.starts_with("00000"))
    }

    /// Reads a line; `None` if it looks like results but cannot be read.
    pub fn line(&mut self, line: &str) -> Option<Taken> {
        if let Some(unit) = line.strip_prefix("# Time unit is ") {
            self.unit = if unit.contains("nano") { Some(Unit::Nanos) } else { Some(Unit::Micros) };
            return Some(Taken::Yes);
        }
        if is_header(line) && self.columns.is_empty() {
            return self.header(line).map(|()| Taken::Yes);
        }
        if line.starts_with("ALL:") {
            self.over = true;
        }
        let summary = SUMMARY.iter().enumerate().find_map(|(at, key)| Some((at, line.strip_prefix(key)?)));
        if self.over
            && let Some(figures) = line.strip_prefix("max:")
        {
            self.all_max = figures.split_ascii_whitespace().filter_map(number::whole).max();
        }
        if self.over || self.columns.is_empty() {
            let about = ["# RTLA", "# Time unit", "# Duration", "# Saving", "# Options"];
            let own = about.iter().any(|start| line.starts_with(start))
                || (self.over && (line.starts_with("ALL:") || summary.is_some()))
                || (self.over && self.of_all(line));
            return Some(if own { Taken::Yes } else { Taken::No });
        }
        if let Some((at, rest)) = summary {
            return self.summary(at, rest).map(|()| Taken::Yes);
        }
        match is_row(line) && self.summary == 0 {
            true => self.row(line).map(|()| Taken::Yes),
            false => Some(Taken::No),
        }
    }

    fn header(&mut self, line: &str) -> Option<()> {
        for word in line.split_ascii_whitespace().skip(1).take(3 * MOST_THREADS as usize) {
            let (kind, cpu) = word.split_once('-')?;
            let kind = match kind {
                "IRQ" => Kind::Irq,
                "Thr" => Kind::Thread,
                "Usr" => Kind::User,
                "CPU" => Kind::Noise,
                _ => return None,
            };
            let cpu = number::whole(cpu).filter(|&cpu| cpu < 8_192)? as u32;
            let (bins, nothing) = (Vec::new(), None);
            self.columns.push(Column {
                kind,
                cpu,
                bins,
                count: 0,
                over: nothing,
                stated: nothing,
                min: nothing,
                max: nothing,
                avg: None,
            });
        }
        Some(())
    }

    fn row(&mut self, line: &str) -> Option<()> {
        let numbers: Vec<u64> = line.split_ascii_whitespace().map(number::samples).collect::<Option<_>>()?;
        let (&index, counts) = numbers.split_first()?;
        if counts.len() != self.columns.len() || number::scaled(index, 1_000).is_none() {
            return None;
        }
        if self.last.is_some_and(|last| index <= last) {
            self.back += 1;
            return Some(());
        }
        self.last = Some(index);
        self.divisor = gcd(self.divisor, index);
        for (&samples, column) in counts.iter().zip(&mut self.columns) {
            column.count = column.count.checked_add(samples).filter(|&n| n <= number::MOST_SAMPLES)?;
            if samples > 0 {
                column.bins.push((index, samples));
                self.filled += 1;
            }
        }
        Some(())
    }

    fn summary(&mut self, at: usize, rest: &str) -> Option<()> {
        self.summary += 1;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        // If there are no samples, a single 0 is printed.
        if words.len() != self.columns.len() {
            return (words == ["0"]).then_some(());
        }
        for (word, column) in words.into_iter().zip(&mut self.columns) {
            let whole = number::whole(word);
            match at {
                0 => column.over = whole,
                1 => column.stated = whole,
                2 => column.min = whole,
                3 => column.avg = number::decimal(word),
                _ => column.max = whole,
            }
        }
        self.over = at == 4;
        Some(())
    }

    pub fn blocks(self, given: Option<Unit>, options: &Options) -> Vec<Block> {
        let unit_ns = given.or(self.unit).unwrap_or(Unit::Micros).ns();
        let kinds = [Kind::Irq, Kind::Thread, Kind::User, Kind::Noise];
        let block = |kind: Kind| {
            let columns = self.columns.iter().filter(|c| c.kind == kind);
            let threads = columns.map(|column| self.thread(column, unit_ns, options)).collect();
            Block { label: kind.label().into(), threads, lost: self.faults(), ..Block::default() }
        };
        kinds.into_iter().map(block).filter(|b| !b.threads.is_empty()).collect()
    }

    fn thread(&self, column: &Column, unit_ns: u64, options: &Options) -> Thread {
        let scaled = |n: u64| number::scaled(n, unit_ns);
        let mut bins = Bins::default();
        for &(index, samples) in &column.bins {
            bins.add(scaled(index).unwrap_or(number::LARGEST_NS), samples);
        }
        let over = column.over;
        // If only the first bucket is filled, its width is unknown, but at most the largest sample plus one.
        let width = match self.divisor {
            0 => column.max.filter(|_| over == Some(0)).map_or(1, |max| max.saturating_add(1)),
            width => width,
        };
        let mut thread = Thread::new(column.cpu, Samples::Bins(bins), scaled(width).unwrap_or(unit_ns));
        thread.cpu = Some(column.cpu);
        // Empty rows are omitted and the bucket size is not printed, so the samples are only known to lie beyond the
        // last row.
        let from_ns = scaled(self.last.map_or(0, |last| last.saturating_add(1))).unwrap_or(number::LARGEST_NS);
        thread.beyond = match over {
            Some(0) => Beyond::None,
            Some(count) => Beyond::Counted { count, from_ns },
            None => Beyond::Unknown { from_ns },
        };
        let some = column.count.saturating_add(over.unwrap_or(0)) > 0;
        let stated = |n: Option<u64>| n.filter(|_| some).and_then(scaled);
        (thread.count, thread.min_ns, thread.max_ns) = (column.stated, stated(column.min), stated(column.max));
        thread.mean_ns = column.avg.filter(|_| some).map(|v| v * unit_ns as f64);
        if self.noise {
            thread.skips = Skips::NoPeriods;
        } else {
            thread.period_ns = options.period.map(|p| p.0);
        }
        thread
    }

    fn faults(&self) -> Vec<Loss> {
        let mut lost = Vec::new();
        if self.back > 0 {
            let text = "rows of the histogram repeat or decrease; they were skipped";
            lost.push(Loss::problem(LostKind::Unreadable, Some(self.back), text));
        }
        let most = self.columns.iter().filter_map(|column| column.max).max();
        if self.all_max.is_some_and(|all| Some(all) != most) {
            let text = "the largest latency of all CPUs differs from that of the columns";
            lost.push(Loss::problem(LostKind::Disagreement, None, text));
        }
        if self.summary < 5 {
            let text = "the text ends before the histogram's summary, or it was not printed (--no-summary)";
            lost.push(Loss::problem(LostKind::Truncated, None, text));
        }
        lost
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
