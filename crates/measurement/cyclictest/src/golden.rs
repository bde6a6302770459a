//! Compares this crate's output with captured outputs of rt-tests' cyclictest. The latencies of a sample are
//! reconstructed and recorded one after the other. The output must then equal the sample byte for byte, except for the
//! differences in docs/cyclictest.md.

use crate::json::{Circumstances, SysInfo, document};
use crate::options::{Asked, FormatVersion, Options, parse};
use crate::plan::{Plan, plan};
use crate::report::texts;
use crate::stat::{Keep, Stat};
use crate::text;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

type Test = fn(&str);

/// The test of each sample. The tests fail if a sample has no test.
const SAMPLES: [(&str, Test); 13] = [
    ("ct-2.10.json", json_2_10),
    ("ct-2.4.json", json_2_4),
    ("ct-break.txt", broken),
    ("ct-hist-2.10.txt", histogram_2_10),
    ("ct-hist-stdout.txt", histogram_2_4),
    ("ct-histfile-overflow.txt", histfile),
    ("ct-nohist.txt", lines),
    ("ct-resolution.txt", resolution),
    ("ct-spike.txt", spikes),
    ("ct-stress30b.json", json_2_4),
    ("ct-verbose.txt", verbose),
    ("cyclictest-help-2.10.txt", help),
    ("cyclictest-help-2.4.txt", help),
];

#[test]
fn every_sample_is_written_again() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut there: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    there.sort();
    assert_eq!(there, SAMPLES.map(|(name, _)| name));
    for (name, test) in SAMPLES {
        println!("{name}");
        test(&fs::read_to_string(folder.join(name)).unwrap());
    }
}

/// Parses the options, and plans for two CPUs, as many as the machine of the samples had.
fn asked(words: &str) -> (Options, Plan) {
    let words: Vec<_> = words.split_whitespace().map(Into::into).collect();
    let Asked::Run(options) = parse(&words).unwrap() else { panic!("help") };
    let plan = plan(&options, &"0-1".parse().unwrap(), &"0-1".parse().unwrap(), &"".parse().unwrap()).unwrap();
    (*options, plan)
}

#[derive(Default)]
struct Known {
    tid: i64,
    bins: Vec<u64>,
    /// Cycle numbers of the first samples that are beyond the last bin.
    outliers: Vec<u64>,
    cycles: u64,
    min: u64,
    max: u64,
    act: Option<u64>,
    /// Sum of all latencies.
    sum: u64,
}

impl Known {
    /// Returns latencies that yield these values, ordered so that the outliers occur in the same cycles.
    fn latencies(&self) -> Vec<u64> {
        let bins = self.bins.iter().enumerate().flat_map(|(bin, count)| vec![bin as u64; *count as usize]);
        let binned: Vec<u64> = bins.collect();
        let beyond = self.beyond(&binned);
        let (mut binned, mut beyond) = (binned.into_iter(), beyond.into_iter());
        let mut all = Vec::new();
        for cycle in 0..self.cycles {
            let is_beyond = self.outliers.contains(&cycle);
            let next = if is_beyond { beyond.next() } else { binned.next().or_else(|| beyond.next()) };
            all.push(next.unwrap());
        }
        all
    }

    /// Returns latencies that have no bin, including the largest, the smallest and the last one if these have no bin.
    /// All other latencies are equal.
    fn beyond(&self, binned: &[u64]) -> Vec<u64> {
        let count = self.cycles - binned.len() as u64;
        let floor = self.bins.len() as u64;
        let mut fixed: Vec<u64> = [self.max, self.min].into_iter().filter(|value| *value >= floor).collect();
        fixed.truncate(count.saturating_sub(u64::from(self.act.is_some())) as usize);
        let last = self.act.filter(|_| count > 0);
        let others = count - fixed.len() as u64 - u64::from(last.is_some());
        let so_far: u64 = binned.iter().chain(&fixed).chain(&last).sum();
        let rest = self.sum.saturating_sub(so_far);
        let filled = (0..others).map(|n| rest / others + u64::from(n < rest % others));
        let beyond: Vec<u64> = fixed.iter().copied().chain(filled).chain(last).collect();
        assert!(beyond.iter().all(|value| (self.min.max(floor)..=self.max).contains(value)), "{rest} of {others}");
        beyond
    }

    fn stat(&self, keep: Keep) -> Stat {
        let stat = Stat::new(keep);
        stat.tid.store(self.tid, Relaxed);
        self.latencies().into_iter().for_each(|latency| stat.record(latency));
        stat
    }
}

/// Returns the numbers that follow a comment such as `# Min Latencies: 00012 00011`.
fn figures(text: &str, name: &str) -> Vec<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("# {name}:"))).unwrap();
    line.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

/// Returns the results of two threads from their histogram with this number of bins.
fn counted(text: &str, bins: usize) -> Vec<Known> {
    let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let rows: Vec<Vec<u64>> =
        rows.map(|row| row.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect();
    let known = |thread: usize| {
        let mut counts = vec![0; bins];
        rows.iter().for_each(|row| counts[row[0] as usize] = row[thread + 1]);
        let cycles = counts.iter().sum::<u64>() + figures(text, "Histogram Overflows")[thread];
        let name = format!("# Thread {thread}:");
        let line = text.lines().find_map(|line| line.strip_prefix(&name)).unwrap();
        let outliers = line.split(" # ").next().unwrap().split_whitespace();
        Known {
            bins: counts,
            outliers: outliers.map(|cycle| cycle.parse().unwrap()).collect(),
            cycles,
            min: figures(text, "Min Latencies")[thread],
            max: figures(text, "Max Latencies")[thread],
            // The average is truncated, so the sum may be any value below the next average.
            sum: figures(text, "Avg Latencies")[thread] * cycles + cycles / 2,
            ..Known::default()
        }
    };
    (0..2).map(known).collect()
}

fn histogram(sample: &str, words: &str, format: FormatVersion) {
    let (mut options, plan) = asked(words);
    options.format = format;
    let bins = options.histogram.unwrap();
    let keep = Keep { bins, ..Keep::default() };
    let stats: Vec<Stat> = counted(sample, bins).iter().map(|known| known.stat(keep)).collect();
    let (out, file) = texts(&options, &plan, &stats, &[], (0, 0));
    match file {
        Some(file) => assert_eq!((file.as_str(), out.as_str()), (sample, "")),
        None => assert_eq!(text::latency_held(0) + &out, sample),
    }
}

fn histogram_2_4(sample: &str) {
    histogram(sample, "-q -h 60 -H 60 -i 200 -p 95 -m -S -D 5", FormatVersion::V2_4);
}

fn histogram_2_10(sample: &str) {
    histogram(sample, "-q -h 20 -i 200 -p 95 -m -S -D 2", FormatVersion::V2_10);
}

fn histfile(sample: &str) {
    histogram(sample, "-q -H 8 --histfile=x.txt -i 200 -p 95 -m -S -D 2", FormatVersion::V2_4);
}

/// Returns the results in an output line that starts with `T: 0 (22445) P:95`.
fn of_line(line: &str) -> Known {
    let spaced = line.replace(['(', ')', ':'], " ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let of = |name: &str| -> u64 {
        let at = words.iter().position(|word| *word == name).unwrap();
        words[at + 1].parse().unwrap()
    };
    let cycles = of("C");
    Known {
        tid: words[2].parse().unwrap(),
        cycles,
        min: of("Min"),
        max: of("Max"),
        act: Some(of("Act")),
        sum: of("Avg") * cycles + cycles / 2,
        ..Known::default()
    }
}

fn of_lines(sample: &str, keep: Keep) -> Vec<Stat> {
    sample.lines().filter(|line| line.contains(" P:")).map(|line| of_line(line).stat(keep)).collect()
}

fn lines(sample: &str) {
    let (options, plan) = asked("-q -i 200 -p 95 -m -S -D 2");
    let stats = of_lines(sample, Keep::default());
    assert_eq!(text::latency_held(0) + &texts(&options, &plan, &stats, &[], (0, 0)).0, sample);
}

/// A documented difference: rt-tests prints the path of debugfs to standard error.
fn broken(sample: &str) {
    let (options, plan) = asked("-q -i 200 -p 95 -m -S -D 2 -b 20 --tracemark");
    let stats = of_lines(sample, Keep::default());
    let written = text::latency_held(0) + &texts(&options, &plan, &stats, &[], (22504, 40)).0;
    assert_eq!(format!("INFO: debugfs mountpoint: /sys/kernel/debug/tracing/\n{written}"), sample);
}

/// The sample is truncated within a line, after 6000 bytes.
fn spikes(sample: &str) {
    let (options, plan) = asked("-q -i 200 -p 95 -m -S -D 2 --spike 20");
    let stats = of_lines(sample, Keep { spikes: options.spike_nodes, ..Keep::default() });
    for line in sample.lines().filter(|line| line.contains("Spike:")) {
        let words: Vec<u64> = line.split([' ', ':']).filter_map(|word| word.parse().ok()).collect();
        let [thread, latency, at] = words[..] else { panic!("{line}") };
        // The sample's last line has no complete time, so it is supplied here.
        stats[thread as usize].spike(if at == 1249 { 1_249_697_200 } else { at }, latency);
    }
    let written = text::latency_held(0) + &texts(&options, &plan, &stats, &[], (0, 0)).0;
    assert_eq!(&written[..sample.len()], sample);
    assert!(written.ends_with(&format!("\nspikes = {}\n\n", sample.matches("Spike:").count())));
}

/// A documented difference: rt-tests prints the interval of the next thread.
fn rows(sample: &str, words: &str, theirs: u32, ours: u32) {
    let (options, plan) = asked(words);
    let stat = Stat::new(Keep { values: true, ..Keep::default() });
    for line in sample.lines().filter(|line| line.starts_with("       0:")) {
        stat.record(line.rsplit(':').next().unwrap().trim().parse().unwrap());
    }
    let mut written = text::cpus(2, 2) + &text::latency_held(0) + &text::intervals(&options, &plan.threads);
    text::values(&mut written, 0, &stat, 0, options.oscope);
    let theirs = format!("Thread 0 Interval: {theirs}\n");
    assert!(sample.ends_with(&written.replace(&format!("Thread 0 Interval: {ours}\n"), &theirs)), "{written}");
}

fn verbose(sample: &str) {
    rows(sample, "-v -l 5 -i 10000 -p 95", 10500, 10000);
    rows(sample, "-q -v -l 5 -i 10000 -p 95", 10500, 10000);
    assert!(sample.starts_with("Max CPUs"));
}

fn resolution(sample: &str) {
    let (reported, measured) = (1, 16.2);
    let [reported, measured] = text::resolution(reported, measured);
    assert!(sample.starts_with(&format!("WARN: {reported}\nWARN: {measured}\nMax CPUs")));
    rows(sample, "-v -l 1 -R -p 95", 1500, 1000);
}

/// A documented difference: lines with additional keys.
const ADDED: [&str; 4] = ["\"tool\"", "\"skipped\"", "\"overflows\"", "\"early\""];

fn json(sample: &str, format: FormatVersion) {
    let given: Value = serde_json::from_str(sample).unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let command = word(&given["cmdline:"]);
    let (mut options, plan) = asked(command.strip_prefix("cyclictest ").unwrap());
    options.format = format;
    let keep = Keep { bins: options.histogram.unwrap(), ..Keep::default() };
    let threads = given["thread"].as_object().unwrap().values();
    let stats: Vec<Stat> = threads.map(|thread| of_thread(thread, keep.bins).stat(keep)).collect();
    let system = |name: &str| word(&given["sysinfo"][name]);
    let when = Circumstances {
        start: word(&given["start_time"]),
        end: word(&given["end_time"]),
        return_code: 0,
        system: SysInfo {
            sysname: system("sysname"),
            nodename: system("nodename"),
            release: system("release"),
            version: system("version"),
            machine: system("machine"),
            is_realtime: given["sysinfo"]["realtime"] == 1,
        },
    };
    let written = document(&options, &plan.threads, &stats, &when);
    serde_json::from_str::<Value>(&written).unwrap();
    let is_added = |line: &&str| ADDED.iter().any(|key| line.trim_start().starts_with(key));
    assert_eq!(written.lines().filter(is_added).count(), 1 + 3 * stats.len());
    let kept: String = written.split_inclusive('\n').filter(|line| !is_added(line)).collect();
    assert_eq!(kept, sample);
}

fn of_thread(thread: &Value, bins: usize) -> Known {
    let number = |name: &str| thread[name].as_u64().unwrap();
    let mut counts = vec![0; bins];
    for (bin, count) in thread["histogram"].as_object().unwrap() {
        counts[bin.parse::<usize>().unwrap()] = count.as_u64().unwrap();
    }
    let cycles = number("cycles");
    let sum = (thread["avg"].as_f64().unwrap() * cycles as f64).round() as u64;
    Known { bins: counts, cycles, min: number("min"), max: number("max"), sum, ..Known::default() }
}

fn json_2_4(sample: &str) {
    json(sample, FormatVersion::V2_4);
}

fn json_2_10(sample: &str) {
    json(sample, FormatVersion::V2_10);
}

/// Every option in the sample's help must exist here with the same letter and name.
fn help(sample: &str) {
    let mut seen = 0;
    // Descriptions are indented more than options.
    let indent = |line: &str| -> u32 {
        line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 8 } else { 1 }).sum()
    };
    for line in
        sample.lines().filter(|line| indent(line) < 12).map(str::trim_start).filter(|line| line.starts_with('-'))
    {
        let end = |c: char| c.is_whitespace() || c == '=';
        let names = line.split(end).filter(|word| word.len() > 2).find_map(|word| word.strip_prefix("--"));
        let letter = line.strip_prefix('-').and_then(|rest| rest.chars().next()).filter(char::is_ascii_alphabetic);
        seen += 1;
        assert!(names.is_some_and(crate::options::is_known), "{line}");
        if let Some(letter) = letter {
            let said = parse(&[format!("-{letter}").into()]).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(!said.contains("unknown option") && !said.contains("was removed"), "-{letter}: {said}");
        }
    }
    assert!(seen >= 40, "{seen}");
}
