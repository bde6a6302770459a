//! `latency` of Xenomai 2 and 3 (testsuite/latency/latency.c), and EVL's `latmus` (benchmarks/latmus.c): one row per
//! second, totals at the end, and an optional histogram (`-h`; `latmus -g`).
//!
//! Best, worst, overruns and mode switches cover the run up to the row.

mod cells;
mod run;

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

/// Column layouts of versions of Xenomai's latency tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Layout {
    /// No header so far; only rows of the usual form are accepted.
    #[default]
    Unknown,
    /// Minimum, mean, maximum, overruns, mode switches, best, worst.
    Switches,
    /// The layout without mode switches (Xenomai 2.0).
    Plain,
    /// The rows belong to another program.
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

/// One of the histograms `min`, `avg` and `max`.
#[derive(Default)]
struct Cells {
    bins: Vec<(u64, u64)>,
    count: u64,
    /// Stated number of samples, and mean bin.
    stated: Option<(u64, f64)>,
    last: Option<u64>,
    back: u64,
}

/// The histogram of `latmus -g`.
#[derive(Default)]
struct Plot {
    bins: Bins,
    first: Option<u64>,
    last: Option<u64>,
    /// Samples of the last bin, which also contains all larger latencies.
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
    /// True if a value had no fraction, which means nanoseconds.
    whole: bool,
    rows: u64,
    last: Option<Row>,
    /// True if the first row is not the first of the run.
    late: bool,
    /// Seconds stated in the last header.
    header: Option<u64>,
    since: u64,
    page: Option<u64>,
    /// Number of pages with a different number of rows.
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

    fn finish_run(&mut self) {
        let Some(run) = self.run.take().filter(Run::has_figures) else { return };
        if self.done.len() < MOST_RUNS {
            self.done.push(run);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    fn begin(&mut self, line: &Line) -> &mut Run {
        self.finish_run();
        self.run.insert(Run { line: line.number, before: line.before.map(str::to_owned), ..Run::default() })
    }

    /// Returns the run to which a header belongs, which is a new one if the current one already has results.
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

    /// Parses a header such as `RTT|  00:00:01  (periodic user-mode task, 100 us period, priority 99)`.
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
            self.layout = Layout::Unknown;
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
            (Layout::Switches | Layout::Unknown, [min, mean, max, overruns, switches, best, worst]) => {
                figures([min, mean, max], overruns, switches, [best, worst])
            }
            (Layout::Plain, [min, mean, max, overruns, best, worst]) => {
                figures([min, mean, max], overruns, "0", [best, worst])
            }
            _ => None,
        };
        let whole = !rest.contains('.');
        let Some(row) = row.filter(|_| !whole || self.layout != Layout::Unknown) else {
            if self.layout == Layout::Unknown {
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

    /// Parses bins such as `HSD|    avg|   3 -  4 |     1234` and totals such as `HSS|    avg|    59994|      1.445|
    /// 2.267`.
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
                number::samples(samples).zip(mean).map(|stated| {
                    cells.back = cells.back.saturating_add(u64::from(cells.stated.is_some()));
                    cells.stated = Some(stated);
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
        // Cells must be consecutive.
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
        self.finish_run();
        let first = self.done.first()?;
        let (format, tool) =
            if first.evl { ("evl-latmus", "EVL latmus") } else { ("xenomai-latency", "Xenomai latency") };
        let mut found = Found { format: format.into(), tool: Some(tool.into()), ..Found::default() };
        if self.unreadable > 0 {
            let text = "rows that look like results could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.dropped > 0 {
            let text = format!("more than {MOST_RUNS} runs: the others were skipped");
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

/// Parses a line such as `running quietly for 10 seconds on CPU1`.
fn quiet(text: &str) -> Option<&str> {
    let (seconds, rest) = text.strip_prefix("running quietly for ")?.split_once(" seconds on ")?;
    number::whole(seconds).map(|_| rest)
}

/// Parses a CPU such as `CPU3` or `CPU3-noisol`.
fn cpu(text: &str) -> Option<u32> {
    let digits = text.trim().strip_prefix("CPU")?;
    let digits = digits.strip_suffix("-noisol").unwrap_or(digits);
    number::whole(digits).filter(|&cpu| cpu < 8_192).map(|cpu| cpu as u32)
}

/// Parses a duration such as `00:01:02`, in seconds.
fn seconds(text: &str) -> Option<u64> {
    let parts: Vec<u64> = text.trim().split(':').take(4).map(number::whole).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = parts.as_slice() else { return None };
    hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(*seconds)
}

/// Parses a range such as `3 -  4`.
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
    /// Returns true if a counter or the worst value decreases, or the best value increases, which means that `next`
    /// belongs to another run.
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

#[cfg(test)]
mod tests;
