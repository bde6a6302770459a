//! `stress-ng --cyclic` (stress-cyclic.c): number, mean, extremes and percentiles of the first instance, and a
//! histogram with `--cyclic-dist`. Each line begins with `stress-ng: info:  [PID] cyclic:`, or with `stress-ng-cyclic:`
//! before 0.14.

use super::{Line, Taken, signed};
use crate::Options;
use crate::bins::{Bins, MOST_BINS};
use crate::block::{Beyond, Block, Found, Loss, Samples, Skips, Thread};
use crate::number;
use punctual_model::{LostKind, Series};

const MOST_RUNS: usize = 256;
const PERCENTILES: usize = 9;

#[derive(Default)]
pub(crate) struct Reader {
    run: Option<Run>,
    done: Vec<Run>,
    dropped: u64,
    filled: usize,
    unreadable: u64,
}

#[derive(Default)]
struct Run {
    line: u64,
    before: Option<String>,
    policy: String,
    samples: u64,
    mean: Option<f64>,
    min: Option<i64>,
    max: Option<i64>,
    /// Percentage and value of each line after `latency percentiles:`; `None` before that line.
    percentiles: Option<Vec<(f64, i64)>>,
    dist: Option<Dist>,
    /// Number of samples stated in the note `--cyclic-samples needed to be …`.
    needed: Option<u64>,
    twice: u64,
}

struct Dist {
    width: u64,
    /// Number of displayed buckets, and of all buckets.
    shown: Option<(u64, u64)>,
    bins: Bins,
    /// Index of the last row.
    last: Option<u64>,
    /// Number of `..` rows, after which all rows are empty.
    nothing: u64,
    odd: u64,
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

    /// Parses a line such as `sched SCHED_FIFO: 100000 ns delay, 10000 samples`.
    fn begin(&mut self, text: &str, line: &Line) -> Option<Taken> {
        let (policy, rest) = text.trim().strip_prefix("sched ")?.split_once(": ")?;
        let (delay, samples) = rest.split_once(" ns delay, ")?;
        number::whole(delay)?;
        let samples = number::samples(samples.strip_suffix(" samples")?)?;
        // The name is that of a policy or of a BPF scheduler.
        if !policy.starts_with("SCHED_") || policy.len() > 80 {
            return None;
        }
        self.finish_run();
        let before = line.before.map(str::to_owned);
        let policy = policy.chars().filter(|c| !c.is_control()).collect();
        self.run = Some(Run { line: line.number, before, policy, samples, ..Run::default() });
        Some(Taken::Yes)
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let Some(text) = of_cyclic(line.text) else {
            // Messages of other stressors and of the whole run do not name a result.
            return if is_message(line.text) { Taken::Yes } else { Taken::No };
        };
        if let Some(taken) = self.begin(text, line) {
            return taken;
        }
        let Some(run) = &mut self.run else { return Taken::No };
        match run.line(text, &mut self.filled) {
            Some(true) => Taken::Yes,
            Some(false) => {
                self.unreadable = self.unreadable.saturating_add(1);
                Taken::Unreadable
            }
            None => Taken::No,
        }
    }

    fn finish(mut self: Box<Self>, _: &Options) -> Option<Found> {
        self.finish_run();
        if self.done.is_empty() {
            return None;
        }
        let mut found = Found { format: "stress-ng-cyclic".into(), tool: Some("stress-ng".into()), ..Found::default() };
        if self.unreadable > 0 {
            let text = "lines that look like results could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.dropped > 0 {
            let text = format!("more than {MOST_RUNS} runs: the others were skipped");
            found.lost.push(Loss::problem(LostKind::Truncated, Some(self.dropped), text));
        }
        let several = self.done.len() > 1;
        for run in self.done {
            found.series.extend(run.series(several));
            found.blocks.push(run.block());
        }
        Some(found)
    }
}

/// Returns the text after `cyclic: `, with or without `stress-ng: info:  [123] ` before it. Leading white space is
/// kept.
fn of_cyclic(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let at = match line.strip_prefix("stress-ng: info:") {
        Some(rest) => rest.trim_start().strip_prefix('[')?.split_once("] ")?.1,
        None => line,
    };
    let at = at.strip_prefix("stress-ng-").unwrap_or(at);
    at.strip_prefix("cyclic:")
}

/// Returns true for a message such as `stress-ng: info:  [123] dispatching hogs: 1 cyclic`.
fn is_message(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("stress-ng: ").and_then(|rest| rest.split_once(':'));
    let Some((level, rest)) = rest else { return false };
    let levels = ["info", "debug", "warn", "error", "fail", "metrc", "skip"];
    levels.contains(&level) && rest.trim_start().starts_with('[')
}

/// Parses a value such as `2688 ns`.
fn ns(text: &str) -> Option<i64> {
    signed::latency(text.trim().strip_suffix("ns")?, 1).filter(|_| !text.contains('.'))
}

impl Run {
    /// Reads a line. `Some(false)` if it cannot be read, `None` if it is another message.
    fn line(&mut self, text: &str, filled: &mut usize) -> Option<bool> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("mean: ") {
            let Some((mean, mode)) = rest.split_once(" ns, mode: ") else { return Some(false) };
            self.twice = self.twice.saturating_add(u64::from(self.mean.is_some()));
            let mean = number::signed(mean).filter(|v| v.abs() <= number::LARGEST_NS as f64);
            self.mean = self.mean.or(mean);
            return Some(mean.is_some() && ns(mode).is_some());
        }
        if let Some(rest) = text.strip_prefix("min: ") {
            let parts =
                rest.split_once(", max: ").and_then(|(min, rest)| Some((min, rest.split_once(", std.dev. ")?.0)));
            let Some((Some(min), Some(max))) = parts.map(|(min, max)| (ns(min), ns(max))) else { return Some(false) };
            self.twice = self.twice.saturating_add(u64::from(self.min.is_some()));
            (self.min, self.max) = (self.min.or(Some(min)), self.max.or(Some(max)));
            return Some(true);
        }
        if text == "latency percentiles:" {
            self.twice = self.twice.saturating_add(u64::from(self.percentiles.is_some()));
            self.percentiles.get_or_insert_default();
            return Some(true);
        }
        if let Some((percent, value)) = text.split_once("%:") {
            let all = self.percentiles.as_mut()?;
            let percent = number::decimal(percent).filter(|p| *p <= 100.0);
            let Some((percent, value)) = percent.zip(ns(value)) else { return Some(false) };
            if all.len() < 64 {
                all.push((percent, value));
            }
            return Some(true);
        }
        if let Some(rest) = text.strip_prefix("Note: --cyclic-samples needed to be ") {
            self.needed = number::samples(rest.split(' ').next()?);
            return Some(self.needed.is_some());
        }
        if let Some(rest) = text.strip_prefix("latency distribution (") {
            let width = rest.strip_suffix(" ns intervals):").and_then(number::whole);
            let Some(width) = width.filter(|&w| w > 0 && number::scaled(w, 1).is_some()) else { return Some(false) };
            self.twice = self.twice.saturating_add(u64::from(self.dist.is_some()));
            let dist = Dist { width, shown: None, bins: Bins::default(), last: None, nothing: 0, odd: 0 };
            self.dist.get_or_insert(dist);
            return Some(true);
        }
        if self.dist.is_none() && text.starts_with("(for the first ") {
            // The distribution lacks its first line.
            return Some(false);
        }
        self.dist.as_mut()?.line(text, filled)
    }

    fn block(self) -> Block {
        let mut thread = Thread::new(0, Samples::Summary, 1);
        signed::extremes(&mut thread, self.min, None, self.max);
        thread.mean_ns = self.mean.filter(|&mean| mean >= 0.0);
        thread.count = Some(self.samples);
        // The thread sleeps for the delay after each sample, so there are no periods to miss.
        thread.skips = Skips::Never;
        let from_ns = thread.min_ns.unwrap_or(0);
        thread.beyond = Beyond::Counted { count: self.samples, from_ns };
        if let Some(dist) = self.dist.as_ref().filter(|d| d.last.is_some()) {
            let end = dist.shown.map(|(shown, _)| shown).or(dist.last.and_then(|l| l.checked_add(1))).unwrap_or(0);
            thread.width_ns = dist.width;
            thread.beyond = match dist.shown {
                Some((shown, all)) if shown == all => Beyond::None,
                _ => Beyond::Rest { from_ns: end.saturating_mul(dist.width).min(number::LARGEST_NS) },
            };
            thread.samples = Samples::Bins(dist.bins.clone());
        }
        let lost = self.faults();
        let label = format!("wakeup latency ({})", self.policy);
        Block { label, line: self.line, before: self.before, threads: vec![thread], lost, ..Block::default() }
    }

    fn series(&self, several: bool) -> Option<Series> {
        let all = self.percentiles.as_ref().filter(|all| !all.is_empty())?;
        let place = if several { format!(", line {}", self.line) } else { String::new() };
        let mut series =
            Series::new(format!("stress-ng --cyclic, {}{place}", self.policy), "percentiles of the latency", "ns");
        for &(percent, value) in all {
            series.push(value as f64);
            series.labels.push(format!("{percent} %"));
        }
        Some(series)
    }

    fn faults(&self) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut problem = |kind, count, text: String| lost.push(Loss::problem(kind, count, text));
        let percentiles = self.percentiles.as_deref().unwrap_or_default();
        if self.mean.is_none() || self.min.is_none() || percentiles.len() < PERCENTILES {
            let text = "the text lacks lines of the result, or ends before its last percentile";
            problem(LostKind::Truncated, None, text.into());
        }
        let twice = self.twice.saturating_add(percentiles.len().saturating_sub(PERCENTILES) as u64);
        if twice > 0 {
            problem(LostKind::Disagreement, Some(twice), "lines of the result appear twice".into());
        }
        let falls = percentiles.windows(2).any(|w| matches!(w, [a, b] if a.0 >= b.0 || a.1 > b.1));
        let outside = |v: i64| self.min.is_some_and(|min| v < min) || self.max.is_some_and(|max| v > max);
        if falls || percentiles.iter().any(|&(_, v)| outside(v)) {
            let text = "the percentiles contradict one another or the extremes";
            problem(LostKind::Disagreement, None, text.into());
        }
        if let (Some(min), Some(mean), Some(max)) = (self.min, self.mean, self.max)
            && (mean < min as f64 - 0.01 || mean > max as f64 + 0.01)
        {
            problem(LostKind::Disagreement, None, "the mean is not between the extremes".into());
        }
        if let Some(needed) = self.needed {
            let text = "samples beyond --cyclic-samples were not recorded";
            problem(LostKind::Gap, Some(needed.saturating_sub(self.samples)), text.into());
        }
        if let Some(dist) = &self.dist {
            dist.faults(self.samples, self.max, &mut problem);
        }
        lost
    }
}

impl Dist {
    fn line(&mut self, text: &str, filled: &mut usize) -> Option<bool> {
        if let Some(rest) = text.strip_prefix("(for the first ") {
            let (shown, all) = rest.strip_suffix(')')?.split_once(" buckets of ")?;
            let Some(shown) = number::whole(shown).zip(number::whole(all)) else { return Some(false) };
            self.odd = self.odd.saturating_add(u64::from(self.shown.is_some() || shown.0 > shown.1));
            self.shown = self.shown.or(Some(shown));
            return Some(true);
        }
        let words: Vec<&str> = text.split_ascii_whitespace().take(8).collect();
        match words.as_slice() {
            ["latency", "(ns)", "frequency"] => Some(true),
            ["..", "..", ..] => {
                // At least five rows precede the dots. If there are more than five, the last one has samples.
                let rows = self.last.map_or(0, |last| last.saturating_add(1));
                let last = self.last.map(|last| last.saturating_mul(self.width));
                let empty = self.bins.filled.last().map(|&(edge, _)| edge) != last;
                self.odd = self.odd.saturating_add(u64::from(self.nothing == 0 && (rows < 5 || rows > 5 && empty)));
                self.nothing = self.nothing.saturating_add(1);
                Some(true)
            }
            [edge, samples] if edge.bytes().all(|b| b.is_ascii_digit()) => {
                let read = number::latency(edge, 1).zip(number::samples(samples));
                let Some((edge, samples)) = read else { return Some(false) };
                let index = edge.checked_div(self.width).filter(|_| edge.checked_rem(self.width) == Some(0));
                let next = self.last.map_or(Some(0), |last| last.checked_add(1));
                // After `..`, three empty rows end the table.
                let rest = self.shown.and_then(|(shown, _)| shown.checked_sub(3)).filter(|&at| Some(at) >= next);
                let follows = match (self.nothing, rest) {
                    (0, _) | (_, None) => index == next,
                    (_, Some(rest)) => samples == 0 && index == Some(rest),
                };
                let Some(index) = index.filter(|_| follows && *filled < MOST_BINS) else {
                    self.odd = self.odd.saturating_add(1);
                    return Some(true);
                };
                *filled = filled.saturating_add(usize::from(samples > 0));
                self.odd = self.odd.saturating_add(u64::from(!self.bins.add(edge, samples)));
                self.last = Some(index);
                Some(true)
            }
            _ => None,
        }
    }

    fn faults(&self, samples: u64, max: Option<i64>, problem: &mut impl FnMut(LostKind, Option<u64>, String)) {
        if self.odd > 0 {
            let text = "rows of the distribution are missing, repeated, or not consecutive";
            problem(LostKind::Unreadable, Some(self.odd), text.into());
        }
        let Some((shown, all)) = self.shown else {
            problem(LostKind::Truncated, None, "the number of buckets of the distribution is missing".into());
            return;
        };
        if self.last.and_then(|last| last.checked_add(1)) != Some(shown) || self.nothing == 1 {
            let last = self.last.map_or(0, |last| last.saturating_add(1));
            problem(
                LostKind::Truncated,
                None,
                format!("the distribution has {shown} buckets, but the text ends after {last}"),
            );
        }
        let held = self.bins.count;
        if held > samples || shown == all && held < samples {
            problem(
                LostKind::Disagreement,
                None,
                format!("{samples} samples are stated, but {held} are in the distribution"),
            );
        }
        let top = max.and_then(|max| signed::ns(max).checked_div(self.width));
        if top.is_some_and(|top| top.checked_add(1) != Some(all)) {
            let text = "the number of buckets of the distribution does not match its width and the largest latency";
            problem(LostKind::Disagreement, None, text.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::alone;
    use super::*;
    use proptest::prelude::*;

    const PLAIN: &str = include_str!("../../tests/fixtures/tools/stress-ng-0.11.txt");
    const DIST: &str = include_str!("../../tests/fixtures/tools/stress-ng-dist.txt");

    fn read(text: &str) -> Option<Found> {
        alone(Box::new(Reader::new(&Options::default())), text)
    }

    fn problems(found: &Found) -> Vec<String> {
        let settled = |t: &Thread| crate::settle::settle(t.clone(), punctual_units::CpuId(0)).lost;
        let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(settled);
        let all = found.lost.iter().cloned().chain(found.blocks.iter().flat_map(|b| b.lost.clone())).chain(threads);
        all.filter(|l| l.problem).map(|l| l.text).collect()
    }

    #[test]
    fn number_extremes_and_percentiles() {
        let found = read(PLAIN).unwrap();
        assert_eq!((found.format.as_str(), problems(&found)), ("stress-ng-cyclic", vec![]));
        let [block] = found.blocks.as_slice() else { panic!() };
        assert_eq!((block.label.as_str(), block.line), ("wakeup latency (SCHED_DEADLINE)", 3));
        let [thread] = block.threads.as_slice() else { panic!() };
        assert_eq!((thread.count, thread.min_ns, thread.max_ns), (Some(10_000), Some(2_712), Some(581_736)));
        assert_eq!((thread.mean_ns, thread.width_ns, thread.skips), (Some(7_810.25), 1, Skips::Never));
        assert_eq!(thread.beyond, Beyond::Counted { count: 10_000, from_ns: 2_712 });
        assert_eq!((found.series[0].count, found.series[0].labels[4].as_str()), (9, "95.4 %"));
    }

    #[test]
    fn a_distribution() {
        let found = read(DIST).unwrap();
        assert_eq!(problems(&found), [""; 0]);
        let [block] = found.blocks.as_slice() else { panic!() };
        assert_eq!(block.label, "wakeup latency (SCHED_FIFO)");
        let thread = &block.threads[0];
        let Samples::Bins(bins) = &thread.samples else { panic!() };
        assert_eq!((bins.filled.as_slice(), bins.count), ([(0, 4_100), (5_000, 5_890), (10_000, 8)].as_slice(), 9_998));
        assert_eq!((thread.width_ns, thread.beyond), (5_000, Beyond::Rest { from_ns: 1_250_000 }));
        let few = DIST.replace("9998", "10000").replace("first 250 buckets of 260", "first 250 buckets of 250");
        assert!(!problems(&read(&few).unwrap()).is_empty());
    }

    #[test]
    fn every_cut_doubled_or_missing_line_is_a_problem() {
        for text in [PLAIN, DIST] {
            let lines: Vec<&str> = text.lines().collect();
            let first = lines.iter().position(|l| l.contains("cyclic: sched")).unwrap();
            let end = lines.iter().rposition(|l| l.contains("cyclic:")).unwrap();
            for at in first + 1..=end {
                // Skips the column names, and the dots, which are two equal lines.
                if lines[at].contains("frequency") {
                    continue;
                }
                let mut fewer = lines.clone();
                fewer.remove(at);
                assert!(!problems(&read(&fewer.join("\n")).unwrap()).is_empty(), "without {}", lines[at]);
                if !lines[at].contains("..         ..") {
                    let mut more = lines.clone();
                    more.insert(at, lines[at]);
                    assert!(!problems(&read(&more.join("\n")).unwrap()).is_empty(), "twice {}", lines[at]);
                }
                // If the text ends before the distribution, nothing indicates that one is missing.
                if !lines[at].contains("latency distribution") {
                    assert!(!problems(&read(&lines[..at].join("\n")).unwrap()).is_empty(), "cut before {}", lines[at]);
                }
            }
        }
    }

    #[test]
    fn contradictions_are_problems() {
        for (from, to) in [
            ("max: 581736", "max: 581735"),
            ("min: 2712", "min: 3713"),
            ("mean: 7810.25", "mean: 1810.25"),
            ("50.00%:       6105", "50.00%:      96105"),
            ("50.00%:       6105 ns", "50.00%:       6105 us"),
        ] {
            assert!(PLAIN.contains(from), "{from}");
            assert!(!problems(&read(&PLAIN.replace(from, to)).unwrap()).is_empty(), "{to}");
        }
        let note = "stress-ng: info:  [77] cyclic: Note: --cyclic-samples needed to be 250000 to capture all the data for this run\n";
        let found = read(&format!("{DIST}{note}")).unwrap();
        assert!(found.blocks[0].lost.iter().any(|l| l.problem && l.count == Some(240_000)));
    }

    #[test]
    fn below_zero() {
        let found = read(&PLAIN.replace("min: 2712", "min: -12")).unwrap();
        let thread = &found.blocks[0].threads[0];
        assert_eq!((thread.min_ns, thread.beyond), (None, Beyond::Counted { count: 10_000, from_ns: 0 }));
        assert!(thread.lost.iter().any(|l| l.text.contains("-12 ns")));
    }

    #[test]
    fn several_runs_and_lines_without_the_prefix() {
        let short: String =
            DIST.lines().map(|l| l.trim_start_matches("stress-ng: info:  [77] ").to_owned() + "\n").collect();
        let found = read(&format!("voluntary\n{PLAIN}\nfull\n{short}")).unwrap();
        assert_eq!((found.blocks.len(), found.series.len(), problems(&found)), (2, 2, vec![]));
        assert_eq!(found.blocks[1].before.as_deref(), Some("full"));
    }

    #[test]
    fn other_text_is_not_taken() {
        for text in [
            "stress-ng: info:  [77] dispatching hogs: 1 cyclic\n",
            "stress-ng: info:  [77] cyclic:   mean: 12.00 ns, mode: 12 ns\n",
            "cyclic: 5 6\n",
            "stress-ng: info:  [77] cyclic: SCHED_FIFO: no latency information available\n",
            "sched SCHED_FIFO: 100000 ns delay, 10000 samples\n",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        #[test]
        fn anything_is_read_or_refused(at in 0usize..14_000, with in "[ 0-9a-z.:,%()\n-]{0,40}", cut in 0usize..60) {
            let mut text = format!("{PLAIN}{DIST}");
            let (at, end) = (at.min(text.len()), (at + cut).min(text.len()));
            text.replace_range(at..end, &with);
            if let Some(found) = read(&text) {
                problems(&found);
            }
        }
    }
}
