//! `latency` of Xenomai 2 and 3 (testsuite/latency/latency.c) and EVL's `latmus` (benchmarks/latmus.c): a row a second,
//! totals at the end, and a histogram on request (`-h`; `latmus -g`).
//!
//! Best, worst, overruns and mode switches are those of the whole run so far.

use super::{Line, Taken, signed};
use crate::Options;
use crate::bins::{Bins, MOST_BINS};
use crate::block::{Beyond, Block, Found, Loss, Samples, Skips, Thread};
use crate::number;
use punctual_model::LostKind;

const MOST_RUNS: usize = 256;
const SECOND_NS: u64 = 1_000_000_000;
const CELL_NS: u64 = 1_000;

#[derive(Default)]
pub(crate) struct Reader {
    run: Option<Run>,
    done: Vec<Run>,
    dropped: u64,
    layout: Layout,
    filled: usize,
    unreadable: u64,
}

/// Columns of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Layout {
    /// No header yet: only rows of the usual form.
    #[default]
    Untold,
    /// Minimum, mean, maximum, overruns, mode switches, best, worst.
    Switches,
    /// Without mode switches (Xenomai 2.0).
    Plain,
    /// Another program's.
    Foreign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    min: i64,
    mean: i64,
    max: i64,
    overruns: u64,
    switches: u64,
    best: i64,
    worst: i64,
}

#[derive(Clone, Copy, Debug)]
struct Total {
    min: i64,
    mean: i64,
    max: i64,
    overruns: u64,
    switches: u64,
    seconds: Option<u64>,
}

/// `min`, `avg` or `max` of the histograms.
#[derive(Default)]
struct Cells {
    bins: Vec<(u64, u64)>,
    count: u64,
    /// Number and mean cell as told.
    told: Option<(u64, f64)>,
    last: Option<u64>,
    back: u64,
}

/// The histogram of `latmus -g`.
#[derive(Default)]
struct Plot {
    bins: Bins,
    first: Option<u64>,
    last: Option<u64>,
    /// Samples of the last cell, which holds everything beyond it as well.
    over: Option<u64>,
    missing: u64,
    after: bool,
    min: Option<i64>,
    mean: Option<i64>,
    max: Option<i64>,
    overruns: u64,
    switches: u64,
    count: Option<u64>,
}

#[derive(Default)]
struct Run {
    line: u64,
    before: Option<String>,
    evl: bool,
    context: Option<String>,
    period_us: Option<u64>,
    cpu: Option<u32>,
    /// A value had no fraction: nanoseconds.
    whole: bool,
    rows: u64,
    last: Option<Row>,
    /// The first row is not the first of the run.
    late: bool,
    /// Seconds of the last header, rows since it, rows of a page.
    header: Option<u64>,
    since: u64,
    page: Option<u64>,
    /// Pages with another number of rows; rows before which rows are missing; rows that contradict themselves.
    uneven: u64,
    jumps: u64,
    odd: u64,
    total: Option<Total>,
    twice: bool,
    cells: [Cells; 3],
    plot: Option<Plot>,
}

const KINDS: [&str; 3] = ["min", "avg", "max"];
const AVG: usize = 1;

impl Reader {
    pub(crate) fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn put_away(&mut self) {
        let Some(run) = self.run.take().filter(Run::has_figures) else { return };
        if self.done.len() < MOST_RUNS {
            self.done.push(run);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    fn begin(&mut self, line: &Line) -> &mut Run {
        self.put_away();
        self.run.insert(Run { line: line.number, before: line.before.map(str::to_owned), ..Run::default() })
    }

    /// The run that a header belongs to: a new one if the present one has figures.
    fn heading(&mut self, line: &Line) -> &mut Run {
        if self.run.as_ref().is_none_or(Run::has_figures) {
            return self.begin(line);
        }
        self.run.get_or_insert_default()
    }

    fn head(&mut self, text: &str, line: &Line) -> Option<Taken> {
        if let Some(period) = text.strip_prefix("== Sampling period:").and_then(|t| t.trim().strip_suffix(" us")) {
            let period = number::whole(period)?;
            let run = self.begin(line);
            run.period_us = Some(period);
            return Some(Taken::Yes);
        }
        if let Some(rest) = text.strip_prefix("warming up on ").or_else(|| quiet(text)) {
            let cpu = cpu(rest.split([' ', '.']).next()?)?;
            let run = self.heading(line);
            (run.cpu, run.evl) = (Some(cpu), true);
            return Some(Taken::Yes);
        }
        let run = self.run.as_mut().filter(|run| !run.has_figures())?;
        if let Some(mode) = text.strip_prefix("== Test mode:") {
            run.context = Some(short(mode));
            return Some(Taken::Yes);
        }
        let plain = text == "== All results in microseconds" || text == "warming up...";
        let quiet = text.strip_prefix("running quietly for ").and_then(|t| t.strip_suffix(" seconds"));
        (plain || quiet.is_some_and(|s| number::whole(s).is_some())).then_some(Taken::Yes)
    }

    /// `RTT|  00:00:01  (periodic user-mode task, 100 us period, priority 99)`
    fn time(&mut self, rest: &str, line: &Line) -> Option<Taken> {
        let (clock, about) = rest.trim().split_once('(')?;
        let seconds = seconds(clock)?;
        let parts: Vec<&str> = about.strip_suffix(')')?.split(',').map(str::trim).take(8).collect();
        let period = parts.iter().find_map(|p| number::whole(p.strip_suffix(" us period")?))?;
        let context = short(parts.first()?);
        let evl = CONTEXTS.contains(&context.as_str());
        if !evl && !context.contains("task") && !context.contains("timer handler") {
            return None;
        }
        let anew = self.run.as_ref().is_some_and(|run| {
            run.total.is_some()
                || run.rows > 0 && run.header.is_some_and(|before| seconds <= before)
                || run.rows > 0 && run.period_us.is_some_and(|before| before != period)
                || run.plot.is_some()
        });
        if anew || self.run.is_none() {
            self.begin(line);
        }
        let run = self.run.get_or_insert_default();
        if run.header.is_some() {
            run.uneven = run.uneven.saturating_add(u64::from(run.page.is_some_and(|page| page != run.since)));
            run.page = run.page.or(Some(run.since));
        }
        (run.header, run.since, run.period_us, run.evl) = (Some(seconds), 0, Some(period), evl);
        run.context = Some(context);
        run.cpu = parts.iter().find_map(|p| cpu(p)).or(run.cpu);
        if self.layout == Layout::Foreign {
            self.layout = Layout::Untold;
        }
        Some(Taken::Yes)
    }

    fn columns(&mut self, rest: &str) -> Taken {
        let names: Vec<&str> = rest.split('|').map(|name| name.trim().trim_matches('-')).take(16).collect();
        self.layout = match names.as_slice() {
            ["lat min", "lat avg", "lat max", "overrun", "msw", "lat best", "lat worst"] => Layout::Switches,
            ["lat min", "lat avg", "lat max", "overrun", "lat best", "lat worst"] => Layout::Plain,
            _ => Layout::Foreign,
        };
        if self.layout == Layout::Foreign { Taken::No } else { Taken::Yes }
    }

    fn row(&mut self, rest: &str, line: &Line) -> Taken {
        let fields: Vec<&str> = rest.split('|').map(str::trim).take(16).collect();
        let row = match (self.layout, fields.as_slice()) {
            (Layout::Foreign, _) => return Taken::No,
            (Layout::Switches | Layout::Untold, [min, mean, max, overruns, switches, best, worst]) => {
                figures([min, mean, max], overruns, switches, [best, worst])
            }
            (Layout::Plain, [min, mean, max, overruns, best, worst]) => {
                figures([min, mean, max], overruns, "0", [best, worst])
            }
            _ => None,
        };
        let whole = !rest.contains('.');
        let Some(row) = row.filter(|_| !whole || self.layout != Layout::Untold) else {
            if self.layout == Layout::Untold {
                return Taken::No;
            }
            self.unreadable = self.unreadable.saturating_add(1);
            return Taken::Unreadable;
        };
        let anew = self.run.as_ref().is_none_or(|run| {
            run.total.is_some() || run.plot.is_some() || run.last.is_some_and(|last| last.is_before_another(&row))
        });
        if anew {
            self.begin(line);
        }
        if let Some(run) = &mut self.run {
            run.whole |= whole;
            run.add(row);
        }
        Taken::Yes
    }

    fn total(&mut self, rest: &str, line: &Line) -> Taken {
        let Some(total) = total(rest) else {
            if self.layout == Layout::Foreign {
                return Taken::No;
            }
            self.unreadable = self.unreadable.saturating_add(1);
            return Taken::Unreadable;
        };
        let same = |t: Total| (t.min, t.max, t.mean) == (total.min, total.max, total.mean);
        match &mut self.run {
            Some(run) if run.total.is_some_and(same) => run.twice = true,
            Some(run) if run.total.is_none() => run.total = Some(total),
            _ => {
                self.begin(line).total = Some(total);
            }
        }
        if let Some(run) = &mut self.run {
            run.whole |= !rest.contains('.');
        }
        Taken::Yes
    }

    /// `HSD|    avg|   3 -  4 |     1234` and `HSS|    avg|    59994|      1.445|      2.267`
    fn cells(&mut self, key: &str, rest: &str, line: &Line) -> Taken {
        let fields: Vec<&str> = rest.split('|').map(str::trim).take(8).collect();
        let Some((name, fields)) = fields.split_first() else { return Taken::No };
        let Some(at) = KINDS.iter().position(|kind| kind == name) else { return Taken::No };
        if self.run.as_ref().is_none_or(|run| run.total.is_some() || run.plot.is_some()) {
            self.begin(line);
        }
        let Some(cells) = self.run.as_mut().and_then(|run| run.cells.get_mut(at)) else { return Taken::No };
        let read = match (key, fields) {
            ("HSD", [range, samples]) => cell(range).zip(number::samples(samples)).map(|(cell, samples)| {
                cells.add(cell, samples, &mut self.filled);
            }),
            ("HSS", [samples, mean, _]) => {
                let mean = number::decimal(mean).or_else(|| mean.ends_with("nan").then_some(0.0));
                number::samples(samples).zip(mean).map(|told| {
                    cells.back = cells.back.saturating_add(u64::from(cells.told.is_some()));
                    cells.told = Some(told);
                })
            }
            _ => None,
        };
        match read {
            Some(()) => Taken::Yes,
            None => {
                self.unreadable = self.unreadable.saturating_add(1);
                Taken::Unreadable
            }
        }
    }

    fn plot(&mut self, text: &str, line: &Line) -> Option<Taken> {
        let lower = text.get(..18).map(str::to_ascii_lowercase);
        if lower.as_deref() == Some("# test started on:") {
            if self.run.as_ref().is_none_or(|run| run.total.is_some() || run.plot.is_some()) {
                self.begin(line);
            }
            let run = self.run.get_or_insert_default();
            (run.plot, run.evl) = (Some(Plot::default()), true);
            return Some(Taken::Yes);
        }
        let run = self.run.as_mut()?;
        let plot = run.plot.as_mut().filter(|plot| !plot.after)?;
        if let Some(about) = text.strip_prefix('#') {
            let about = about.trim();
            if plot.last.is_some() {
                plot.after = true;
                return None;
            }
            let Some((key, value)) = about.split_once(':') else { return Some(Taken::Yes) };
            let value = value.trim();
            match key {
                "sampling period" => {
                    run.period_us = value.strip_suffix(" microseconds").and_then(number::whole).or(run.period_us);
                }
                "context" => run.context = Some(short(value)),
                "thread affinity" => run.cpu = cpu(value).or(run.cpu),
                "OVERRUNS" => plot.overruns = number::whole(value)?,
                "IN-BAND SWITCHES" => plot.switches = number::whole(value)?,
                "min latency" => plot.min = signed::latency(value, 1),
                "avg latency" => plot.mean = signed::latency(value, 1),
                "max latency" => plot.max = signed::latency(value, 1),
                "sample count" => plot.count = number::samples(value),
                _ => {}
            }
            return Some(Taken::Yes);
        }
        let mut words = text.split_ascii_whitespace();
        let (cell, samples) = (words.next()?, number::samples(words.next()?)?);
        let over = cell.ends_with('+');
        let cell = number::whole(cell.strip_suffix('+').unwrap_or(cell)).filter(|&n| n < 100_000)?;
        if words.next().is_some() || plot.max.is_none() {
            return None;
        }
        // Cells follow one another.
        let missing = plot.over.is_some() || plot.last.is_some_and(|last| last.checked_add(1) != Some(cell));
        plot.missing = plot.missing.saturating_add(u64::from(missing));
        if plot.last.is_some_and(|last| cell <= last) {
            return Some(Taken::Yes);
        }
        plot.first = plot.first.or(Some(cell));
        plot.last = Some(cell);
        self.filled = self.filled.saturating_add(1);
        if over {
            plot.over = Some(samples);
        } else if self.filled > MOST_BINS || !plot.bins.add(cell.saturating_mul(CELL_NS), samples) {
            plot.missing = plot.missing.saturating_add(1);
        }
        Some(Taken::Yes)
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        let text = text.strip_prefix("^C").unwrap_or(text);
        if let Some((key, rest)) = text.split_once('|') {
            match key {
                "RTT" => return self.time(rest, line).unwrap_or(Taken::No),
                "RTH" => return self.columns(rest),
                "RTD" => return self.row(rest, line),
                "RTS" => return self.total(rest, line),
                "HSD" | "HSS" => return self.cells(key, rest, line),
                "HSH" if rest.starts_with("--param|") => return Taken::Yes,
                "---" if self.run.is_some() && rest.starts_with("--") => return Taken::Yes,
                _ => {}
            }
        }
        if let Some(taken) = self.head(text, line).or_else(|| self.plot(text, line)) {
            return taken;
        }
        Taken::No
    }

    fn finish(mut self: Box<Self>, _: &Options) -> Option<Found> {
        self.put_away();
        let first = self.done.first()?;
        let (format, tool) =
            if first.evl { ("evl-latmus", "EVL latmus") } else { ("xenomai-latency", "Xenomai latency") };
        let mut found = Found { format: format.into(), tool: Some(tool.into()), ..Found::default() };
        if self.unreadable > 0 {
            let text = "rows that look like figures could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.dropped > 0 {
            let text = format!("more than {MOST_RUNS} runs: the others were left out");
            found.lost.push(Loss::problem(LostKind::Truncated, Some(self.dropped), text));
        }
        found.blocks = self.done.into_iter().map(Run::block).collect();
        Some(found)
    }
}

const CONTEXTS: [&str; 6] = ["irq", "sirq", "kernel", "user", "oob-gpio", "inband-gpio"];

fn short(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(60).collect()
}

/// `running quietly for 10 seconds on CPU1`
fn quiet(text: &str) -> Option<&str> {
    let (seconds, rest) = text.strip_prefix("running quietly for ")?.split_once(" seconds on ")?;
    number::whole(seconds).map(|_| rest)
}

/// `CPU3`, `CPU3-noisol`
fn cpu(text: &str) -> Option<u32> {
    let digits = text.trim().strip_prefix("CPU")?;
    let digits = digits.strip_suffix("-noisol").unwrap_or(digits);
    number::whole(digits).filter(|&cpu| cpu < 8_192).map(|cpu| cpu as u32)
}

/// `00:01:02`
fn seconds(text: &str) -> Option<u64> {
    let parts: Vec<u64> = text.trim().split(':').take(4).map(number::whole).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = parts.as_slice() else { return None };
    hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(*seconds)
}

/// `3 -  4`
fn cell(range: &str) -> Option<u64> {
    let (from, to) = range.split_once('-')?;
    let from = number::whole(from).filter(|&n| n < 10_000_000)?;
    (number::whole(to)? == from.checked_add(1)?).then_some(from)
}

fn figures(latencies: [&str; 3], overruns: &str, switches: &str, all: [&str; 2]) -> Option<Row> {
    let [min, mean, max] = latencies;
    let [best, worst] = all;
    let latency = |text| signed::latency(text, 1);
    Some(Row {
        min: latency(min)?,
        mean: latency(mean)?,
        max: latency(max)?,
        overruns: number::whole(overruns)?,
        switches: number::whole(switches)?,
        best: latency(best)?,
        worst: latency(worst)?,
    })
}

fn total(rest: &str) -> Option<Total> {
    let fields: Vec<&str> = rest.split('|').map(str::trim).take(8).collect();
    let (latencies, overruns, switches, clock) = match fields.as_slice() {
        [min, mean, max, overruns, switches, clock] => ([min, mean, max], overruns, *switches, clock),
        [min, mean, max, overruns, clock] => ([min, mean, max], overruns, "0", clock),
        _ => return None,
    };
    let [min, mean, max] = latencies.map(|text| signed::latency(text, 1));
    Some(Total {
        min: min?,
        mean: mean?,
        max: max?,
        overruns: number::whole(overruns)?,
        switches: number::whole(switches)?,
        seconds: Some(seconds(clock.split_once('/')?.0)?),
    })
}

impl Row {
    /// What counts up or only ever grows falls: `next` is of another run.
    fn is_before_another(&self, next: &Row) -> bool {
        next.best > self.best
            || next.worst < self.worst
            || next.overruns < self.overruns
            || next.switches < self.switches
    }

    fn is_odd(&self) -> bool {
        self.min > self.mean || self.mean > self.max || self.best > self.min || self.worst < self.max
    }
}

impl Cells {
    fn add(&mut self, cell: u64, samples: u64, filled: &mut usize) {
        let back = self.last.is_some_and(|last| cell <= last) || *filled >= MOST_BINS;
        let count = self.count.checked_add(samples).filter(|&n| n <= number::MOST_SAMPLES);
        let Some(count) = count.filter(|_| !back) else {
            self.back = self.back.saturating_add(1);
            return;
        };
        *filled = filled.saturating_add(1);
        (self.last, self.count) = (Some(cell), count);
        self.bins.push((cell, samples));
    }

    fn fault(&self, kind: &str) -> Option<Loss> {
        let problem = |kind, count, text: String| Some(Loss::problem(kind, count, text));
        if self.back > 0 {
            let text = format!("rows of the histogram of `{kind}` repeat or go back; they were left out");
            return problem(LostKind::Unreadable, Some(self.back), text);
        }
        let Some((told, mean)) = self.told else {
            let text = format!("the text ends before the total of the histogram of `{kind}`");
            return (!self.bins.is_empty()).then(|| problem(LostKind::Truncated, None, text)).flatten();
        };
        // Without -h there are no cells.
        if self.bins.is_empty() {
            return None;
        }
        if told != self.count {
            let text = format!("{told} samples are told, {} are in the histogram of `{kind}`", self.count);
            return problem(LostKind::Disagreement, None, text);
        }
        let sum: f64 = self.bins.iter().map(|&(cell, n)| cell as f64 * n as f64).sum();
        let found = sum / self.count.max(1) as f64;
        // The tool adds up in 32 bits, which long runs exceed.
        let exact = sum < 2_147_483_647.0;
        ((found - mean).abs() > 0.000_6 && exact)
            .then(|| {
                problem(
                    LostKind::Disagreement,
                    None,
                    format!("the mean of `{kind}` is told as {mean}, its histogram has {found:.3}"),
                )
            })
            .flatten()
    }
}

impl Run {
    fn has_figures(&self) -> bool {
        self.rows > 0
            || self.total.is_some()
            || self.cells.iter().any(|c| c.count > 0 || c.told.is_some())
            || self.plot.as_ref().is_some_and(|p| p.last.is_some() || p.max.is_some())
    }

    fn add(&mut self, row: Row) {
        match self.last {
            None => self.late = row.worst > row.max || row.best < row.min,
            Some(last) => {
                let jumps = row.worst != last.worst.max(row.max) || row.best != last.best.min(row.min);
                self.jumps = self.jumps.saturating_add(u64::from(jumps && !row.is_odd()));
            }
        }
        self.odd = self.odd.saturating_add(u64::from(row.is_odd()));
        self.last = Some(row);
        (self.rows, self.since) = (self.rows.saturating_add(1), self.since.saturating_add(1));
    }

    fn overruns(&self) -> Option<u64> {
        let plot = self.plot.as_ref().map(|p| p.overruns);
        self.total.map(|t| t.overruns).or(plot).or(self.last.map(|row| row.overruns))
    }

    fn switches(&self) -> u64 {
        let plot = self.plot.as_ref().map(|p| p.switches);
        self.total.map(|t| t.switches).or(plot).or(self.last.map(|row| row.switches)).unwrap_or(0)
    }

    /// Smallest, mean, largest.
    fn extremes(&self) -> [Option<i64>; 3] {
        if let Some(total) = self.total {
            return [Some(total.min), Some(total.mean), Some(total.max)];
        }
        if let Some(plot) = &self.plot {
            return [plot.min, plot.mean, plot.max];
        }
        [self.last.map(|row| row.best), None, self.last.map(|row| row.worst)]
    }

    fn in_a_row(&self) -> Option<u64> {
        SECOND_NS.checked_div(self.period_us?.checked_mul(1_000)?).filter(|&n| n > 0)
    }

    /// As told, or else that of the rows that are there.
    fn count(&self) -> Option<u64> {
        let told = self.cells.get(AVG).and_then(|c| c.told).map(|(n, _)| n).filter(|&n| n > 0);
        let plotted = self.plot.as_ref().and_then(|p| p.count);
        let rows = || self.in_a_row()?.checked_mul(self.rows).filter(|&n| n > 0 && n <= number::MOST_SAMPLES);
        told.or(plotted).or_else(rows)
    }

    fn block(self) -> Block {
        let context = self.context.as_ref().map(|c| format!(" ({c})")).unwrap_or_default();
        let thread = self.thread();
        let lost = self.faults();
        Block {
            label: format!("wakeup latency{context}"),
            line: self.line,
            before: self.before,
            threads: vec![thread],
            lost,
            ..Block::default()
        }
    }

    fn thread(&self) -> Thread {
        let mut thread = Thread::new(self.cpu.unwrap_or(0), Samples::Summary, 1);
        thread.cpu = self.cpu;
        thread.period_ns = self.period_us.and_then(|us| us.checked_mul(1_000)).filter(|&ns| ns > 0);
        let [min, mean, max] = self.extremes();
        signed::extremes(&mut thread, min, mean, max);
        if self.overruns() == Some(0) {
            // Missed periods are counted, and there were none.
            thread.skips = Skips::Never;
        }
        let cells = self.cells.get(AVG).filter(|c| c.count > 0);
        if let Some(plot) = self.plot.as_ref().filter(|p| p.last.is_some()) {
            self.plotted(&mut thread, plot, max);
        } else if let Some(cells) = cells {
            self.binned(&mut thread, cells, max);
        } else {
            thread.count = self.count();
            let from_ns = thread.min_ns.unwrap_or(0);
            thread.beyond = match thread.count {
                Some(count) => Beyond::Counted { count, from_ns },
                None => Beyond::Unknown { from_ns },
            };
        }
        if self.whole {
            let text = "values without a fraction are taken as nanoseconds";
            thread.lost.push(Loss::told(LostKind::Unit, None, text));
        }
        thread
    }

    fn plotted(&self, thread: &mut Thread, plot: &Plot, max: Option<i64>) {
        let last = plot.last.unwrap_or(0).saturating_mul(CELL_NS);
        thread.beyond = match plot.over {
            Some(count) => Beyond::Counted { count, from_ns: last },
            // Without its last line: nothing says that no more followed.
            None if max.is_none() => Beyond::Unknown { from_ns: last },
            None => Beyond::None,
        };
        thread.count = plot.count;
        (thread.samples, thread.width_ns) = (Samples::Bins(plot.bins.clone()), CELL_NS);
    }

    /// Cells hold latencies without their sign; the last one everything beyond it as well, and its number is not told.
    fn binned(&self, thread: &mut Thread, cells: &Cells, max: Option<i64>) {
        let top = cells.last.unwrap_or(0).saturating_mul(CELL_NS);
        let over = match max.map(signed::ns) {
            Some(max) if max >= top.saturating_add(CELL_NS) => cells.bins.last().map(|&(_, n)| n),
            Some(_) => None,
            None => {
                thread.beyond = Beyond::Unknown { from_ns: top };
                None
            }
        };
        let mut bins = Bins::default();
        for &(cell, samples) in cells.bins.iter().filter(|&&(cell, _)| over.is_none() || Some(cell) != cells.last) {
            bins.add(cell.saturating_mul(CELL_NS), samples);
        }
        if let Some(count) = over {
            thread.beyond = Beyond::Counted { count, from_ns: top };
        }
        // The extremes are of whole seconds, the histogram also of the last one begun.
        if thread.max_ns.is_some_and(|max| max < top) {
            thread.max_ns = None;
        }
        if thread.min_ns.zip(bins.range()).is_some_and(|(min, (lowest, _))| min >= lowest.saturating_add(CELL_NS)) {
            thread.min_ns = None;
        }
        thread.count = cells.told.map(|(n, _)| n);
        (thread.samples, thread.width_ns) = (Samples::Bins(bins), CELL_NS);
    }

    fn faults(&self) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut problem = |kind, count, text: &str| lost.push(Loss::problem(kind, count, text));
        if self.rows > 0 && self.total.is_none() {
            problem(LostKind::Truncated, None, "the text ends before the run's totals (`RTS`)");
        }
        if self.late {
            problem(LostKind::Truncated, None, "the text begins in the middle of the run");
        }
        if self.odd > 0 {
            problem(LostKind::Disagreement, Some(self.odd), "rows contradict themselves");
        }
        if self.jumps > 0 {
            let text = "best or worst of rows are of no row: rows are missing";
            problem(LostKind::Gap, Some(self.jumps), text);
        }
        if self.uneven > 0 {
            let text = "pages have another number of rows than the first: rows are missing or there twice";
            problem(LostKind::Gap, Some(self.uneven), text);
        }
        if self.twice {
            problem(LostKind::Disagreement, None, "the run's totals are there twice");
        }
        if let (Some(total), Some(last)) = (self.total, self.last)
            && (total.min > last.best
                || total.max < last.worst
                || total.overruns < last.overruns
                || total.switches < last.switches)
        {
            problem(LostKind::Disagreement, None, "the run's totals contradict its last row");
        }
        if self.total.is_some_and(|t| t.min > t.mean || t.mean > t.max) {
            problem(LostKind::Disagreement, None, "the run's totals contradict themselves");
        }
        self.time_faults(&mut lost);
        self.histogram_faults(&mut lost);
        if let Some(count) = self.overruns().filter(|&n| n > 0) {
            let text = "periods passed while the thread was late (overruns)";
            lost.push(Loss::told(LostKind::SkippedPeriods, Some(count), text));
        }
        let switches = self.switches();
        if switches > 0 && self.evl {
            let text = "the thread left the real-time core unexpectedly: latmus calls its figures unreliable";
            lost.push(Loss::problem(LostKind::Other, Some(switches), text));
        } else if switches > 0 {
            let text = "the thread left the real-time core (mode switches): latencies may be due to that";
            lost.push(Loss::told(LostKind::Other, Some(switches), text));
        }
        lost
    }

    /// A row is a second, plus the periods that were missed in it.
    fn time_faults(&self, lost: &mut Vec<Loss>) {
        let Some((seconds, period_us)) = self.total.and_then(|t| t.seconds).zip(self.period_us) else { return };
        if self.rows == 0 || self.late {
            return;
        }
        let missed = self.overruns().unwrap_or(0).saturating_mul(period_us) / 1_000_000;
        let of_rows = self.rows.saturating_add(missed);
        let slack = 3_u64.saturating_add(seconds / 50);
        if of_rows.saturating_add(slack) < seconds || self.rows > seconds {
            let text = format!("the run took {seconds} s, but {} rows of a second each are there", self.rows);
            lost.push(Loss::problem(LostKind::Gap, None, text));
        }
    }

    fn histogram_faults(&self, lost: &mut Vec<Loss>) {
        lost.extend(KINDS.iter().zip(&self.cells).filter_map(|(kind, cells)| cells.fault(kind)));
        let told: Vec<bool> = self.cells.iter().map(|c| c.told.is_some() || c.count > 0).collect();
        let mut problem = |kind, text: String| lost.push(Loss::problem(kind, None, text));
        // All three with cells (-h), or none (-s).
        let empty = |c: &Cells| c.bins.is_empty() && c.told.is_some_and(|(n, _)| n > 0);
        let some = self.cells.iter().any(|c| !c.bins.is_empty()) && self.cells.iter().any(empty);
        if some || told.contains(&true) && told.contains(&false) {
            problem(LostKind::Truncated, "parts of the histograms are missing".into());
        }
        if told.contains(&true) && self.total.is_none() {
            problem(LostKind::Truncated, "the text ends before the run's totals (`RTS`)".into());
        }
        let cells = self.cells.get(AVG);
        if let (Some((count, mean)), Some(total)) = (cells.and_then(|c| c.told), self.total) {
            // -B changes the width of a cell and is not told; a mean of few cells says little.
            let cell = total.mean as f64 / CELL_NS as f64;
            if mean > 1.0 && total.min >= 0 && !(0.6..1.6).contains(&(cell / (mean + 0.5))) {
                problem(LostKind::Disagreement, "the histogram's cells are not 1 µs wide (-B)".into());
            }
            let rows = self.in_a_row().map(|n| (n.saturating_mul(self.rows), n));
            if let Some((least, row)) = rows.filter(|_| self.rows > 0 && !self.late)
                && (count < least || count > least.saturating_add(row.saturating_mul(2)))
            {
                problem(LostKind::Disagreement, format!("the histogram has {count} samples, the rows {least}"));
            }
        }
        let Some(plot) = &self.plot else { return };
        if plot.missing > 0 {
            problem(LostKind::Unreadable, "rows of the histogram are missing or there twice".into());
        }
        let Some(last) = plot.last else {
            problem(LostKind::Truncated, "the text ends before the histogram".into());
            return;
        };
        let held = plot.bins.count.saturating_add(plot.over.unwrap_or(0));
        if let Some(count) = plot.count.filter(|&count| count != held) {
            problem(LostKind::Disagreement, format!("{count} samples are told, {held} are in the histogram"));
        }
        // The last row is the cell of the largest latency, or marked.
        let top = plot.max.map(|max| signed::ns(max) / CELL_NS);
        if plot.over.is_none() && top.is_some_and(|top| top != last) {
            let text = "the histogram ends at another latency than the largest";
            problem(LostKind::Truncated, text.into());
        }
        let low = plot.min.map(|min| signed::ns(min) / CELL_NS);
        if low.zip(plot.first).is_some_and(|(low, first)| low != first && plot.over != Some(held)) {
            let text = "the histogram begins at another latency than the smallest";
            problem(LostKind::Truncated, text.into());
        }
        if let Some(total) = self.total
            && (Some(total.min) != plot.min || Some(total.max) != plot.max || total.overruns != plot.overruns)
        {
            problem(LostKind::Disagreement, "histogram and totals contradict each other".into());
        }
    }
}

#[cfg(test)]
mod tests;
