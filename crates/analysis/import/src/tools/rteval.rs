//! Reports of rteval: XML (`summary.xml`) and text.
//!
//! Formats: `RunData.MakeReport` (v2, v3) and `genxml` (v1) of cyclictest.py, timerlat.py (v3), rteval_text.xsl. The
//! report has results for the system and for each core. Only the cores are threads, and the system must be their sum.
//! Values have a unit.
//!
//! rteval counts the buckets of cyclictest's histogram. Up to some version before 3.11, larger latencies are neither
//! counted nor shown. Later versions report no results if there are such latencies.

pub(crate) mod report;
mod xml;

use super::extremes::clean;
use super::{Line, Taken};
use crate::bins::Bins;
use crate::block::{Beyond, Block, Found, Loss, Samples, Skips, Thread};
use crate::cmdline::{self, Command};
use crate::{Options, number};
use punctual_model::LostKind;
use std::collections::BTreeMap;

const DEEPEST: usize = 64;
/// Maximum length of an element's text. Longer text is truncated.
const LONGEST: usize = 2_000;
const MOST_BLOCKS: usize = 64;
/// First version known to report latencies beyond the buckets.
const COMPLETE: (u64, u64) = (3, 11);

/// Size limit of a document.
const MOST_BYTES: usize = 32 << 20;

/// Reads XML documents in a text. Entities are not expanded, and no other files are read.
pub(crate) struct Reader {
    open: Option<(String, u64, Option<String>)>,
    found: Option<Found>,
    options: Options,
    /// Number of documents that are truncated or too long.
    broken: u64,
}

impl Reader {
    pub fn new(options: &Options) -> Reader {
        Reader { open: None, found: None, options: options.clone(), broken: 0 }
    }

    fn close(&mut self, whole: bool) {
        let Some((text, line, before)) = self.open.take() else { return };
        self.broken += u64::from(!whole);
        let Some(mut found) = xml::read(&text, &self.options) else { return };
        for block in &mut found.blocks {
            (block.line, block.before) = (line, before.clone());
        }
        match &mut self.found {
            None => self.found = Some(found),
            Some(first) => {
                first.blocks.extend(found.blocks);
                first.lost.extend(found.lost);
            }
        }
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let trimmed = line.text.trim_start();
        if self.open.is_none() {
            if !trimmed.starts_with("<rteval") && !trimmed.starts_with("<?xml") {
                return Taken::No;
            }
            self.open = Some((String::new(), line.number, line.before.map(str::to_owned)));
        }
        let Some((text, ..)) = &mut self.open else { return Taken::No };
        if text.len() > MOST_BYTES {
            self.open = None;
            self.broken += 1;
            return Taken::Unreadable;
        }
        text.push_str(line.text);
        text.push('\n');
        if line.text.contains("</rteval>") {
            self.close(true);
        }
        Taken::Yes
    }

    fn finish(mut self: Box<Self>, _: &Options) -> Option<Found> {
        self.close(false);
        let mut found = self.found?;
        if self.broken > 0 {
            let text = "an XML document is truncated or too long";
            found.lost.push(Loss::problem(LostKind::Truncated, Some(self.broken), text));
        }
        Some(found)
    }
}

/// Results of the whole system or of one core.
#[derive(Clone, Debug, Default)]
struct Figures {
    /// Number of the core; `None` for the system.
    core: Option<u32>,
    priority: Option<u64>,
    /// Keys and values as stated, in ns except for the number of samples.
    stated: BTreeMap<&'static str, f64>,
    doubled: u64,
    unreadable: u64,
    bins: Option<Bins>,
    /// Number of buckets of the histogram, including empty buckets.
    buckets: Option<u64>,
    filled: u64,
}

#[derive(Clone, Debug, Default)]
struct Table {
    tool: String,
    line: u64,
    before: Option<String>,
    command: String,
    all: Vec<Figures>,
    dropped: u64,
    aborted: Option<String>,
}

fn unit(text: &str) -> Option<f64> {
    match text {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "ms" => Some(1e6),
        _ => None,
    }
}

/// Name in XML, name in text, and whether the value is always present if there are samples.
const KEYS: [(&str, &str, bool); 10] = [
    ("samples", "Samples:", true),
    ("mean", "Mean:", true),
    ("median", "Median:", true),
    ("mode", "Mode:", true),
    ("range", "Range:", true),
    ("minimum", "Min:", true),
    ("maximum", "Max:", true),
    ("mean_absolute_deviation", "Mean Absolute Dev:", true),
    ("standard_deviation", "Std.dev:", true),
    ("variance", "Variance:", false),
];

impl Figures {
    fn tell(&mut self, key: &str, text: &str, unit_ns: f64) {
        let Some((key, ..)) = KEYS.iter().find(|(name, ..)| *name == key) else { return };
        let value = number::decimal(text).or_else(|| text.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0));
        match value {
            Some(value) => {
                let value = if *key == "samples" { value } else { value * unit_ns };
                self.doubled = self.doubled.saturating_add(u64::from(self.stated.insert(key, value).is_some()));
            }
            None => self.unreadable = self.unreadable.saturating_add(1),
        }
    }

    fn bucket(&mut self, index: Option<u64>, value: Option<u64>) {
        let edge = index.and_then(|us| number::scaled(us, 1_000));
        let bins = self.bins.get_or_insert_default();
        let apart = bins.filled.last().is_none_or(|(last, _)| edge.is_none_or(|edge| edge > *last));
        self.filled = self.filled.saturating_add(1);
        let added = edge.zip(value).filter(|_| apart).is_some_and(|(edge, n)| bins.add(edge, n));
        self.unreadable = self.unreadable.saturating_add(u64::from(!added));
    }

    fn count(&self) -> Option<u64> {
        let samples = self.stated.get("samples").filter(|v| v.fract() == 0.0 && **v <= number::MOST_SAMPLES as f64)?;
        Some(*samples as u64)
    }

    fn ns(&self, key: &str) -> Option<u64> {
        self.stated.get(key).filter(|v| **v <= number::LARGEST_NS as f64).map(|v| v.round() as u64)
    }

    /// Returns a problem for each kind of contradictory or missing values.
    fn problems(&self) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut lose = |kind, n: u64, text: &str| {
            if n > 0 {
                lost.push(Loss::problem(kind, Some(n), text));
            }
        };
        lose(LostKind::Unreadable, self.unreadable, "values or buckets cannot be read");
        lose(LostKind::Disagreement, self.doubled, "figures appear twice");
        let some = self.count().is_none_or(|n| n > 0);
        let missing = KEYS
            .iter()
            .filter(|(key, _, always)| *always && (some || *key == "samples") && !self.stated.contains_key(key));
        lose(LostKind::Truncated, missing.count() as u64, "figures are missing");
        let of = |key: &str| self.stated.get(key).copied();
        let range = of("maximum").zip(of("minimum")).zip(of("range")).filter(|_| some);
        let ranged = range.is_none_or(|((max, min), range)| {
            // A maximum beyond the buckets is not included in the range.
            max >= min && (max - min - range).abs() < 1.0 || max - min > range && self.bins.is_some()
        });
        lose(
            LostKind::Disagreement,
            u64::from(!ranged),
            "range, smallest value and largest value contradict each other",
        );
        let mean = of("mean").zip(of("minimum")).zip(of("maximum")).filter(|_| some);
        let outside = mean.is_some_and(|((mean, min), max)| mean + 1_000.0 < min || mean > max + 1_000.0);
        lose(LostKind::Disagreement, u64::from(outside), "the mean is not between the smallest and the largest value");
        if let Some(bins) = &self.bins {
            let unequal =
                self.count().is_some_and(|n| n != bins.count) || self.buckets.is_some_and(|n| n < self.filled);
            lose(LostKind::Disagreement, u64::from(unequal), "samples and buckets contradict each other");
            let (low, high) = bins.range().unzip();
            let min = self.ns("minimum").filter(|_| some && low.is_some() && self.ns("minimum") != low);
            let max = self.ns("maximum").filter(|_| some && high.is_some() && self.ns("maximum") < high);
            let n = u64::from(min.is_some()) + u64::from(max.is_some());
            lose(LostKind::Disagreement, n, "extremes and buckets contradict each other");
        }
        lost
    }

    fn thread(self, number: u32, complete: bool, bins_end: Option<u64>) -> Thread {
        let lost = self.problems();
        let (count, priority) = (self.count(), self.priority);
        let (min, max) = (self.ns("minimum"), self.ns("maximum"));
        let mean = self.stated.get("mean").copied();
        let core = self.core;
        let has_bins = self.bins.is_some();
        let samples = self.bins.map_or(Samples::Summary, Samples::Bins);
        let end = match &samples {
            Samples::Bins(bins) => bins.range().map_or(0, |(_, last)| last.saturating_add(1_000)),
            _ => 0,
        };
        let mut thread = Thread::new(number, samples, 1_000);
        thread.lost = lost;
        (thread.cpu, thread.count) = (core, count);
        if count != Some(0) {
            (thread.min_ns, thread.max_ns, thread.mean_ns) = (min, max, mean);
        }
        thread.got = priority.and_then(super::rttests_json::fifo);
        // Latencies from here on are beyond the histogram.
        let from_ns = bins_end.unwrap_or(end).max(end);
        thread.beyond = match count {
            _ if !complete && has_bins => Beyond::Unknown { from_ns },
            Some(count) if !has_bins => Beyond::Counted { count, from_ns: 0 },
            Some(_) => Beyond::Rest { from_ns },
            None => Beyond::Unknown { from_ns },
        };
        if !complete && !has_bins {
            let text = "latencies beyond the histogram of the program are neither counted nor shown";
            let from = bins_end.map(|ns| format!("{text}: those of {} µs and more", ns / 1_000));
            thread.lost.push(Loss::problem(LostKind::OverflowUnknown, None, from.unwrap_or_else(|| text.into())));
        }
        thread
    }
}

/// Adds the blocks of the tables to `found`. The version determines whether latencies beyond the buckets may be
/// missing.
fn finish(found: &mut Found, tables: Vec<Table>, version: Option<&str>, options: &Options) {
    found.version = version.filter(|v| !v.is_empty()).map(|v| clean(v, 80));
    let numbers = version.and_then(|v| v.split_once('.')).and_then(|(major, minor)| {
        let digits = minor.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((number::whole(major)?, number::whole(digits)?))
    });
    for table in tables {
        let command = Command::parse(cmdline::words(&table.command));
        if found.command.is_empty() {
            found.command.clone_from(&command.words);
        }
        if let Some(reason) = &table.aborted {
            found.notes.push(format!("rteval: {} was aborted: {}", clean(&table.tool, 20), clean(reason, 80)));
        }
        if table.all.is_empty() {
            let why = "rteval reports no results, as it does if a latency lies beyond its histogram";
            found.notes.push(format!("{}: {why}", clean(&table.tool, 20)));
            continue;
        }
        let cyclictest = table.tool == "cyclictest";
        let entries = command.words.iter().find_map(|w| w.strip_prefix("-E")).and_then(number::whole);
        let bins = if cyclictest { command.bins() } else { entries };
        let bins_end = bins.and_then(|n| number::scaled(n, 1_000));
        let complete = cyclictest && numbers >= Some(COMPLETE);
        let period = options.period.map(|p| p.0);
        let period = period.or_else(|| command.period_ns(0).filter(|_| cyclictest && !command.words.is_empty()));
        let block = table.block(complete, bins_end, period);
        if !block.threads.is_empty() {
            found.blocks.push(block);
        }
    }
}

impl Table {
    fn block(self, complete: bool, bins_end: Option<u64>, period_ns: Option<u64>) -> Block {
        let cyclictest = self.tool == "cyclictest";
        let label = if cyclictest { "wakeup latency" } else { "IRQ, thread and user latency together" };
        let mut block = Block { label: label.into(), line: self.line, before: self.before.clone(), ..Block::default() };
        if self.dropped > 0 {
            let text = "cores cannot be read";
            block.lost.push(Loss::problem(LostKind::Unreadable, Some(self.dropped), text));
        }
        let (cores, system): (Vec<Figures>, Vec<Figures>) = self.all.into_iter().partition(|f| f.core.is_some());
        if !sum_agrees(&cores, &system) {
            let text = "the results of the system differ from those of all cores together: cores are missing, duplicated or changed";
            block.lost.push(Loss::problem(LostKind::Disagreement, None, text));
        }
        block.lost.extend(system.iter().flat_map(Figures::problems));
        for (number, figures) in cores.into_iter().enumerate() {
            let mut thread = figures.thread(number as u32, complete, bins_end);
            thread.period_ns = period_ns.filter(|&ns| ns > 0);
            if !cyclictest {
                thread.skips = Skips::Uncounted;
            }
            block.threads.push(thread);
        }
        block
    }
}

fn sum_agrees(cores: &[Figures], system: &[Figures]) -> bool {
    let [system] = system else { return false };
    let sum = cores.iter().try_fold(0_u64, |sum, core| sum.checked_add(core.count()?));
    let some = || cores.iter().filter(|core| core.count() != Some(0));
    let (min, max) = (some().filter_map(|c| c.ns("minimum")).min(), some().filter_map(|c| c.ns("maximum")).max());
    sum == system.count() && (sum == Some(0) || min == system.ns("minimum") && max == system.ns("maximum"))
}
