use super::roles::{Column, Role, of_names};
use crate::bins::{Bins, MOST_BINS};
use crate::block::{Beyond, Block, Loss, MOST_THREADS, Samples, Thread};
use crate::number::{self, LARGEST_NS};
use crate::tools::Line;
use crate::{Options, Unit};
use punctual_model::LostKind;
use punctual_units::Histogram;
use std::collections::BTreeMap;

type Row = [Option<f64>];

/// Maximum number of rows stored until their shape determines their meaning.
const SHAPE: usize = 4_096;

pub(super) struct Table {
    pub names: Vec<String>,
    wide: usize,
    line: u64,
    before: Option<String>,
    /// Roles of the columns; `None` until they are known.
    roles: Option<Vec<Column>>,
    /// True if `--columns` does not fit this table.
    misfit: bool,
    unit: Option<Unit>,
    waiting: Vec<Vec<Option<f64>>>,
    /// True if the shape of the rows is inconclusive.
    shapeless: bool,
    first: Option<f64>,
    edges: Edges,
    bins: Vec<Bins>,
    filled: usize,
    /// Samples by CPU if there is a column of CPUs, otherwise by column.
    samples: BTreeMap<u32, Histogram>,
    extremes: BTreeMap<u32, (f64, f64, f64, u64)>,
    rows: u64,
    ragged: u64,
    unreadable: u64,
    negative: u64,
}

/// The first column of a histogram.
#[derive(Default)]
struct Edges {
    last: Option<f64>,
    /// The smallest step between rows so far.
    step: Option<f64>,
    uneven: bool,
    jumps: u64,
    repeated: u64,
    empty: u64,
}

impl Edges {
    /// Adds an edge. Returns `false` if it repeats or descends.
    fn next(&mut self, edge: f64) -> bool {
        if let Some(last) = self.last {
            if edge <= last {
                self.repeated += 1;
                return false;
            }
            let step = edge - last;
            let first = *self.step.get_or_insert(step);
            let times = step / first;
            self.uneven |= (times - times.round()).abs() > 1e-6 || times < 0.5;
            self.jumps += u64::from(times > 1.5);
        }
        self.last = Some(edge);
        true
    }

    /// Returns the width of a bin: the step if the distances of all rows are multiples of it, otherwise `None`.
    fn width(&self) -> Option<f64> {
        self.step.filter(|_| !self.uneven)
    }
}

impl Table {
    pub fn new(names: Vec<String>, wide: usize, line: &Line, options: &Options) -> Table {
        let given = options.columns.as_ref();
        let roles = match given {
            Some(columns) => columns.roles(wide),
            None => of_names(&names).filter(|_| names.len() == wide),
        };
        Table {
            misfit: given.is_some() && roles.is_none(),
            names,
            wide,
            line: line.number,
            before: line.before.map(str::to_owned),
            roles,
            unit: options.unit,
            waiting: Vec::new(),
            shapeless: false,
            first: None,
            edges: Edges::default(),
            bins: Vec::new(),
            filled: 0,
            samples: BTreeMap::new(),
            extremes: BTreeMap::new(),
            rows: 0,
            ragged: 0,
            unreadable: 0,
            negative: 0,
        }
    }

    pub fn wide(&self) -> usize {
        self.wide
    }

    /// Returns true if the roles are known and the corresponding cells have valid values. Other cells may contain
    /// words.
    pub fn takes(&self, row: &Row) -> bool {
        let needed = |(role, _): &Column| matches!(role, Role::Bin | Role::Sample | Role::Max);
        let roles = self.roles.as_deref().unwrap_or_default();
        let number = |cell: &Option<f64>| cell.is_some_and(|value| !value.is_nan());
        row.len() == self.wide && roles.iter().zip(row).any(|(column, cell)| needed(column) && number(cell))
    }

    /// Notes that text occurred between two rows.
    pub fn torn(&mut self, lines: u64) {
        self.unreadable += lines;
    }

    /// Returns true if the row begins another table, because a histogram starts over or the rows are of another kind.
    pub fn ends_before(&self, row: &Row) -> bool {
        let again = self.wide > 1
            && self.is_histogram() != Some(false)
            && row.first().copied().flatten() == self.first
            && self.rows > 1
            && self.first.is_some();
        again || (row.len() != self.wide && (row.len() < 2 || self.wide < 2 || row.len().abs_diff(self.wide) > 1))
    }

    fn is_histogram(&self) -> Option<bool> {
        Some(self.roles.as_ref()?.iter().any(|(role, _)| *role == Role::Bin))
    }

    pub fn add(&mut self, row: &Row) {
        self.first = self.first.or(row.first().copied().flatten());
        self.rows += 1;
        if row.len() != self.wide {
            self.ragged += 1;
            return;
        }
        match self.roles.take() {
            Some(roles) => {
                self.take(&roles, row);
                self.roles = Some(roles);
            }
            None if self.shapeless => self.unreadable += 1,
            None if self.waiting.len() < SHAPE => self.waiting.push(row.to_vec()),
            None => {
                self.waiting.push(row.to_vec());
                self.settle();
            }
        }
    }

    /// Derives the roles from the shape of the rows if they are not known otherwise.
    pub fn settle(&mut self) {
        if self.roles.is_none() && self.names.is_empty() && !self.misfit {
            self.roles = shape(&self.waiting, self.wide);
            self.shapeless = self.roles.is_none();
        }
        if let Some(roles) = self.roles.take() {
            for row in std::mem::take(&mut self.waiting) {
                self.take(&roles, &row);
            }
            self.roles = Some(roles);
        }
    }

    fn take(&mut self, roles: &[Column], row: &Row) {
        let at = |wanted: Role| roles.iter().position(|(role, _)| *role == wanted);
        let cell = |at: Option<usize>| at.and_then(|at| row.get(at).copied().flatten());
        if let Some(bin) = at(Role::Bin) {
            return self.bin(roles, row, bin);
        }
        let cpu = cell(at(Role::Cpu)).filter(|cpu| (0.0..8_192.0).contains(cpu)).map(|cpu| cpu as u32);
        let columns = roles.iter().enumerate().filter(|(_, (role, _))| *role == Role::Sample);
        for (n, (column, (_, unit))) in columns.enumerate() {
            // An empty cell is not a sample. A cell with words is NaN.
            let Some(value) = row.get(column).copied().flatten() else { continue };
            match self.ns(value, *unit).filter(|_| !value.is_nan()) {
                Some(ns) if self.samples.len() < MOST_THREADS as usize => {
                    self.negative += u64::from(value < 0.0);
                    self.samples.entry(cpu.unwrap_or(n as u32)).or_default().record(ns);
                }
                _ => self.unreadable += 1,
            }
        }
        if let Some(max) = at(Role::Max) {
            let scale = roles.get(max).and_then(|(_, unit)| *unit);
            let (Some(most), least) = (cell(Some(max)).filter(|v| !v.is_nan()), cell(at(Role::Min))) else {
                self.unreadable += 1;
                return;
            };
            let scale = scale.or(self.unit.map(|unit| unit.ns() as f64)).unwrap_or(f64::NAN);
            let entry = self.extremes.entry(cpu.unwrap_or(0)).or_insert((f64::INFINITY, 0.0, scale, 0));
            entry.0 = entry.0.min(least.unwrap_or(most));
            entry.1 = entry.1.max(most);
            entry.3 += 1;
        }
    }

    fn bin(&mut self, roles: &[Column], row: &Row, bin: usize) {
        let edge = row.get(bin).copied().flatten();
        let unit = roles.get(bin).and_then(|(_, unit)| *unit);
        let Some((edge, ns)) = edge.filter(|edge| *edge >= 0.0).and_then(|edge| Some((edge, self.ns(edge, unit)?)))
        else {
            self.unreadable += 1;
            return;
        };
        if !self.edges.next(edge) {
            return;
        }
        let counts = roles.iter().zip(row).filter(|((role, _), _)| *role == Role::Count).map(|(_, cell)| *cell);
        let counts: Vec<Option<u64>> = counts.map(|cell| whole(cell?)).collect();
        self.edges.empty += u64::from(counts.iter().all(|n| *n == Some(0)));
        if self.bins.len() < counts.len() {
            self.bins.resize_with(counts.len(), Bins::default);
        }
        for (count, bins) in counts.into_iter().zip(&mut self.bins) {
            let added = self.filled < MOST_BINS && count.is_some_and(|count| bins.add(ns, count));
            self.filled += usize::from(count.is_some_and(|n| n > 0));
            self.unreadable += u64::from(!added);
        }
    }

    fn ns(&self, value: f64, unit: Option<f64>) -> Option<u64> {
        let scale = unit.or(self.unit.map(|unit| unit.ns() as f64)).unwrap_or(1e3);
        let ns = (value.max(0.0) * scale).round();
        (ns <= LARGEST_NS as f64).then_some(ns as u64)
    }

    fn stated_unit(&self) -> bool {
        let units =
            self.roles.iter().flatten().filter(|(role, _)| matches!(role, Role::Bin | Role::Sample | Role::Max));
        self.unit.is_some() || units.into_iter().all(|(_, unit)| unit.is_some())
    }

    /// Returns the result, and the name of its format. The error describes the table.
    pub fn block(&self, options: &Options) -> Result<(Block, &'static str), String> {
        let histogram = match self.is_histogram() {
            Some(histogram) => histogram,
            None => return Err(self.unlike()),
        };
        if !histogram && !self.stated_unit() {
            return Err(format!("{}: the unit is not stated: use --unit us or --unit ns", self.seen()));
        }
        let mut block =
            Block { label: "latency".into(), line: self.line, before: self.before.clone(), ..Block::default() };
        block.lost = self.faults();
        let threads = match () {
            () if histogram => self.of_bins(),
            () if !self.samples.is_empty() => self.of_samples(),
            () => self.of_extremes(),
        };
        block.threads = threads;
        block.threads.iter_mut().for_each(|thread| thread.period_ns = options.period.map(|p| p.0));
        let format = if histogram { "csv-histogram" } else { "csv-samples" };
        Ok((block, format))
    }

    fn of_bins(&self) -> Vec<Thread> {
        let scale = self.roles.iter().flatten().find(|(role, _)| *role == Role::Bin).and_then(|(_, unit)| *unit);
        let scale = scale.or(self.unit.map(|unit| unit.ns() as f64)).unwrap_or(1e3);
        let width = self.edges.width().map_or(1.0, |width| width * scale).round().max(1.0) as u64;
        let last = (self.edges.last.unwrap_or(0.0) * scale).round() as u64;
        let from_ns = last.saturating_add(width).min(LARGEST_NS);
        let thread = |(n, bins): (usize, &Bins)| {
            let mut thread = Thread::new(n as u32, Samples::Bins(bins.clone()), width);
            thread.beyond = Beyond::Unknown { from_ns };
            thread
        };
        self.bins.iter().enumerate().take(MOST_THREADS as usize).map(thread).collect()
    }

    fn of_samples(&self) -> Vec<Thread> {
        let cpus = self.roles.iter().flatten().any(|(role, _)| *role == Role::Cpu);
        let thread = |(&n, histogram): (&u32, &Histogram)| {
            let mut thread = Thread::new(n, Samples::Each(histogram.clone()), 1);
            thread.cpu = cpus.then_some(n);
            thread
        };
        self.samples.iter().map(thread).collect()
    }

    fn of_extremes(&self) -> Vec<Thread> {
        let cpus = self.roles.iter().flatten().any(|(role, _)| *role == Role::Cpu);
        let thread = |(&n, &(min, max, scale, rows)): (&u32, &(f64, f64, f64, u64))| {
            let mut thread = Thread::new(n, Samples::Summary, 1);
            let ns = |value: f64| {
                Some((value.max(0.0) * scale).round()).filter(|ns| *ns <= LARGEST_NS as f64).map(|ns| ns as u64)
            };
            (thread.min_ns, thread.max_ns) = (ns(min), ns(max));
            thread.cpu = cpus.then_some(n);
            thread.beyond = Beyond::Unknown { from_ns: 0 };
            let text = "each row has the extremes of an interval: the number of samples is unknown";
            thread.lost.push(Loss::reported(LostKind::Distribution, Some(rows), text));
            thread
        };
        self.extremes.iter().map(thread).collect()
    }

    fn faults(&self) -> Vec<Loss> {
        // If empty bins have rows and almost all rows are one step apart, the table has a row for every bin.
        let dense = self.edges.empty > 0 && !self.edges.uneven && self.edges.jumps * 10 <= self.rows;
        let missing = if dense { self.edges.jumps } else { 0 };
        [
            (self.ragged, "rows have a different number of columns than the first"),
            (self.edges.repeated, "rows repeat a bin or decrease and were skipped"),
            (missing, "rows of bins are missing"),
            (self.unreadable, "figures could not be read"),
            (self.negative, "latencies are negative; they are placed at 0"),
        ]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, text)| Loss::problem(LostKind::Unreadable, Some(n), text))
        .collect()
    }

    pub fn unit_lost(&self) -> Option<Loss> {
        let text = "the table does not state its unit: microseconds are assumed (otherwise use --unit ns)";
        (!self.stated_unit()).then(|| Loss::reported(LostKind::Unit, None, text))
    }

    pub fn note(&self) -> Option<String> {
        (!self.names.is_empty()).then(|| format!("the columns are named {}", self.listed()))
    }

    fn listed(&self) -> String {
        let more = if self.names.len() > 16 { ", …" } else { "" };
        format!("{}{more}", self.names.iter().take(16).map(String::as_str).collect::<Vec<_>>().join(", "))
    }

    fn seen(&self) -> String {
        match self.names.is_empty() {
            true => format!("{} rows of {} numbers from line {} on", self.rows, self.wide, self.line),
            false => format!("columns {} ({} rows from line {} on)", self.listed(), self.rows, self.line),
        }
    }

    fn unlike(&self) -> String {
        let why = match (self.misfit, self.names.is_empty()) {
            (true, _) => "--columns has a different number of columns",
            (_, true) => "their meaning is unknown",
            (_, false) => "no column is recognized as a latency, or as bins and counts of a histogram",
        };
        let example = match self.wide {
            0 | 1 => "--columns sample:us",
            _ => "--columns bin:us,count… for a histogram, --columns skip,sample:us for a latency per row",
        };
        format!("{}: {why}; describe them, for example with {example}", self.seen())
    }
}

fn whole(value: f64) -> Option<u64> {
    // Larger doubles do not represent counts exactly.
    (value >= 0.0 && value.fract() == 0.0 && value <= 9e15)
        .then_some(value as u64)
        .filter(|&n| n <= number::MOST_SAMPLES)
}

/// Recognizes a histogram without column names: edges that ascend in even steps, integer counts, and empty bins, which
/// a time series of latencies does not have.
fn shape(rows: &[Vec<Option<f64>>], wide: usize) -> Option<Vec<Column>> {
    let edges: Vec<f64> = rows.iter().map(|row| row.first().copied().flatten()).collect::<Option<_>>()?;
    let mut steps = edges.windows(2).map(|w| w.last().zip(w.first()).map_or(0.0, |(b, a)| b - a));
    let step = steps.next().filter(|step| *step > 0.0)?;
    let even = steps.all(|other| other > 0.0 && ((other / step) - (other / step).round()).abs() < 1e-6);
    let counts = || rows.iter().flat_map(|row| row.iter().skip(1));
    let whole_counts = counts().all(|cell| cell.and_then(whole).is_some());
    let zeros = counts().filter(|cell| **cell == Some(0.0)).count();
    let all = counts().count();
    let histogram = wide >= 2 && rows.len() >= 5 && even && whole_counts && zeros * 10 >= all && zeros < all;
    histogram.then(|| [(Role::Bin, None)].into_iter().chain((1..wide).map(|_| (Role::Count, None))).collect())
}
