//! Recognises texts that are not traces but are mistaken for them: tables of other tools, and the kernel's log.

mod bpf;
mod stacks;
mod tables;

use super::scan::text;
use super::{log, repair};
use crate::info::TraceError;
use crate::noises::{Noises, worst_noise};
use bpf::{criticalstat, histograms, runqslower, softirqslower, totals};
use stacks::{folded, offcpu, wakers};
use tables::{biosnoop, calls, hist_triggers, klockstat, latencies, latencytop, ltt, other_tools, with_maximum};

const LATENCIES: &str = "`punctual import FILE --out DIR` reads its figures";
const RECORD: &str = "`perf script` prints the underlying events";
const EVENTS: &str = "record sched_switch, sched_waking, irq and irq_vectors events at that time, with stacks where preemption or interrupts are off";

/// Reads the output of one tool. Returns what it contains, and what to record next; `None` for another tool's output.
type Reader = fn(&str) -> Option<(String, &'static str)>;

/// Describes a text that contains no trace, with the worst latency in it.
pub(super) fn summary(head: &[u8]) -> Option<TraceError> {
    const TABLES: [(&str, &str); 8] = [
        ("Operating System Noise", "the table of rtla osnoise top"),
        ("% CPU Aval", "the table of rtla osnoise top"),
        ("IRQ-000   Thr-000", "a histogram of rtla timerlat"),
        ("RTLA timerlat histogram", "a histogram of rtla timerlat"),
        ("Timer Latency", "the table of rtla timerlat top"),
        ("RTLA osnoise", "a table of rtla osnoise"),
        ("# Histogram", "a histogram of cyclictest"),
        ("# Max Latencies:", "the latencies of cyclictest"),
    ];
    let mut lines = head.split(|b| *b == b'\n').map(|line| repair::unquote(line).0);
    let head = String::from_utf8_lossy(&lines.by_ref().collect::<Vec<_>>().join(&b'\n')).into_owned();
    let table = |what: String, next| Some(TraceError::Summary { what, next });
    if let Some((_, what)) = TABLES.iter().find(|(mark, _)| head.contains(mark)) {
        let worst = rtla(&head).or_else(|| maxima(&head)).map(|worst| format!(" ({worst})")).unwrap_or_default();
        return table(format!("{what}{worst}"), LATENCIES);
    }
    if let Some(worst) = latmus(&head) {
        return table(worst, EVENTS);
    }
    let rows = || head.lines().filter_map(|row| timehist(row, 3, false)).take(2).count() == 2;
    if head.contains("sch delay") || rows() {
        let columns = if head.contains("pre-mig time") { 4 } else { 3 };
        let prio = head.lines().any(|line| line.contains("sch delay") && line.contains(" prio "));
        let worst = worst(&head, |row| timehist(row, columns, prio)).map(|(_, row)| row).unwrap_or_default();
        return table(format!("perf sched timehist{worst}"), RECORD);
    }
    if head.contains("Runtime ms") {
        // A mail client breaks the wide rows.
        let rows: Vec<&str> = head.lines().collect();
        let joined: String = rows.windows(2).map(|rows| rows.concat() + "\n").collect();
        let worst = worst(&head, latency).or_else(|| worst(&joined, latency)).map(|(_, row)| row).unwrap_or_default();
        return table(format!("perf sched latency{worst}"), RECORD);
    }
    if head.contains("T: 0 (") {
        return table(threads(&head), LATENCIES);
    }
    let tools: [Reader; 17] = [
        hwlatdetect,
        runqslower,
        trace_irqoff,
        offcpu,
        folded,
        wakers,
        ltt,
        contention,
        totals,
        softirqslower,
        criticalstat,
        klockstat,
        biosnoop,
        latencytop,
        calls,
        hist_triggers,
        latencies,
    ];
    if let Some((what, next)) = tools.iter().find_map(|read| read(&head)) {
        return table(what, next);
    }
    if let Some(buckets) = histograms(&head) {
        return table(format!("a histogram of a BPF tool, whose worst buckets are {buckets}"), EVENTS);
    }
    let log = log::said(&head).map(|said| TraceError::Log { said, next: EVENTS });
    log.or_else(|| other_tools(&head).or_else(|| with_maximum(&head)).and_then(|(what, next)| table(what, next)))
}

/// Parses rows of rtla's top display: `0 #5823 | 24 0 1 24 | 1035 3 7 1035` of timerlat (the interrupt's and the
/// thread's latency: current, min, avg, max), and of osnoise `0 #59 59000000 9432 99.98 2078 58 0 0 …` (runtime, noise,
/// share of CPU time available, maximum noise in a period, longest single noise, noises by kind).
fn rtla(head: &str) -> Option<String> {
    let rows = || {
        head.lines().filter_map(|line| {
            let (cpu, rest) = line.trim().split_once(" #")?;
            Some((cpu.trim().parse::<u32>().ok()?, rest))
        })
    };
    let number = |word: &str| word.parse::<u64>().ok();
    let timerlat = rows().filter_map(|(cpu, rest)| {
        let columns: Vec<Vec<&str>> = rest.split('|').map(|column| column.split_whitespace().collect()).collect();
        let [_, irq, thread, ..] = columns.as_slice() else { return None };
        (irq.len() >= 4 && thread.len() >= 4).then_some(())?;
        let (irq, thread) = (number(irq.last()?)?, number(thread.last()?)?);
        Some((
            thread,
            format!("the worst thread latency is {thread} us on CPU {cpu}, where the interrupt's was {irq} us at most"),
        ))
    });
    let osnoise = || {
        let rows = rows().filter_map(|(cpu, rest)| {
            let row: Vec<&str> = rest.split_whitespace().collect();
            let figure = |at: usize| number(row.get(at)?);
            let counts = [figure(6)?, 0, 0, 0, 0];
            let counts = match [figure(7), figure(8), figure(9), figure(10)] {
                [Some(nmi), Some(irq), Some(softirq), Some(thread)] => Some([counts[0], nmi, irq, softirq, thread]),
                _ => None,
            };
            let (runtime_us, noise_us, max_single_us) = (figure(1)?, figure(2)?, figure(5)?);
            Some((cpu, Noises { runtime_us, noise_us, max_period_us: figure(4), max_single_us, counts }))
        });
        worst_noise(&rows.collect())
    };
    timerlat.max().map(|(_, text)| text).or_else(osnoise)
}

/// `max:  11  17` below a histogram of rtla, and `# Max Latencies: 00012 00013` of cyclictest.
fn maxima(head: &str) -> Option<String> {
    const MOST: usize = 8;
    let rows = head.lines().map(str::trim).filter_map(|line| {
        line.strip_prefix("max:")
            .or_else(|| line.strip_prefix("# Max Latencies:"))
            .or_else(|| line.strip_prefix("ALL max:"))
    });
    let rows = rows.map(|row| row.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).max());
    let runs: Vec<u64> = rows.flatten().collect();
    let us = runs.iter().max()?;
    let runs = match runs.len() {
        2..=MOST => {
            let all: Vec<String> = runs.iter().map(u64::to_string).collect();
            format!("; the maxima in order: {}", all.join(", "))
        }
        _ => String::new(),
    };
    Some(format!("the worst latency is {us} us{runs}"))
}

/// Parses `RTS|  10.119|  27.029|  31.204|  4|  0|  10.119|  31.204|` of EVL's latmus and Xenomai's latency: minimum,
/// average, maximum, overruns, mode switches, the best and the worst so far; some versions lack a column.
fn latmus(head: &str) -> Option<String> {
    let rows = head.lines().map(str::trim).filter(|line| line.starts_with("RTD|") || line.starts_with("RTS|"));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split('|').skip(1).map(str::trim).collect()).collect();
    let figures = rows.iter().flatten().filter_map(|figure| figure.parse::<f64>().ok());
    let worst = figures.filter(|us| us.fract() != 0.0).max_by(f64::total_cmp)?;
    let column = |name: &str| {
        let heading = head.lines().map(str::trim).find(|line| line.starts_with("RTH|"))?;
        let at = heading.split('|').skip(1).position(|column| column.trim_start_matches('-').trim() == name)?;
        rows.iter().filter_map(|row| row.get(at)?.parse::<u64>().ok()).max()
    };
    let overruns = column("overrun").map(|n| format!(", {n} overruns")).unwrap_or_default();
    let switches = match column("msw") {
        Some(0) => ", 0 switches to Linux",
        Some(_) => ", with switches to Linux (msw)",
        None => "",
    };
    Some(format!("the lines of latmus or Xenomai's latency (the worst is {worst} us{overruns}{switches})"))
}

fn worst(head: &str, row: impl Fn(&str) -> Option<(f64, String)>) -> Option<(f64, String)> {
    head.lines().filter_map(row).max_by(|(a, _), (b, _)| a.total_cmp(b))
}

/// Parses `kworker/0:1:5 | 1.2 ms | 12 | avg: 0.02 ms | max: 12.30 ms | max start: 123.4 s`; before Linux 5.11 `max
/// at:`.
fn latency(row: &str) -> Option<(f64, String)> {
    let mut columns = row.split('|').map(str::trim);
    let task = columns.next()?;
    let value = |column: &str, key: &str| column.strip_prefix(key)?.split_whitespace().next()?.parse::<f64>().ok();
    let columns: Vec<&str> = columns.collect();
    let max = columns.iter().find_map(|column| value(column, "max:"))?;
    let at = columns.iter().find_map(|column| value(column, "max start:").or_else(|| value(column, "max at:")));
    let at = at.map(|at| format!(" at {at} s")).unwrap_or_default();
    let average = columns.iter().find_map(|column| value(column, "avg:"));
    let switches = columns.get(1).and_then(|column| column.parse::<u64>().ok());
    let often = switches.zip(average).map(|(times, ms)| format!("; {times} switches, {ms} ms on average"));
    Some((max, format!(" (the longest wait is {max} ms, of {task}{at}{})", often.unwrap_or_default())))
}

/// Parses `95.123456 [0001]  app[1234/1230]   0.000  0.015  0.030`: times in ms, waiting for an event, for the CPU, and
/// running; with -P the time before a migration, too, with --show-prio the priority after the task. With -V letters
/// precede the task.
fn timehist(row: &str, columns: usize, prio: bool) -> Option<(f64, String)> {
    let (time, rest) = row.trim().split_once(" [")?;
    let (cpu, rest) = rest.split_once(']')?;
    time.trim().parse::<f64>().ok()?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (task, times) = words.split_at_checked(words.len().checked_sub(columns)?)?;
    let in_ms = |word: &&str| word.split_once('.').filter(|(_, ms)| ms.len() == 3)?.0.parse::<u64>().ok();
    times.iter().all(|word| in_ms(word).is_some()).then_some(())?;
    let delay = times.get(1)?.parse::<f64>().ok()?;
    let before = times.get(3).and_then(|ms| ms.parse::<f64>().ok()).filter(|ms| *ms > delay / 2.0);
    let before = before.map(|ms| format!(", {ms} ms of it on another CPU before it was moved")).unwrap_or_default();
    let from = task.iter().position(|word| !matches!(*word, "s" | "i" | "m" | "-"))?;
    let task = task.get(from..task.len() - usize::from(prio && task.len() > from + 1))?.join(" ");
    let cpu: u32 = cpu.parse().ok()?;
    Some((
        delay,
        format!(" (the longest wait for a CPU is {delay} ms, of {task} on CPU {cpu} at {}{before})", time.trim()),
    ))
}

/// Parses `T: 0 ( 1234) … Act:   11 Avg:    6 Max:      33` of cyclictest, cyclicdeadline and others of rt-tests, and
/// `# Break value: 51`.
fn threads(head: &str) -> String {
    let value = |line: &str, key: &str| line.rsplit_once(key)?.1.split_whitespace().next()?.parse::<u64>().ok();
    // A mail client broke the line before its last figure.
    let joined = head.replace("Max:\n", "Max: ");
    let tool = if head.contains("deadline thread") { "cyclicdeadline" } else { "cyclictest" };
    let rows = joined.lines().filter(|line| line.contains("T:"));
    let worst = rows.filter_map(|row| Some((value(row, "Max:")?, value(row, "T:").unwrap_or(0)))).max();
    let worst = worst.map(|(us, thread)| format!(" (worst {us}, of thread {thread}")).unwrap_or_default();
    let stopped = head.lines().find_map(|line| value(line, "Break value:"));
    let stopped = match stopped {
        Some(at) if worst.is_empty() => format!(" (stopped at {at})"),
        Some(at) => format!("; stopped at {at})"),
        None if worst.is_empty() => String::new(),
        None => ")".to_owned(),
    };
    let coarse = match head.contains("High resolution timers not available") {
        true => ", without high resolution timers, so that each thread is woken by the tick",
        false => "",
    };
    format!("the lines of {tool}{worst}{stopped}{coarse}")
}

/// Parses `Max Latency: 48us`, `Samples recorded: 37`, `SMIs during run: 0` of rt-tests' hwlatdetect.
fn hwlatdetect(head: &str) -> Option<(String, &'static str)> {
    const NEXT: &str =
        "`punctual explain --hardware` shows on the machine whether the cause is the hardware, the hypervisor or Linux";
    let value = |key: &str| head.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
    head.contains("hwlatdetect:").then_some(())?;
    let most = value("Max Latency:")?;
    if most.starts_with("Below") {
        return Some((format!("hwlatdetect, which found no gap ({})", text(most.as_bytes(), 40)), NEXT));
    }
    let samples =
        value("Samples recorded:").map(|n| format!(" in {} samples", text(n.as_bytes(), 20))).unwrap_or_default();
    let smis = match value("SMIs during run:") {
        Some("0") => ", 0 SMIs counted, which points to firmware without SMIs, the host of a guest, or the processor",
        Some(_) => ", with SMIs counted, which points to the firmware",
        None => ", SMIs not counted",
    };
    Some((
        format!("hwlatdetect (gaps of at most {} with interrupts off{samples}{smis})", text(most.as_bytes(), 40)),
        NEXT,
    ))
}

/// Parses `COMMAND: swapper/3 PID: 0 LATENCY: 9ms start_time: …` below `hardirq:` or `softirq:` of the module
/// trace-irqoff.
fn trace_irqoff(head: &str) -> Option<(String, &'static str)> {
    const NEXT: &str = "its stacks are those of the late timer: they show what the timer interrupted, but not what had disabled interrupts before";
    head.contains("trace_irqoff").then_some(())?;
    let (mut what, mut cpu) = ("interrupts", "");
    let mut worst: Option<(u64, String)> = None;
    for line in head.lines().map(str::trim) {
        match line {
            "hardirq:" => what = "interrupts",
            "softirq:" => what = "softirqs",
            _ => {}
        }
        cpu = line.strip_prefix("cpu: ").unwrap_or(cpu);
        let Some((who, rest)) = line.strip_prefix("COMMAND: ").and_then(|line| line.split_once(" PID: ")) else {
            continue;
        };
        let Some((pid, rest)) = rest.split_once(" LATENCY: ") else { continue };
        let Some(ms) = rest.split("ms").next().and_then(|ms| ms.trim_end_matches('+').parse::<u64>().ok()) else {
            continue;
        };
        if worst.as_ref().is_none_or(|(most, _)| ms > *most) {
            let who = text(who.as_bytes(), 32);
            let idle = if pid.trim() == "0" { ", the idle task, which needs no interrupt for that long" } else { "" };
            worst = Some((
                ms,
                format!(
                    "trace-irqoff ({what} late by {ms} ms on CPU {cpu}, interrupting {who} ({}){idle})",
                    pid.trim()
                ),
            ));
        }
    }
    worst.map(|(_, what)| (what, NEXT))
}

/// Parses `19  811.74 ms  621.76 ms  42.72 ms  spinlock  rcu_core+0xec` of perf lock contention; with -t the last two are
/// a thread.
fn contention(head: &str) -> Option<(String, &'static str)> {
    struct Wait {
        total: f64,
        total_text: String,
        max: f64,
        max_text: String,
        times: u64,
        who: String,
    }
    let mut rows = head.lines().skip_while(|line| !(line.contains("contended") && line.contains("max wait")));
    let of_threads = rows.next()?.contains("comm");
    let row = |row: &str| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let ns = |value: usize| {
            let unit = match *words.get(value + 1)? {
                "ns" => 1.0,
                "us" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" => 60e9,
                _ => return None,
            };
            Some(words.get(value)?.parse::<f64>().ok()? * unit)
        };
        let (total, max, _) = (ns(1)?, ns(3)?, ns(5)?);
        let [what, at @ ..] = words.get(7..)? else { return None };
        let at = text(at.join(" ").as_bytes(), 80);
        let is_stub = ["__traceiter_", "trace_contention", "__bpf_trace_"].iter().any(|stub| at.starts_with(stub));
        let who = match () {
            () if of_threads => format!("of {at} ({what})"),
            () if is_stub => format!("for a {what}; {at} is the tracepoint's own code, and its caller is not shown"),
            () => format!("for a {what} in {at}"),
        };
        let times: u64 = words.first()?.parse().ok()?;
        let (total_text, max_text) = (words.get(1..3)?.join(" "), words.get(3..5)?.join(" "));
        Some(Wait { total, total_text, max, max_text, times, who })
    };
    let rows: Vec<Wait> = rows.filter_map(row).collect();
    let worst = rows.iter().max_by(|a, b| a.max.total_cmp(&b.max))?;
    let most = rows.iter().max_by(|a, b| a.total.total_cmp(&b.total))?;
    let (wait, who) = (&worst.max_text, &worst.who);
    let times = if worst.times == 1 { "1 wait".to_owned() } else { format!("{} waits", worst.times) };
    let sum = match most.who == worst.who {
        true => String::new(),
        false => format!("; the largest sum is {} in {} waits, {}", most.total_text, most.times, most.who),
    };
    let what = format!(
        "perf lock contention (the longest wait is {wait} of {times}, {who}{sum}); it does not show who held the lock"
    );
    Some((what, EVENTS))
}

#[cfg(test)]
mod tests;
