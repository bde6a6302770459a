//! oslat of rt-tests (src/oslat/oslat.c): a column for each CPU, a row for each bucket, followed by extremes, mean and
//! duration.
//!
//! A bucket is named by its upper edge, and the last one also contains all larger samples. The range of a bucket
//! depends on the version, which [`Layout`] distinguishes.

mod table;

use super::{Line, Taken};
use crate::Options;
use crate::bins::{Bins, MOST_BINS};
use crate::block::{Beyond, Block, Found, Loss, MOST_THREADS, Samples, Skips, Thread};
use crate::number;
use punctual_model::LostKind;
use punctual_units::{Arrange, Priority, Scheduling};

const MOST_RUNS: usize = 256;
const MOST_CPU: u64 = 8_192;

/// Rows after the buckets, in the program's order.
const SUMMARY: [&str; 5] = ["Minimum:", "Average:", "Maximum:", "Max-Min:", "Duration:"];

/// Lines before the table that have a value.
const HEADER: [&str; 6] =
    ["Thread priority:", "CPU list:", "CPU for main thread:", "Workload:", "Workload mem:", "Preheat cores:"];
const STEPS: [&str; 3] = ["Pre-heat for 1 seconds...", "Test starts...", "Test completed."];

#[derive(Default)]
pub(crate) struct Reader {
    version: Option<String>,
    /// Header of a run whose table has not begun.
    head: Option<Head>,
    table: Option<Table>,
    done: Vec<Table>,
    filled: usize,
    /// Runs that began but have no table: line of the first one, and their number.
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
    /// Buckets by CPU: the edge that names the bucket (ns) and the number of samples, in the order of the file.
    columns: Vec<Bins>,
    /// Edge of the last row.
    last: Option<u64>,
    /// Samples in the row that is marked as containing the overflows.
    overflow: Option<Vec<u64>>,
    width: Option<u64>,
    /// True if empty rows were omitted before the next one.
    omitted: bool,
    /// Edge of the first row, and whether rows before it were omitted.
    first: Option<(u64, bool)>,
    fine: bool,
    summary: [Vec<Option<f64>>; 5],
    seen: [u64; 5],
    /// Number of rows that repeat or decrease.
    back: u64,
    missing: u64,
    ragged: u64,
}

impl Reader {
    pub(crate) fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn finish_run(&mut self) {
        let Some(table) = self.table.take() else { return };
        if table.columns.iter().all(|c| c.count == 0) && table.last.is_none() {
            // The line only looked like the beginning of a table.
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

    /// Ends the current run and begins another at this line.
    fn begin(&mut self, line: &Line) {
        self.finish_run();
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
            // The version must be on the preceding line.
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

    /// Parses a line such as `Core: 0 1 2`.
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
        self.finish_run();
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
        self.finish_run();
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
            let text = format!("a run of oslat begins at line {line} but has no results");
            found.lost.push(Loss::problem(LostKind::Truncated, Some(runs), text));
        }
        if self.stopped > 0 {
            let text = "oslat stopped at its trace threshold: the latency that exceeded it is not in the histogram";
            found.lost.push(Loss::problem(LostKind::Gap, Some(self.stopped), text));
        }
        if self.dropped > 0 {
            let text = format!("more than {MOST_RUNS} runs: the others were skipped");
            found.lost.push(Loss::problem(LostKind::Truncated, Some(self.dropped), text));
        }
        found.blocks = self.done.into_iter().map(Table::block).collect();
        Some(found)
    }
}

/// Returns values of a row without its unit.
fn words<'a>(rest: &'a str, unit: &str) -> impl Iterator<Item = &'a str> {
    let rest = rest.trim();
    rest.strip_suffix(unit).unwrap_or(rest).split_ascii_whitespace().take(MOST_THREADS as usize + 1)
}

/// Parses microseconds with up to three decimal places, exactly.
fn micros(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = match part.len() {
        0 => 0,
        3 => number::whole(part)?,
        _ => return None,
    };
    number::scaled(number::whole(whole)?.checked_mul(1_000)?.checked_add(part)?, 1)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// A bucket `e` contains latencies of at most `e`, rounded up (before 2.5).
    Named,
    /// A bucket `e` contains latencies below `e`, rounded up to whole units (2.5 to 2.8).
    Shifted,
    /// Like [`Layout::Shifted`], but it is unknown whether the values are rounded up or down.
    Unknown,
}

#[cfg(test)]
mod tests;
