//! Summary of sysjitter (Solarflare, Xilinx): interruptions of a busy loop that reach a threshold, with a line per
//! statistic and a column per core, optionally aligned by `column -t`.
//!
//! Format: `write_summary` of sysjitter.c 1.4. Values are in whole nanoseconds.

use super::extremes::{Stated, clean};
use super::{Line, Taken};
use crate::block::{Block, Found, Loss, MOST_THREADS, Thread};
use crate::{Options, number};
use punctual_model::LostKind;

const MOST_RUNS: usize = 64;
/// All lines in order. The last two are printed only with `--verbose`.
const KEYS: [&str; 19] = [
    "core_i",
    "threshold(ns)",
    "cpu_mhz",
    "runtime(ns)",
    "runtime(s)",
    "int_n",
    "int_n_per_sec",
    "int_min(ns)",
    "int_median(ns)",
    "int_mean(ns)",
    "int_90(ns)",
    "int_99(ns)",
    "int_999(ns)",
    "int_9999(ns)",
    "int_99999(ns)",
    "int_max(ns)",
    "int_total(ns)",
    "int_total(%)",
    "frc_start",
];
/// The last line without `--verbose`.
const LAST: &str = "int_total(%)";
/// Lines whose values ascend in this order.
const RISING: [&str; 8] = [
    "int_min(ns)",
    "int_median(ns)",
    "int_90(ns)",
    "int_99(ns)",
    "int_999(ns)",
    "int_9999(ns)",
    "int_99999(ns)",
    "int_max(ns)",
];

#[derive(Default)]
pub(crate) struct Reader {
    runs: Vec<Run>,
    /// Number of runs beyond the maximum.
    further: u64,
    unreadable: u64,
    /// Number of threads of the next run that stopped before its end.
    stopped: u64,
}

#[derive(Default)]
struct Run {
    line: u64,
    before: Option<String>,
    cores: Vec<u32>,
    stopped: u64,
    /// For each line, the index of its key in [`KEYS`], and its values.
    lines: Vec<(usize, Vec<f64>)>,
    doubled: u64,
    unreadable: u64,
}

impl Reader {
    pub fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn begin(&mut self, line: &Line, rest: &str) -> Taken {
        let cores: Option<Vec<u32>> = rest
            .split_ascii_whitespace()
            .map(|core| number::whole(core).filter(|&c| c < 8_192).map(|c| c as u32))
            .collect();
        let Some(cores) = cores.filter(|c| !c.is_empty() && c.len() <= MOST_THREADS as usize) else {
            return Taken::No;
        };
        if self.runs.len() >= MOST_RUNS {
            self.further = self.further.saturating_add(1);
            return Taken::Yes;
        }
        let before = line.before.map(|b| clean(b, 200));
        let stopped = std::mem::take(&mut self.stopped);
        self.runs.push(Run { line: line.number, before, cores, stopped, ..Run::default() });
        Taken::Yes
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        if let Some((_, rest)) = text.split_once(": ERROR: Thread ")
            && rest.contains(" finished at ")
        {
            self.stopped = self.stopped.saturating_add(1);
            return Taken::Yes;
        }
        let Some((key, rest)) = text.split_once(':') else { return Taken::No };
        if key == "core_i" {
            return self.begin(line, rest);
        }
        let Some(run) = self.runs.last_mut() else { return Taken::No };
        if key == "frc_stop" {
            return Taken::Yes;
        }
        let Some(place) = KEYS.iter().position(|k| *k == key) else { return Taken::No };
        if self.further > 0 || key == "frc_start" {
            return Taken::Yes;
        }
        if run.lines.iter().any(|(p, _)| *p >= place) {
            run.doubled = run.doubled.saturating_add(1);
            return Taken::Yes;
        }
        let values: Option<Vec<f64>> = rest.split_ascii_whitespace().map(number::decimal).collect();
        match values.filter(|v| v.len() == run.cores.len()) {
            Some(values) => {
                run.lines.push((place, values));
                Taken::Yes
            }
            None => {
                run.unreadable = run.unreadable.saturating_add(1);
                self.unreadable = self.unreadable.saturating_add(1);
                Taken::Unreadable
            }
        }
    }

    fn finish(self: Box<Self>, _: &Options) -> Option<Found> {
        // A line such as `core_i: 3` alone is not a result.
        let blocks: Vec<Block> = self.runs.into_iter().filter(|r| !r.lines.is_empty()).map(Run::block).collect();
        if blocks.is_empty() {
            return None;
        }
        let mut found = Found { tool: Some("sysjitter".into()), format: "sysjitter".into(), ..Found::default() };
        if self.unreadable > 0 {
            let text = "lines of sysjitter could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.further > 0 {
            let text = format!("only the first {MOST_RUNS} runs of the text are read");
            found.lost.push(Loss::problem(LostKind::Other, Some(self.further), text));
        }
        found.blocks = blocks;
        Some(found)
    }
}

impl Run {
    fn value(&self, key: &str, core: usize) -> Option<f64> {
        let place = KEYS.iter().position(|k| *k == key)?;
        self.lines.iter().find(|(p, _)| *p == place)?.1.get(core).copied()
    }

    /// Returns the value of a key for a core, if it is an integer that a double represents exactly.
    fn whole(&self, key: &str, core: usize) -> Option<u64> {
        self.value(key, core).filter(|v| v.fract() == 0.0 && *v <= number::LARGEST_NS as f64).map(|v| v as u64)
    }

    fn block(self) -> Block {
        let mut block = Block {
            label: "interruption of a busy loop".into(),
            line: self.line,
            before: self.before.clone(),
            ..Block::default()
        };
        if let Some(ns) = self.whole("threshold(ns)", 0) {
            let text = format!("only interruptions of {ns} ns and more count");
            block.lost.push(Loss::reported(LostKind::Other, None, text));
        }
        if self.doubled > 0 {
            let text = "lines are duplicated or out of order";
            block.lost.push(Loss::problem(LostKind::Disagreement, Some(self.doubled), text));
        }
        let last = KEYS.iter().position(|k| *k == LAST).unwrap_or(KEYS.len());
        let missing = last.saturating_sub(self.lines.len()).saturating_sub(self.unreadable as usize);
        if !self.lines.iter().any(|(place, _)| *place == last) {
            block.lost.push(Loss::problem(LostKind::Truncated, None, "the end of the summary is missing"));
        } else if missing > 0 {
            let text = "lines of the summary are missing";
            block.lost.push(Loss::problem(LostKind::Disagreement, Some(missing as u64), text));
        }
        if self.stopped > 0 {
            let text = "threads stopped before the end because their memory for interruptions was full";
            block.lost.push(Loss::problem(LostKind::Truncated, Some(self.stopped), text));
        }
        block.threads = (0..self.cores.len()).map(|at| self.thread(at)).collect();
        block
    }

    fn thread(&self, at: usize) -> Thread {
        let count = self.whole("int_n", at);
        let stated = Stated {
            count,
            min_ns: self.whole("int_min(ns)", at),
            max_ns: self.whole("int_max(ns)", at),
            mean_ns: self.value("int_mean(ns)", at),
        };
        let mut thread = stated.thread(at as u32, 1);
        thread.cpu = self.cores.get(at).copied();
        thread.longest_ns = self.whole("runtime(ns)", at);
        if count.is_none() {
            let text = "the number of interruptions is missing or cannot be read";
            thread.lost.push(Loss::problem(LostKind::Unreadable, None, text));
        }
        if count != Some(0) && !self.agrees(at) {
            let text = "quantiles, mean, total and share of the interruptions contradict each other";
            thread.lost.push(Loss::problem(LostKind::Disagreement, None, text));
        }
        thread
    }

    fn agrees(&self, at: usize) -> bool {
        let values: Vec<f64> = RISING.iter().filter_map(|key| self.value(key, at)).collect();
        let rising = values.is_sorted();
        let get = |key: &str| self.value(key, at);
        // The mean is truncated to cycles, and then to nanoseconds.
        let total = match (get("int_n"), get("int_mean(ns)"), get("int_total(ns)"), get("cpu_mhz")) {
            (Some(n), Some(mean), Some(total), Some(mhz)) => {
                let slack = n * (2.0 + 1_000.0 / mhz.max(1.0));
                total + 1.0 >= mean * n && total <= mean * n + slack
            }
            _ => true,
        };
        let share = match (get("int_total(ns)"), get("runtime(ns)"), get(LAST)) {
            (Some(total), Some(runtime), Some(share)) => {
                (total * 100.0 - share * runtime).abs() <= 0.001 * runtime + 200.0
            }
            _ => true,
        };
        rising && total && share
    }
}

#[cfg(test)]
mod tests {
    use super::super::alone;
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = include_str!("../../tests/fixtures/tools/sysjitter.txt");

    fn found(text: &str) -> Found {
        alone(Box::new(Reader::new(&Options::default())), text).unwrap()
    }

    fn problems(found: &Found) -> Vec<&str> {
        let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(|t| &t.lost);
        let all = threads.chain(found.blocks.iter().flat_map(|b| &b.lost)).chain(&found.lost);
        all.filter(|l| l.problem).map(|l| l.text.as_str()).collect()
    }

    #[test]
    fn a_core_is_a_thread() {
        let all = found(TEXT);
        let [block] = all.blocks.as_slice() else { panic!() };
        assert_eq!((block.label.as_str(), block.line), ("interruption of a busy loop", 2));
        let [a, b, c] = block.threads.as_slice() else { panic!() };
        assert_eq!((a.cpu, a.count, a.min_ns, a.max_ns), (Some(2), Some(40), Some(213), Some(6_104)));
        assert_eq!((b.cpu, b.count, b.max_ns), (Some(3), Some(20_030), Some(91_422)));
        assert_eq!((c.cpu, c.count, c.min_ns, c.max_ns), (Some(11), Some(0), None, None));
        assert!(problems(&all).is_empty(), "{all:?}");
        // The text as displayed by `column -t`.
        assert_eq!(problems(&found(&TEXT.replace(' ', "    "))), [""; 0]);
        assert_eq!(found(&format!("{TEXT}isolated\n{TEXT}")).blocks.len(), 2);
        let full = found(&format!("./sysjitter: ERROR: Thread 1 finished at 3.0s (max=10)\n{TEXT}"));
        assert_eq!(problems(&full).len(), 1);
    }

    #[test]
    fn lost_doubled_and_cut_lines_are_problems() {
        let lines: Vec<&str> = TEXT.lines().collect();
        for at in 2..lines.len() {
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert!(!problems(&found(&fewer.join("\n"))).is_empty(), "without line {at}");
            let mut more = lines.clone();
            more.insert(at, lines[at]);
            assert!(!problems(&found(&more.join("\n"))).is_empty(), "line {at} twice");
        }
        let from = TEXT.find("cpu_mhz").unwrap();
        for cut in from..TEXT.len() - " 0.000\n".len() {
            assert!(!problems(&found(&TEXT[..cut])).is_empty(), "{}", &TEXT[..cut]);
        }
        assert!(!problems(&found(&TEXT.replace("6104", "104"))).is_empty());
        assert!(!problems(&found(&TEXT.replace("91422", "9142"))).is_empty());
    }

    #[test]
    fn other_text_is_not_taken() {
        assert!(alone(Box::new(Reader::default()), "core_i: the core\nint_n: 3\ncore_i: 4\nT: 0\n").is_none());
        assert!(alone(Box::new(Reader::default()), "int_max(ns): 3\n").is_none());
    }

    proptest! {
        #[test]
        fn mangled_text_is_survived(at in 0_usize..700, n in 0_usize..60, with in "[0-9:. -]{0,9}") {
            let at = at.min(TEXT.len());
            let end = (at + n).min(TEXT.len());
            alone(Box::new(Reader::default()), &format!("{}{with}{}", &TEXT[..at], &TEXT[end..]));
        }
    }
}
