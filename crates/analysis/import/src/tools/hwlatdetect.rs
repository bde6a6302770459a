//! hwlatdetect of rt-tests (src/hwlatdetect/hwlatdetect.py): gaps above a threshold in which the hardware or firmware
//! stopped a CPU.

use super::{Line, Taken};
use crate::Options;
use crate::block::{Beyond, Block, Found, Loss, MOST_THREADS, Samples, Skips, Thread};
use crate::number;
use punctual_model::LostKind;
use punctual_units::{Histogram, Nanos};
use std::collections::BTreeMap;

const MOST_RUNS: usize = 256;
const MOST_CPU: u64 = 8_192;

#[derive(Default)]
pub(crate) struct Reader {
    run: Option<Run>,
    done: Vec<Run>,
    dropped: u64,
}

#[derive(Default)]
struct Run {
    line: u64,
    before: Option<String>,
    seconds: Option<u64>,
    threshold_us: Option<u64>,
    window_us: Option<u64>,
    width_us: Option<u64>,
    /// True if `Output File:` is not `None`.
    to_file: bool,
    /// Value of `Max Latency`; 0 means below the threshold.
    max_us: Option<u64>,
    recorded: Option<u64>,
    exceeding: Option<u64>,
    smis: Option<u64>,
    /// Number of repeated lines in the summary.
    twice: u64,
    /// Text of the preceding sample.
    last: Option<String>,
    repeated: u64,
    /// Samples by CPU; `None` if the CPU is not stated.
    samples: BTreeMap<Option<u32>, Histogram>,
    listed: u64,
    largest_us: Option<u64>,
    /// Sum of `count:` over all samples.
    hits: u64,
    unreadable: u64,
    interrupted: bool,
}

struct Sample {
    us: u64,
    cpu: Option<u32>,
    count: u64,
}

impl Reader {
    pub(crate) fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn finish_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        if self.done.len() < MOST_RUNS {
            self.done.push(run);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        if let Some(seconds) = text.strip_prefix("hwlatdetect:").and_then(|t| t.trim().strip_prefix("test duration ")) {
            let Some(seconds) = seconds.strip_suffix(" seconds").and_then(number::whole) else { return Taken::No };
            self.finish_run();
            let before = line.before.map(str::to_owned);
            self.run = Some(Run { line: line.number, before, seconds: Some(seconds), ..Run::default() });
            return Taken::Yes;
        }
        match &mut self.run {
            Some(run) => run.line(text),
            None if text.starts_with("Max Latency:") => {
                // The text was pasted without its parameters.
                let mut run = Run { line: line.number, before: line.before.map(str::to_owned), ..Run::default() };
                let taken = run.line(text);
                if taken == Taken::Yes {
                    self.run = Some(run);
                }
                taken
            }
            None => Taken::No,
        }
    }

    fn finish(mut self: Box<Self>, _: &Options) -> Option<Found> {
        self.finish_run();
        // Parameters or the maximum alone could be from another program.
        let all = std::mem::take(&mut self.done);
        let has_figures = |r: &Run| r.recorded.is_some() || r.listed > 0 || r.max_us.is_some() && r.seconds.is_some();
        let (done, torn): (Vec<Run>, Vec<Run>) = all.into_iter().partition(has_figures);
        if done.is_empty() {
            return None;
        }
        let mut found = Found { format: "hwlatdetect".into(), tool: Some("hwlatdetect".into()), ..Found::default() };
        if let Some(first) = torn.first() {
            let text = format!("a run of hwlatdetect begins at line {} but has no results", first.line);
            found.lost.push(Loss::problem(LostKind::Truncated, Some(torn.len() as u64), text));
        }
        if self.dropped > 0 {
            let text = format!("more than {MOST_RUNS} runs: the others were skipped");
            found.lost.push(Loss::problem(LostKind::Truncated, Some(self.dropped), text));
        }
        for run in done {
            if let Some(smis) = run.smis {
                found.notes.push(format!("hwlatdetect counted {smis} system management interrupts (SMIs)"));
            }
            found.blocks.push(run.block());
        }
        Some(found)
    }
}

/// Parses a value such as `10us`.
fn us(text: &str) -> Option<u64> {
    number::whole(text.trim().strip_suffix("us")?).filter(|&us| number::scaled(us, 1_000).is_some())
}

/// Parses a sample such as `ts: 1700000000.123456789, inner:13, outer:0, cpu:2`, in newer versions with `delta:` and
/// `count:`.
fn tracer_sample(text: &str) -> Option<Sample> {
    let mut sample = Sample { us: 0, cpu: None, count: 1 };
    let (mut inner, mut outer) = (false, false);
    // The time may contain commas.
    for part in text.strip_prefix("ts: ")?.split(", ").skip(1).take(64) {
        let Some((key, value)) = part.split_once(':') else { continue };
        match key.trim() {
            "inner" | "outer" => {
                let us = number::whole(value).filter(|&us| number::scaled(us, 1_000).is_some())?;
                sample.us = sample.us.max(us);
                let seen = if key.trim() == "inner" { &mut inner } else { &mut outer };
                if std::mem::replace(seen, true) {
                    return None;
                }
            }
            "cpu" => sample.cpu = Some(number::whole(value).filter(|&cpu| cpu < MOST_CPU)? as u32),
            "count" => sample.count = number::samples(value).filter(|&n| n > 0)?,
            _ => {}
        }
    }
    (inner && outer).then_some(sample)
}

/// Parses a sample of the kernel module, such as `0001234567.0000000890\t15`, in newer versions with the outer gap.
fn module_sample(text: &str) -> Option<Sample> {
    let mut words = text.split('\t');
    let (seconds, part) = words.next()?.trim().split_once('.')?;
    let digits = |text: &str| text.len() >= 9 && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(seconds) || !digits(part) {
        return None;
    }
    let values: Vec<u64> = words.take(3).map(number::whole).collect::<Option<_>>()?;
    if values.is_empty() || values.len() > 2 {
        return None;
    }
    let us = values.into_iter().max().filter(|&us| number::scaled(us, 1_000).is_some())?;
    Some(Sample { us, cpu: None, count: 1 })
}

impl Run {
    fn line(&mut self, text: &str) -> Taken {
        if let Some(taken) = self.parameter(text).or_else(|| self.result(text)) {
            return taken;
        }
        if text.starts_with("ts: ") && (text.contains("inner:") || text.contains("outer:")) {
            return match tracer_sample(text) {
                Some(sample) => self.add(text, sample),
                None => {
                    self.unreadable = self.unreadable.saturating_add(1);
                    Taken::Unreadable
                }
            };
        }
        match module_sample(text) {
            Some(sample) => self.add(text, sample),
            None => Taken::No,
        }
    }

    fn parameter(&mut self, text: &str) -> Option<Taken> {
        if ["parameters:", "Starting test", "test finished"].contains(&text) || text.starts_with("detector:") {
            return Some(Taken::Yes);
        }
        if text == "interrupted" {
            self.interrupted = true;
            return Some(Taken::Yes);
        }
        if let Some(file) = text.strip_prefix("Output File:") {
            self.to_file = file.trim() != "None";
            return Some(Taken::Yes);
        }
        if text.starts_with("CPU list:") && self.threshold_us.is_none() {
            return Some(Taken::Yes);
        }
        let keys = ["Latency threshold:", "Sample window:", "Sample width:", "Non-sampling period:"];
        let (at, value) = keys.iter().enumerate().find_map(|(at, key)| Some((at, text.strip_prefix(key)?)))?;
        let value = Some(us(value)?);
        match at {
            0 => self.threshold_us = value,
            1 => self.window_us = value,
            2 => self.width_us = value,
            _ => {}
        }
        Some(Taken::Yes)
    }

    fn result(&mut self, text: &str) -> Option<Taken> {
        let whole = |value: &str| number::samples(value);
        let (slot, value) = if let Some(value) = text.strip_prefix("Max Latency:") {
            let below = value.trim() == "Below threshold";
            (&mut self.max_us, if below { Some(0) } else { Some(us(value)?) })
        } else if let Some(value) = text.strip_prefix("Samples recorded:") {
            (&mut self.recorded, Some(whole(value)?))
        } else if let Some(value) = text.strip_prefix("Samples exceeding threshold:") {
            (&mut self.exceeding, Some(whole(value)?))
        } else if let Some(value) = text.strip_prefix("SMIs during run:") {
            (&mut self.smis, Some(whole(value)?))
        } else {
            let mtbf = text.strip_prefix("MTBF:").and_then(|t| t.trim().strip_suffix(" seconds"));
            let smis = text.split_once(" SMIs occured on cpu ").and_then(|(n, _)| number::whole(n));
            let saved = text.starts_with("report saved to ") || text.starts_with("sample data ");
            let saved = saved && (text.ends_with(" samples)") || text.contains(" written to "));
            self.to_file |= saved;
            return (saved || smis.is_some() || mtbf.is_some_and(|t| number::decimal(t).is_some()))
                .then_some(Taken::Yes);
        };
        self.twice = self.twice.saturating_add(u64::from(slot.is_some()));
        *slot = slot.or(value);
        Some(Taken::Yes)
    }

    fn add(&mut self, text: &str, sample: Sample) -> Taken {
        let known = self.samples.contains_key(&sample.cpu);
        if !known && self.samples.len() >= MOST_THREADS as usize {
            self.unreadable = self.unreadable.saturating_add(1);
            return Taken::Unreadable;
        }
        // Every sample has a different time.
        self.repeated = self.repeated.saturating_add(u64::from(self.last.as_deref() == Some(text)));
        self.last = Some(text.chars().take(200).collect());
        let ns = number::scaled(sample.us, 1_000).unwrap_or(number::LARGEST_NS);
        self.samples.entry(sample.cpu).or_default().record(ns);
        self.listed = self.listed.saturating_add(1);
        self.hits = self.hits.saturating_add(sample.count);
        self.largest_us = self.largest_us.max(Some(sample.us));
        Taken::Yes
    }

    fn block(self) -> Block {
        let (mut lost, unlisted) = self.faults();
        let threshold_ns = self.threshold_us.and_then(|us| number::scaled(us, 1_000));
        let above = threshold_ns.map(|ns| format!(" of more than {}", Nanos(ns))).unwrap_or_default();
        let found = format!("only gaps{above} are recorded");
        let text = match (self.seconds, self.width_us, self.window_us) {
            (Some(s), Some(width), Some(window)) => {
                let (width, window) = (width.saturating_mul(1_000), window.saturating_mul(1_000));
                format!("{found}, in {s} s, of which {} in each {} were monitored", Nanos(width), Nanos(window))
            }
            (Some(s), ..) => format!("{found}, in {s} s"),
            _ => found,
        };
        lost.push(Loss::reported(LostKind::Gap, None, text));
        let mut threads = Vec::new();
        let beyond = match unlisted {
            0 => Beyond::None,
            count => Beyond::Counted { count, from_ns: threshold_ns.unwrap_or(0) },
        };
        let max_ns = self.max_us.filter(|&us| us > 0).and_then(|us| number::scaled(us, 1_000));
        if self.samples.is_empty() {
            let mut thread = Thread::new(0, Samples::Summary, 1_000);
            (thread.beyond, thread.max_ns, thread.count) = (beyond, max_ns, self.exceeding.max(self.recorded));
            threads.push(thread);
        } else {
            // Gaps that are not listed can be on any CPU. In that case there is one result for all CPUs.
            let all = self.samples.keys().all(Option::is_some) && unlisted == 0;
            let mut together = Histogram::new();
            for (cpu, histogram) in self.samples {
                match cpu.filter(|_| all) {
                    Some(cpu) => {
                        let mut thread = Thread::new(cpu, Samples::Each(histogram), 1_000);
                        thread.cpu = Some(cpu);
                        threads.push(thread);
                    }
                    None => together.merge(&histogram),
                }
            }
            if !all {
                let mut thread = Thread::new(0, Samples::Each(together), 1_000);
                (thread.beyond, thread.max_ns) = (beyond, max_ns);
                threads.push(thread);
            }
        }
        for thread in &mut threads {
            thread.skips = Skips::NoPeriods;
        }
        Block {
            label: format!("hardware latency{above}"),
            line: self.line,
            before: self.before,
            threads,
            lost,
            ..Block::default()
        }
    }

    /// Returns the losses, and the number of gaps that are counted but not listed.
    fn faults(&self) -> (Vec<Loss>, u64) {
        let mut lost = Vec::new();
        let (Some(max), Some(recorded), Some(exceeding)) = (self.max_us, self.recorded, self.exceeding) else {
            let text = "the text lacks lines of the summary, or ends before the summary";
            lost.push(Loss::problem(LostKind::Truncated, None, text));
            return (lost, self.recorded.or(self.exceeding).unwrap_or(0).saturating_sub(self.listed));
        };
        let mut problem = |kind, count, text: String| lost.push(Loss::problem(kind, count, text));
        if self.unreadable > 0 {
            problem(LostKind::Unreadable, Some(self.unreadable), "samples cannot be read".into());
        }
        if self.twice > 0 {
            problem(LostKind::Disagreement, Some(self.twice), "lines of the summary appear twice".into());
        }
        if self.repeated > 0 {
            problem(LostKind::Disagreement, Some(self.repeated), "samples appear twice".into());
        }
        if self.listed != recorded && (self.listed > 0 || !self.to_file) {
            let text = format!("{recorded} samples are stated, but {} are listed", self.listed);
            let kind = if self.listed < recorded { LostKind::Truncated } else { LostKind::Disagreement };
            problem(kind, None, text);
        }
        if exceeding < recorded || (max == 0) != (exceeding == 0) || recorded == 0 && exceeding == 0 && self.listed > 0
        {
            problem(
                LostKind::Disagreement,
                None,
                "the stated number of samples and the largest sample contradict each other".into(),
            );
        }
        if self.hits > self.listed && self.hits != exceeding {
            let text = format!("{exceeding} gaps are stated, but the samples count {}", self.hits);
            problem(LostKind::Disagreement, None, text);
        }
        // The module also counts samples that it could not store.
        let lossless = exceeding == recorded || self.hits == exceeding;
        if let Some(largest) = self.largest_us
            && (largest > max || largest < max && lossless)
        {
            problem(
                LostKind::Disagreement,
                None,
                format!("the largest gap is stated as {max} µs, but the largest listed is {largest} µs"),
            );
        }
        if max > 0 && self.threshold_us.is_some_and(|threshold| max < threshold) {
            problem(LostKind::Disagreement, None, "the largest gap is stated as less than the threshold".into());
        }
        if self.interrupted {
            lost.push(Loss::reported(LostKind::Other, None, "hwlatdetect was interrupted"));
        }
        (lost, exceeding.max(recorded).saturating_sub(self.listed))
    }
}

#[cfg(test)]
mod tests;
