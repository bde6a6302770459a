//! Texts that are no traces and are taken for ones: tables of other tools, and the kernel's log.

use super::scan::text;
use crate::info::TraceError;
use std::collections::BTreeMap;

const LATENCIES: &str = "`punctual import FILE` reads its figures";
const RECORD: &str = "`perf script` prints the events that it was made from";
const EVENTS: &str = "record sched_switch, sched_waking, irq and irq_vectors events at that time, with stacks where preemption or interrupts are off";

/// What a text is that holds no trace, with the worst that it states.
pub(super) fn summary(head: &[u8]) -> Option<TraceError> {
    const TABLES: [(&str, &str); 5] = [
        ("RTLA timerlat histogram", "a histogram of rtla timerlat"),
        ("Timer Latency", "the table of rtla timerlat top"),
        ("RTLA osnoise", "a table of rtla osnoise"),
        ("# Histogram", "a histogram of cyclictest"),
        ("T: 0 (", "the lines of cyclictest"),
    ];
    let head = String::from_utf8_lossy(head);
    let table = |what: String, next| Some(TraceError::Summary { what, next });
    if let Some((_, what)) = TABLES.iter().find(|(mark, _)| head.contains(mark)) {
        return table((*what).to_owned(), LATENCIES);
    }
    if head.contains("sch delay") {
        let worst = worst(&head, timehist).map(|(_, row)| row).unwrap_or_default();
        return table(format!("perf sched timehist{worst}"), RECORD);
    }
    if head.contains("Runtime ms") {
        let worst = worst(&head, latency).map(|(_, row)| row).unwrap_or_default();
        return table(format!("perf sched latency{worst}"), RECORD);
    }
    if let Some(buckets) = histograms(&head) {
        return table(format!("a histogram of a BPF tool, whose worst are {buckets}"), EVENTS);
    }
    let said = head.lines().find_map(|line| log(line.as_bytes()))?;
    Some(TraceError::Log { said, next: EVENTS })
}

fn worst(head: &str, row: impl Fn(&str) -> Option<(f64, String)>) -> Option<(f64, String)> {
    head.lines().filter_map(row).max_by(|(a, _), (b, _)| a.total_cmp(b))
}

/// `kworker/0:1:5 | 1.2 ms | 12 | avg: 0.02 ms | max: 12.30 ms | max start: 123.4 s`; before Linux 5.11 `max at:`.
fn latency(row: &str) -> Option<(f64, String)> {
    let mut columns = row.split('|').map(str::trim);
    let task = columns.next()?;
    let value = |column: &str, key: &str| column.strip_prefix(key)?.split_whitespace().next()?.parse::<f64>().ok();
    let columns: Vec<&str> = columns.collect();
    let max = columns.iter().find_map(|column| value(column, "max:"))?;
    let at = columns.iter().find_map(|column| value(column, "max start:").or_else(|| value(column, "max at:")));
    let at = at.map(|at| format!(" at {at} s")).unwrap_or_default();
    Some((max, format!(" (the longest wait is {max} ms, of {task}{at})")))
}

/// `95.123456 [0001]  app[1234/1230]   0.000  0.015  0.030`: times in ms, waiting for an event, for the CPU, and running.
fn timehist(row: &str) -> Option<(f64, String)> {
    let (time, rest) = row.trim().split_once(" [")?;
    let (cpu, rest) = rest.split_once(']')?;
    let mut words = rest.split_whitespace().rev();
    let (_run, delay) = (words.next()?.parse::<f64>().ok()?, words.next()?.parse::<f64>().ok()?);
    words.next()?.parse::<f64>().ok()?;
    let task = words.rev().collect::<Vec<_>>().join(" ");
    let cpu: u32 = cpu.parse().ok()?;
    Some((delay, format!(" (the longest wait for a CPU is {delay} ms, of {task} on CPU {cpu} at {})", time.trim())))
}

/// The last bucket that counts, of each histogram of bcc (`640 -> 1279 : 1 |***|`) or bpftrace (`[1K, 2K) 7 |@@|`).
fn histograms(head: &str) -> Option<String> {
    const MOST: usize = 3;
    let mut unit = "";
    let mut label = String::new();
    let mut worst: BTreeMap<usize, (String, String)> = BTreeMap::new();
    let mut number = 0;
    for line in head.lines().map(str::trim) {
        if let Some((of, _)) =
            line.split_once(':').filter(|(_, rest)| rest.contains("count") && rest.contains("distribution"))
        {
            unit = of.trim();
            number += 1;
        } else if let Some((from, to, count)) = bucket(line) {
            if count > 0 {
                let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
                let bucket = format!("{from} to {to}{}{unit}, {times}", if unit.is_empty() { "" } else { " " });
                worst.insert(number, (label.clone(), bucket));
            }
        } else if line.ends_with(':') || line.contains('=') {
            label = line.trim_end_matches(':').to_owned();
            number += 1;
        }
    }
    let said = worst.into_values().take(MOST).map(|(label, bucket)| match label.as_str() {
        "" => bucket,
        label => format!("{}: {bucket}", text(label.as_bytes(), 40)),
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn bucket(line: &str) -> Option<(&str, &str, u64)> {
    let (range, rest) = match line.strip_prefix('[') {
        Some(rest) => {
            let (range, rest) = rest.split_once(')')?;
            (range.split_once(", ")?, rest)
        }
        None => {
            let (range, rest) = line.split_once(" : ")?;
            (range.split_once(" -> ")?, rest)
        }
    };
    let (count, bar) = rest.trim().split_once('|')?;
    bar.trim_end().ends_with('|').then_some(())?;
    Some((range.0.trim(), range.1.trim(), count.trim().parse().ok()?))
}

/// A line of the kernel's log about lateness, and what it means.
pub(super) fn log(line: &[u8]) -> Option<String> {
    const SAID: [(&str, &str); 12] = [
        (
            "RT throttling activated",
            "real-time threads had used up their share and had to wait (rule sched-rt-throttle)",
        ),
        (
            "hrtimer: interrupt took",
            "the timer interrupt ran so long, by its own timers or because the CPU was stopped",
        ),
        ("self-detected stall on CPU", "that CPU passed no quiescent state: its stack in the log names what ran"),
        ("detected stalls on CPUs/tasks", "a CPU or a preempted reader held RCU up: the stacks in the log name it"),
        ("detected expedited stalls on CPUs", "a CPU or a preempted reader held RCU up: the stacks in the log name it"),
        ("blocked for more than", "that thread slept so long for a lock or for I/O: it did not wait for a CPU"),
        ("soft lockup - CPU#", "that thread kept the CPU in the kernel so long: its stack in the log names where"),
        ("hard LOCKUP", "interrupts were off on that CPU for seconds: its stack in the log names where"),
        ("perf: interrupt took too long", "the interrupt of perf ran so long"),
        ("timekeeping watchdog on CPU", "a clock was wrong against another, or the CPU was stopped meanwhile"),
        ("DL replenish lagged too much", "a SCHED_DEADLINE thread was late by more than its period"),
        ("hogged CPU for >", "that work of a workqueue kept the CPU so long"),
    ];
    if line.len() > 512 {
        return None;
    }
    let line = std::str::from_utf8(line).ok()?.trim();
    let (_, means) = SAID.iter().find(|(mark, _)| line.contains(mark))?;
    Some(format!("\"{}\": {means}", text(line.as_bytes(), 160)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        summary(text.as_bytes()).map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn tables_are_told_by_their_worst() {
        let bcc = "irq-off:\n     msecs           : count     distribution\n        10 -> 19         : 0        |      |\n       640 -> 1279       \
                   : 1        |******|\nsoft-off:\n     msecs           : count     distribution\n        10 -> 19         : 477      |******|\n";
        assert!(said(bcc).starts_with("a histogram of a BPF tool, whose worst are irq-off: 640 to 1279 msecs, once; soft-off: 10 to 19 msecs, 477 times"));
        let bpftrace = "@usecs:\n[4, 8)                12 |@@@@   |\n[1K, 2K)               7 |@@     |\n";
        assert!(said(bpftrace).contains("@usecs: 1K to 2K, 7 times"), "{}", said(bpftrace));
        let latency = "  Task  |   Runtime ms  | Switches | Avg delay ms | Max delay ms | Max delay start |\n  a:(2) |  12.0 ms |  4 | avg:   0.100 ms | max:   \
                       0.300 ms | max start:  1.5 s |\n  b:77 |  12.0 ms |  4 | avg:   1.100 ms | max:  12.300 ms | max start:  2.5 s |\n";
        assert!(
            said(latency).starts_with("perf sched latency (the longest wait is 12.3 ms, of b:77 at 2.5 s)"),
            "{}",
            said(latency)
        );
        let timehist = "           time    cpu  task name     wait time  sch delay   run time\n   95.123456 [0001]  app[1234/1230]   0.000  0.015  \
                        0.030\n   95.200000 [0003]  my app[1240]   0.000  2.015  0.030\n";
        assert!(said(timehist).contains("is 2.015 ms, of my app[1240] on CPU 3 at 95.200000"), "{}", said(timehist));
        assert_eq!(said("nothing of it\n"), "");
    }

    #[test]
    fn the_kernels_log_is_told_for_what_it_says() {
        let said = said("[  12.3] sched: RT throttling activated\n");
        assert!(
            said.starts_with(
                "no trace, but the kernel's log: \"[  12.3] sched: RT throttling activated\": real-time threads"
            ),
            "{said}"
        );
    }
}
