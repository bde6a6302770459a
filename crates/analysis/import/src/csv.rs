//! Histograms as CSV: a row per bin; the first column is the bin, then a column per CPU.

use crate::bins::{Bins, MOST_BINS};
use crate::block::{Beyond, Block, Found, Loss, MOST_THREADS, Samples, Thread};
use crate::text::Lines;
use crate::{Options, Unit, number};
use punctual_model::LostKind;

pub(crate) struct Reader {
    unit: Option<Unit>,
    header: Vec<String>,
    columns: Vec<Bins>,
    edges: Edges,
    wide: usize,
    filled: usize,
    ragged: u64,
    repeated: u64,
    unreadable: u64,
}

/// Regularity of the first column.
#[derive(Default)]
struct Edges {
    last: Option<u64>,
    /// The smallest step between rows so far.
    step: Option<u64>,
    even: bool,
    rows: u64,
}

impl Edges {
    /// Returns `false` for a repeated or descending edge.
    fn next(&mut self, edge: u64) -> bool {
        if let Some(last) = self.last {
            if edge <= last {
                return false;
            }
            let step = edge - last;
            self.even = self.step.is_none_or(|s| s == step) && (self.even || self.rows == 1);
            self.step = Some(self.step.map_or(step, |s| s.min(step)));
        }
        self.rows += 1;
        self.last = Some(edge);
        true
    }

    /// Width of a bin in units: the step if all rows are equally far apart, otherwise 1.
    fn width(&self) -> u64 {
        self.step.filter(|_| self.even).unwrap_or(1)
    }
}

impl Reader {
    pub fn new(options: &Options) -> Reader {
        Reader {
            unit: options.unit,
            header: Vec::new(),
            columns: Vec::new(),
            edges: Edges::default(),
            wide: 0,
            filled: 0,
            ragged: 0,
            repeated: 0,
            unreadable: 0,
        }
    }

    fn header(&mut self, fields: &[&str]) {
        self.header = fields.iter().take(MOST_THREADS as usize + 1).map(|f| f.chars().take(40).collect()).collect();
        let first = self.header.first().map(|f| f.to_ascii_lowercase()).unwrap_or_default();
        let told = match () {
            () if first.contains("ns") || first.contains("nano") => Some(Unit::Nanos),
            () if first.contains("us") || first.contains("µs") || first.contains("micro") => Some(Unit::Micros),
            () => None,
        };
        self.unit = self.unit.or(told);
    }

    fn unit_ns(&self) -> u64 {
        self.unit.unwrap_or(Unit::Micros).ns()
    }

    fn row(&mut self, fields: &[&str]) {
        let numbers: Option<Vec<u64>> = fields.iter().map(|f| number::samples(f)).collect();
        let Some((&edge, counts)) = numbers.as_deref().and_then(<[u64]>::split_first) else {
            self.unreadable += 1;
            return;
        };
        let Some(edge_ns) = number::scaled(edge, self.unit_ns()).filter(|_| counts.len() <= MOST_THREADS as usize)
        else {
            self.unreadable += 1;
            return;
        };
        if !self.edges.next(edge) {
            self.repeated += 1;
            return;
        }
        if self.wide == 0 {
            self.wide = counts.len();
            self.columns = vec![Bins::default(); counts.len()];
        }
        self.ragged += u64::from(counts.len() != self.wide);
        for (&samples, bins) in counts.iter().zip(&mut self.columns) {
            self.filled += usize::from(samples > 0);
            self.ragged += u64::from(!bins.add(edge_ns, samples));
        }
    }

    fn faults(&self) -> Vec<Loss> {
        [
            (self.ragged, "rows have another number of columns than the first, or counts that cannot be"),
            (self.repeated, "rows repeat a bin or go back, and were left out"),
            (self.unreadable, "rows could not be read"),
        ]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, text)| Loss::problem(LostKind::Unreadable, Some(n), text))
        .collect()
    }
}

impl Lines for Reader {
    fn line(&mut self, line: &str) -> Result<(), (String, &'static str)> {
        let fields: Vec<&str> = line.split([',', ';', '\t']).map(|f| f.trim().trim_matches('"')).collect();
        if fields.len() < 2 {
            return Ok(());
        }
        let numeric = fields.first().is_some_and(|f| f.starts_with(|c: char| c.is_ascii_digit()));
        if self.filled > MOST_BINS {
            return Err((format!("more than {MOST_BINS} filled bins"), "import fewer columns"));
        }
        match numeric {
            true => self.row(&fields),
            false if self.edges.rows == 0 => self.header(&fields),
            false => {}
        }
        Ok(())
    }

    fn finish(self, options: &Options) -> Found {
        let (unit_ns, width) = (self.unit_ns(), self.edges.width());
        let width_ns = width.saturating_mul(unit_ns);
        let end = self.edges.last.map_or(0, |last| last.saturating_add(width));
        let from_ns = number::scaled(end, unit_ns).unwrap_or(number::LARGEST_NS);
        let mut block = Block { label: "latency".into(), lost: self.faults(), ..Block::default() };
        for (number, bins) in self.columns.iter().enumerate() {
            let mut thread = Thread::new(number as u32, Samples::Bins(bins.clone()), width_ns);
            thread.beyond = Beyond::Unknown { from_ns };
            thread.period_ns = options.period.map(|p| p.0);
            block.threads.push(thread);
        }
        let mut found = Found { format: "csv-histogram".into(), ..Found::default() };
        if self.unit.is_none() {
            let text = "the table does not tell its unit: microseconds are assumed (else say --unit ns)";
            found.lost.push(Loss::told(LostKind::Unit, None, text));
        }
        let names: Vec<&str> = self.header.iter().skip(1).map(String::as_str).collect();
        if !names.is_empty() {
            let shown: Vec<String> = names.iter().take(16).map(|n| clean(n)).collect();
            let more = if names.len() > 16 { ", …" } else { "" };
            found.notes.push(format!("the columns are named {}{more}", shown.join(", ")));
        }
        found.blocks.push(block);
        found
    }
}

fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
