use crate::options::{FormatVersion, Options};
use crate::plan::ThreadPlan;
use crate::stat::Stat;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Formats a line such as `T: 0 ( 2244) P:95 I:200 C:   9878 Min:     10 Act:   52 Avg:   35 Max:    4952`, with
/// newline.
pub(crate) fn line(options: &Options, index: usize, plan: &ThreadPlan, stat: &Stat, smi: Option<u64>) -> String {
    let (tid, cycles) = (stat.tid.load(Relaxed), stat.cycles.load(Relaxed));
    let (min, act, max) = (stat.min.load(Relaxed), stat.act.load(Relaxed), stat.max.load(Relaxed));
    let average = stat.average() as u64;
    let interval = plan.interval.0 / 1000;
    let width = if options.nsecs { 8 } else { 5 };
    let smi = smi.map(|count| format!(" SMI:{count:8}")).unwrap_or_default();
    format!(
        "T:{index:2} ({tid:5}) P:{:2} I:{interval} C:{cycles:7} Min:{min:7} Act:{act:width$} Avg:{average:width$} Max:{max:8}{smi}\n",
        plan.priority
    )
}

/// Appends the lines of `-v` from cycle `read` on, or with `-o` only the largest of each group of cycles. Returns the
/// next cycle.
pub(crate) fn values(out: &mut String, index: usize, stat: &Stat, mut read: u64, oscope: u64) -> u64 {
    let cycles = stat.cycles.load(Relaxed);
    while read + oscope <= cycles {
        let group = (read..read + oscope).filter_map(|n| stat.value(n).map(|value| (value, n)));
        if let Some((value, n)) = group.max_by_key(|(value, n)| (*value, u64::MAX - n)) {
            let _ = writeln!(out, "{index:8}:{n:8}:{value:8}");
        }
        read += oscope;
    }
    read
}

pub(crate) fn latency_held(us: i32) -> String {
    format!("# /dev/cpu_dma_latency set to {us}us\n")
}

/// Returns the first lines of `-v`: possible and online CPUs.
pub(crate) fn cpus(possible: usize, online: usize) -> String {
    format!("Max CPUs = {possible}\nOnline CPUs = {online}\n")
}

/// Returns the line that `-v` prints for each thread, with its interval in µs. rt-tests 2.x prints the interval of the
/// next thread instead.
pub(crate) fn interval(index: usize, plan: &ThreadPlan) -> String {
    format!("Thread {index} Interval: {}\n", plan.interval.0 / 1000)
}

/// Returns the interval lines of all threads if `-v` is set, even with `-q`, as in rt-tests.
pub(crate) fn intervals(options: &Options, threads: &[ThreadPlan]) -> String {
    let asked = threads.iter().enumerate().filter(|_| options.verbose);
    asked.map(|(index, thread)| interval(index, thread)).collect()
}

/// Returns the last lines of the output with `-b`.
pub(crate) fn broken(stats: &[Stat], (tid, value): (i64, u64)) -> String {
    let tids: String = stats.iter().map(|stat| format!(" {:05}", stat.tid.load(Relaxed))).collect();
    let which = if tid != 0 { format!("# Break thread: {tid}\n# Break value: {value}\n") } else { String::new() };
    format!("# Thread Ids:{tids}\n{which}")
}

pub(crate) fn histogram(options: &Options, stats: &[Stat]) -> String {
    let is_summed = options.hist_of_all && stats.len() > 1;
    let mut out = String::from("# Histogram\n");
    let mut totals = vec![0_u64; stats.len()];
    for bin in 0..options.histogram.unwrap_or_default() {
        let counts: Vec<u64> =
            stats.iter().map(|s| s.histogram.get(bin).map_or(0, |count| count.load(Relaxed))).collect();
        totals.iter_mut().zip(&counts).for_each(|(total, count)| *total += count);
        if options.format == FormatVersion::V2_10 && counts.iter().all(|count| *count == 0) {
            continue;
        }
        let sum = is_summed.then(|| counts.iter().sum::<u64>());
        let cells: Vec<String> = counts.into_iter().chain(sum).map(|count| format!("{count:06}")).collect();
        let _ = writeln!(out, "{bin:06} {}", cells.join("\t"));
    }
    if options.format == FormatVersion::V2_4 {
        let sum = is_summed.then(|| totals.iter().sum::<u64>());
        row(&mut out, "Total:", totals.into_iter().chain(sum), 9);
    }
    let of = |value: &dyn Fn(&Stat) -> u64| stats.iter().map(value).collect::<Vec<u64>>();
    row(&mut out, "Min Latencies:", of(&|s| s.min.load(Relaxed)), 5);
    row(&mut out, "Avg Latencies:", of(&|s| s.average() as u64), 5);
    let max = of(&|s| s.max.load(Relaxed));
    let most = max.iter().max().copied().filter(|_| is_summed);
    row(&mut out, "Max Latencies:", max.into_iter().chain(most), 5);
    let over = of(&|s| s.overflows.load(Relaxed));
    let sum = is_summed.then(|| over.iter().sum::<u64>());
    row(&mut out, "Histogram Overflows:", over.into_iter().chain(sum), 5);
    out.push_str("# Histogram Overflow at cycle number:\n");
    for (index, stat) in stats.iter().enumerate() {
        let _ = write!(out, "# Thread {index}:");
        let mut shown = 0;
        for cycle in stat.outliers() {
            let _ = write!(out, " {cycle:05}");
            shown += 1;
        }
        let others = stat.overflows.load(Relaxed) - shown;
        out.push_str(&if others > 0 { format!(" # {others:05} others\n") } else { "\n".to_owned() });
    }
    out + "\n"
}

fn row(out: &mut String, name: &str, values: impl IntoIterator<Item = u64>, width: usize) {
    let values: String = values.into_iter().map(|value| format!(" {value:0width$}")).collect();
    let _ = writeln!(out, "# {name}{values}");
}

/// Returns the lines of `--spike`: the earliest spikes of all threads, at most `nodes`.
pub(crate) fn spikes(stats: &[Stat], nodes: usize) -> String {
    let of = |(index, stat): (usize, &Stat)| -> Vec<(u64, usize, u64)> {
        stat.spikes().map(|(at, latency)| (at, index, latency)).collect()
    };
    let mut kept: Vec<(u64, usize, u64)> = stats.iter().enumerate().flat_map(of).collect();
    kept.sort_unstable();
    let mut out = String::from("\n");
    for (at, index, latency) in kept.into_iter().take(nodes) {
        let _ = writeln!(out, "T:{index:2} Spike:{latency:8}: TS: {at:12}");
    }
    let all: u64 = stats.iter().map(|stat| stat.spike_count.load(Relaxed)).sum();
    let _ = writeln!(out, "spikes = {all}\n");
    out
}

/// Returns the lines of `-R`: clock_getres(2) of CLOCK_MONOTONIC, and the time between two clock reads, ns.
pub(crate) fn resolution(reported: u64, measured: f64) -> [String; 2] {
    [
        format!("reported clock resolution: {reported} nsec"),
        format!("measured clock resolution approximately: {measured:.0} nsec"),
    ]
}

#[cfg(test)]
mod tests;
