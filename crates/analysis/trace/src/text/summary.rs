//! Recognises texts that are not traces but are mistaken for them: tables of other tools, and the kernel's log.

use super::scan::text;
use super::{log, repair};
use crate::info::TraceError;
use std::collections::BTreeMap;

const LATENCIES: &str = "`punctual import FILE --out DIR` reads its figures";
const RECORD: &str = "`perf script` prints the underlying events";
const EVENTS: &str = "record sched_switch, sched_waking, irq and irq_vectors events at that time, with stacks where preemption or interrupts are off";

/// Describes a text that contains no trace, with the worst latency in it.
pub(super) fn summary(head: &[u8]) -> Option<TraceError> {
    const TABLES: [(&str, &str); 5] = [
        ("Operating System Noise", "the table of rtla osnoise top"),
        ("RTLA timerlat histogram", "a histogram of rtla timerlat"),
        ("Timer Latency", "the table of rtla timerlat top"),
        ("RTLA osnoise", "a table of rtla osnoise"),
        ("# Histogram", "a histogram of cyclictest"),
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
    if let Some((what, next)) =
        [hwlatdetect, runqslower, trace_irqoff, offcpu, contention, totals, softirqslower, criticalstat]
            .iter()
            .find_map(|read| read(&head))
    {
        return table(what, next);
    }
    if let Some(buckets) = histograms(&head) {
        return table(format!("a histogram of a BPF tool, whose worst buckets are {buckets}"), EVENTS);
    }
    Some(TraceError::Log { said: log::said(&head)?, next: EVENTS })
}

/// Parses rows of rtla's top display: `0 #5823 | 24 0 1 24 | 1035 3 7 1035` of timerlat (the interrupt's and the
/// thread's latency: current, min, avg, max), and of osnoise `0 #59 59000000 9432 99.98 2078 58 0 0 …` (runtime, noise,
/// share of CPU time available, maximum noise in a period, longest single noise, hardware noise).
fn rtla(head: &str) -> Option<String> {
    let rows = head.lines().filter_map(|line| {
        let (cpu, rest) = line.trim().split_once(" #")?;
        Some((cpu.trim().parse::<u32>().ok()?, rest))
    });
    let number = |word: &str| word.parse::<u64>().ok();
    let worst = rows.filter_map(|(cpu, rest)| {
        let columns: Vec<Vec<&str>> = rest.split('|').map(|column| column.split_whitespace().collect()).collect();
        match columns.as_slice() {
            [_, irq, thread, ..] if irq.len() >= 4 && thread.len() >= 4 => {
                let (irq, thread) = (number(irq.last()?)?, number(thread.last()?)?);
                Some((thread, format!("the worst thread latency is {thread} us on CPU {cpu}, where the interrupt's was {irq} us at most")))
            }
            [row] if row.len() >= 7 => {
                let (single, hardware) = (number(row.get(5)?)?, number(row.get(6)?)?);
                let kinds = match row.get(7..11).unwrap_or_default() {
                    [nmi, irq, softirq, thread] => format!(", {nmi} from NMIs, {irq} from interrupts, {softirq} from softirqs, {thread} from threads"),
                    _ => String::new(),
                };
                Some((single, format!("the longest single noise is {single} us on CPU {cpu}, where {hardware} noises came from hardware or a hypervisor{kinds}")))
            }
            _ => None,
        }
    });
    worst.max().map(|(_, text)| text)
}

/// `max:  11  17` below a histogram of rtla, and `# Max Latencies: 00012 00013` of cyclictest.
fn maxima(head: &str) -> Option<String> {
    let rows = head.lines().map(str::trim).filter_map(|line| {
        line.strip_prefix("max:")
            .or_else(|| line.strip_prefix("# Max Latencies:"))
            .or_else(|| line.strip_prefix("ALL max:"))
    });
    let us = rows.flat_map(str::split_whitespace).filter_map(|word| word.parse::<u64>().ok()).max()?;
    Some(format!("the worst latency is {us} us"))
}

/// `RTS|  10.119|  27.029|  31.204| …|  10.119|  31.204|` of EVL's latmus and Xenomai's latency; the last value of a
/// row is the worst so far.
fn latmus(head: &str) -> Option<String> {
    let rows = head.lines().map(str::trim).filter(|line| line.starts_with("RTD|") || line.starts_with("RTS|"));
    let figures = rows.flat_map(|row| row.split('|').filter_map(|figure| figure.trim().parse::<f64>().ok()));
    let worst = figures.filter(|us| us.fract() != 0.0).max_by(f64::total_cmp)?;
    Some(format!("the lines of latmus or Xenomai's latency (the worst is {worst} us)"))
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
    Some((max, format!(" (the longest wait is {max} ms, of {task}{at})")))
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
    const NEXT: &str = "`punctual explain --hardware` distinguishes hardware, hypervisor and Linux on a machine";
    let value = |key: &str| head.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
    head.contains("hwlatdetect:").then_some(())?;
    let most = value("Max Latency:")?;
    if most.starts_with("Below") {
        return Some((format!("hwlatdetect, which found no gap ({})", text(most.as_bytes(), 40)), NEXT));
    }
    let samples =
        value("Samples recorded:").map(|n| format!(" in {} samples", text(n.as_bytes(), 20))).unwrap_or_default();
    let smis = match value("SMIs during run:") {
        Some("0") => ", 0 SMIs counted: firmware without SMIs, the host of a guest, or the processor",
        Some(_) => ", with SMIs counted: firmware",
        None => ", SMIs not counted",
    };
    Some((
        format!("hwlatdetect (gaps of at most {} with interrupts off{samples}{smis})", text(most.as_bytes(), 40)),
        NEXT,
    ))
}

/// Parses `04:30:27 kworker/0:1      18446            7500` of bcc's runqslower, below a line that ends in `LAT(us)`.
fn runqslower(head: &str) -> Option<(String, &'static str)> {
    let is_head = |line: &str| line.find("COMM").zip(line.find("LAT(us)")).is_some_and(|(comm, lat)| comm < lat);
    let rows = head.lines().skip_while(|line| !is_head(line)).skip(1);
    let row = |row: &str| {
        // The name may have blanks; with -P the previous thread and its ID follow.
        let words: Vec<&str> = row.split_whitespace().collect();
        let number = |n: usize| words.get(n)?.parse::<u64>().ok();
        let (at, tid, us) = (2..words.len()).find_map(|n| Some((n, number(n)?, number(n + 1)?)))?;
        let name = words.get(1..at)?.join(" ");
        let before = match words.get(at + 2..).and_then(<[&str]>::split_last) {
            Some((&"0", _)) => ", switched to from the idle task".to_owned(),
            Some((tid, name)) if !name.is_empty() && tid.parse::<u64>().is_ok() => {
                format!(", switched to from {} ({tid})", text(name.join(" ").as_bytes(), 32))
            }
            _ => String::new(),
        };
        let name = text(name.as_bytes(), 32);
        Some((us, format!("runqslower (the longest wait for a CPU is {us} µs, of {name} ({tid}){before})")))
    };
    let (_, what) = rows.filter_map(row).max_by_key(|(us, _)| *us)?;
    Some((what, EVENTS))
}

/// Parses `COMMAND: swapper/3 PID: 0 LATENCY: 9ms start_time: …` below `hardirq:` or `softirq:` of the module
/// trace-irqoff.
fn trace_irqoff(head: &str) -> Option<(String, &'static str)> {
    const NEXT: &str =
        "its stacks are those of the late timer, which show what it interrupted but not what was off before";
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
        let (_, max, _) = (ns(1)?, ns(3)?, ns(5)?);
        let [what, at @ ..] = words.get(7..)? else { return None };
        let at = text(at.join(" ").as_bytes(), 80);
        let who = if of_threads { format!("of {at} ({what})") } else { format!("for a {what} in {at}") };
        let times = words.first()?;
        let wait = words.get(3..5)?.join(" ");
        Some((max, format!("(the longest wait is {wait}, {who}, {times} waits); who held the lock is not in it")))
    };
    let (_, worst) = rows.filter_map(row).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    Some((format!("perf lock contention {worst}"), EVENTS))
}

/// Parses `14:41:43 irq(hard) to softirq net_rx   50223  0  cat` of bcc's softirqslower.
fn softirqslower(head: &str) -> Option<(String, &'static str)> {
    let rows = head.lines().skip_while(|line| !(line.contains("SOFTIRQ") && line.contains("LAT(us)"))).skip(1);
    let row = |row: &str| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let at = words.iter().skip(1).position(|word| word.parse::<u64>().is_ok())? + 1;
        let (us, stage) = (words.get(at)?.parse::<u64>().ok()?, words.get(1..at)?.join(" "));
        let (cpu, who) = (words.get(at + 1)?.parse::<u32>().ok()?, words.get(at + 2..)?.join(" "));
        let (stage, who) = (text(stage.as_bytes(), 60), text(who.as_bytes(), 32));
        Some((us, format!("softirqslower (the longest is {us} µs, of {stage} on CPU {cpu}, while {who} was current)")))
    };
    let (_, what) = rows.filter_map(row).max_by_key(|(us, _)| *us)?;
    Some((what, EVENTS))
}

/// Parses `TASK: app (pid 246 tid 246) Total Time: 580.730 us` and the lines with the section's ends of bcc's
/// criticalstat.
fn criticalstat(head: &str) -> Option<(String, &'static str)> {
    let what = if head.contains("preempt") && !head.contains("IRQ disabled") { "preemption" } else { "interrupts" };
    let mut worst: Option<(f64, String)> = None;
    let mut lines = head.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((who, time)) = line.strip_prefix("TASK: ").and_then(|line| line.split_once(" Total Time: ")) else {
            continue;
        };
        let Some(us) = time.split_whitespace().next().and_then(|us| us.parse::<f64>().ok()) else { continue };
        let end = |line: Option<&str>, key: &str| {
            let (function, caller) = line?.strip_prefix(key)?.trim().split_once(" -> ")?;
            Some(format!("{} ← {}", text(function.as_bytes(), 64), text(caller.as_bytes(), 64)))
        };
        lines.next_if(|line| line.is_empty());
        let from = end(lines.peek().copied(), "Section start:");
        lines.next_if(|_| from.is_some());
        let to = end(lines.peek().copied(), "Section end:");
        let place = from.zip(to).map(|(from, to)| format!(", from {from} to {to}")).unwrap_or_default();
        if worst.as_ref().is_none_or(|(most, _)| us > *most) {
            let who: Vec<&str> = who.split_whitespace().collect();
            let who = text(who.join(" ").as_bytes(), 64);
            worst = Some((us, format!("criticalstat ({what} off for {us} µs in {who}{place})")));
        }
    }
    worst.map(|(_, what)| (what, EVENTS))
}

/// Parses `IPI-2  1421603` below `HARDIRQ  TOTAL_usecs` of bcc's hardirqs and softirqs.
fn totals(head: &str) -> Option<(String, &'static str)> {
    let is_head = |line: &&str| line.contains("IRQ") && (line.contains("TOTAL_") || line.contains("TOTAL ("));
    let heading = head.lines().find(is_head)?;
    let unit = if heading.contains("nsecs") { "ns" } else { "µs" };
    let rows = head.lines().skip_while(|line| !is_head(line)).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some((words.get(1)?.parse::<u64>().ok()?, *words.first()?))
    });
    let (sum, name) = rows.max()?;
    let name = text(name.as_bytes(), 40);
    Some((
        format!(
            "a table of hardirqs or softirqs (the largest sum is {sum} {unit}, of {name}); sums hold no single delay"
        ),
        EVENTS,
    ))
}

/// Parses the stacks of bcc's offcputime: frames, `-  name (tid)` and the sum of µs in a line each.
fn offcpu(head: &str) -> Option<(String, &'static str)> {
    const FRAMES: usize = 3;
    let mut frames: Vec<&str> = Vec::new();
    let mut who = None;
    let mut worst: Option<(u64, String)> = None;
    for line in head.lines() {
        let word = line.trim();
        if word.is_empty() {
            (frames, who) = (Vec::new(), None);
        } else if let Some(named) = word.strip_prefix("- ").filter(|name| name.ends_with(')')) {
            who = Some(named.trim());
        } else if let (Some(who), Ok(us)) = (who, word.parse::<u64>()) {
            let own = frames.iter().filter(|frame| !frame.contains("schedule") && !frame.starts_with("finish_task"));
            let own: Vec<String> = own.take(FRAMES).map(|frame| text(frame.as_bytes(), 64)).collect();
            if worst.as_ref().is_none_or(|(most, _)| us > *most) && !own.is_empty() {
                let (who, own) = (text(who.as_bytes(), 40), own.join(" ← "));
                worst = Some((
                    us,
                    format!(
                        "offcputime (the largest sum is {us} µs, of {who}, in {own}; time in which a thread waits for work counts too)"
                    ),
                ));
            }
        } else {
            frames.push(word);
        }
    }
    worst.map(|(_, what)| (what, EVENTS))
}

/// Returns the last nonzero bucket of each histogram of bcc (`640 -> 1279 : 1 |***|`) or bpftrace (`[1K, 2K) 7 |@@|`).
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
        assert!(said(bcc).starts_with("a histogram of a BPF tool, whose worst buckets are irq-off: 640 to 1279 msecs, once; soft-off: 10 to 19 msecs, 477 times"));
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
        let pre = "time cpu task name wait time sch delay run time pre-mig time\n 103.721020 [0000]  <idle>  0.000  0.000  15.405  0.000\n 103.721034 [0008]  \
                   s  app[38/37]  1.000  3.448  0.013  0.000\n";
        assert!(said(pre).contains("is 3.448 ms, of app[38/37] on CPU 8 at 103.721034"), "{}", said(pre));
        assert!(!said(pre).contains("another CPU"), "{}", said(pre));
        let moved = pre.replace("0.013  0.000", "0.013  3.440");
        assert!(said(&moved).contains("at 103.721034, 3.44 ms of it on another CPU before"), "{}", said(&moved));
        let broken = latency.replace("|   Switches", "|\n Switches").replace("| max:", "|\n max:");
        assert!(said(&broken).contains("(the longest wait is 12.3 ms, of b:77 at 2.5 s)"), "{}", said(&broken));
        let off = "    finish_task_switch\n    schedule\n    read_events\n    do_io_getevents\n    -   my sql (29896)\n        3500863\n\n    \
                   schedule\n    futex_wait\n    -   app (3)\n        12\n";
        assert!(
            said(off)
                .starts_with("offcputime (the largest sum is 3500863 µs, of my sql (29896), in read_events ← do_io"),
            "{}",
            said(off)
        );
        let shown = ">  time cpu task name  prio  wait time sch delay run time\n>  90.765421 [0002]  job[12]  129  0.000  0.062  0.029\n";
        assert!(said(shown).contains("is 0.062 ms, of job[12] on CPU 2"), "{}", said(shown));
        let bare = "  95.123456 [0001]  app[1234/1230]   0.000  0.015  0.030\n  95.123476 [0001]  kcompactd0[37]   0.000  880.478  0.030\n";
        assert!(said(bare).contains("is 880.478 ms, of kcompactd0[37]"), "{}", said(bare));
        let deadline = "DEBUG: deadline thread 163\nT: 0 (163) I:1000 C: 36 Min: 1 Act: 11 Avg: 6 Max:      33\nT: 1 (164) I:1500 C: 24 Min: 1 Act: 4 Avg: 3 Max: 13\n\
                        # Break value: 51\n";
        assert!(
            said(deadline).starts_with("the lines of cyclicdeadline (worst 33, of thread 0; stopped at 51)"),
            "{}",
            said(deadline)
        );
        let coarse = "WARN: High resolution timers not available\nT: 0 ( 24) P:99 I:1000 C: 12 Min: 9 Act: 6 Avg: 7 Max:\n  351\n";
        assert!(
            said(coarse)
                .starts_with("the lines of cyclictest (worst 351, of thread 0), without high resolution timers"),
            "{}",
            said(coarse)
        );
        let hwlat = "hwlatdetect:  test duration 900 seconds\nMax Latency: 48us\nSamples recorded: 37\nSMIs during run: 0\nts: 1646837340.3, inner:5, outer:9\n";
        assert!(
            said(hwlat).starts_with("hwlatdetect (gaps of at most 48us with interrupts off in 37 samples, 0 SMIs"),
            "{}",
            said(hwlat)
        );
        assert!(said(&hwlat.replace("48us", "Below threshold")).starts_with("hwlatdetect, which found no gap"));
        let queue = "TIME     COMM             PID           LAT(us)\n04:30:25 kworker/20:2     6023             2264\n04:30:27 my app:1 18446  7500\n";
        assert!(
            said(queue).starts_with("runqslower (the longest wait for a CPU is 7500 µs, of my app:1 (18446))"),
            "{}",
            said(queue)
        );
        let queue = "TIME     COMM             TID           LAT(us) PREV COMM        PREV TID\n04:16:32 cc1 12924 12739 swapper/1 0\n";
        assert!(said(queue).contains("of cc1 (12924), switched to from the idle task)"), "{}", said(queue));
        let other = queue.replace("swapper/1 0", "my app 77");
        assert!(said(&other).contains("of cc1 (12924), switched to from my app (77))"), "{}", said(&other));
        let off = "trace_irqoff_latency: 8ms\n\n hardirq:\n\n softirq:\n cpu: 3\n     COMMAND: swapper/3 PID: 0 LATENCY: 9ms start_time: 53.8s\n";
        assert!(
            said(off)
                .starts_with("trace-irqoff (softirqs late by 9 ms on CPU 3, interrupting swapper/3 (0), the idle task"),
            "{}",
            said(off)
        );
        assert_eq!(said("nothing of it\n"), "");
    }

    #[test]
    fn tables_of_rtla_and_latmus_have_their_worst() {
        let top = "   Timer Latency\nCPU COUNT | cur min avg max | cur min avg max\n 0 #823 | 24 0 1 24 | 1035 3 7 1035\n 1 #824 | 1 0 1 40 | 6 2 6 11\n";
        let worst = "the table of rtla timerlat top (the worst thread latency is 1035 us on CPU 0, where the interrupt's was 24 us at most)";
        assert!(said(top).starts_with(worst), "{}", said(top));
        let noise =
            "RTLA osnoise\nCPU Period Runtime Noise % CPU Aval\n 0 #59 59000000 9432 99.98401 2078 58 3 0 10 20 30\n";
        assert!(said(noise).contains("single noise is 58 us on CPU 0, where 3 noises"), "{}", said(noise));
        let noise = noise.replace("RTLA osnoise", "     Operating System Noise\nduration: 0 00:10:00");
        assert!(said(&noise).ends_with("from hardware or a hypervisor, 0 from NMIs, 10 from interrupts, 20 from softirqs, 30 from threads): a summary \
            without events, which contains no causes; `punctual import FILE --out DIR` reads its figures"), "{}", said(&noise));
        let lock = " contended   total wait     max wait     avg wait         type   caller\n\n  6  6.03 s  6.03 s  1.00 s  spinlock   broadcast_control+0xc0\n\
                    19  811.74 ms  621.76 ms  42.72 ms  spinlock   rcu_core+0xec\n";
        assert!(
            said(lock).contains("(the longest wait is 6.03 s, for a spinlock in broadcast_control+0xc0, 6 waits)"),
            "{}",
            said(lock)
        );
        let lock = " contended   total wait     max wait     avg wait          pid   comm\n  1  740.66 ms  740.66 ms  740.66 ms  1950   nv_queue\n";
        assert!(said(lock).contains("is 740.66 ms, of nv_queue (1950), 1 waits)"), "{}", said(lock));
        let sums = "HARDIRQ                    TOTAL_usecs\nenv2    816\nIPI-2   1421603  << fewer\n";
        assert!(said(sums).contains("the largest sum is 1421603 µs, of IPI-2"), "{}", said(sums));
        let slow = "TIME     STAGE                SOFTIRQ  LAT(us)        CPU    COMM\n14:41:43 irq(hard) to softirq net_rx   50223          0      cat\n\
                    14:41:43 irq(hard) to softirq tasklet  95280          1      my cat\n";
        assert!(
            said(slow).starts_with(
                "softirqslower (the longest is 95280 µs, of irq(hard) to softirq tasklet on CPU 1, while my cat was"
            ),
            "{}",
            said(slow)
        );
        let off = "Finding critical section with IRQ disabled for > 500us\n=====\nTASK: commit:111 (pid   246 tid   246) Total Time: 580.730  us\n\n\
                   Section start: clk_lock -> clk_enable\nSection end:   _raw_spin_unlock -> clk_enable\n  clk_enable+0x80\n";
        assert!(
            said(off).starts_with("criticalstat (interrupts off for 580.73 µs in commit:111 (pid 246 tid 246), from clk_lock ← clk_enable to _raw"),
            "{}",
            said(off)
        );
        let hist = "# RTLA timerlat histogram\nIndex IRQ-000 Thr-000\n0 591157 0\nover: 0 0\nmax: 11 17\n";
        assert!(said(hist).contains("(the worst latency is 17 us)"), "{}", said(hist));
        let latmus = "RTT|  00:00:01  (user, 1000 us period)\nRTD| 26.675| 26.951| 27.826| 0| 0| 26.675| 31.204\n";
        assert!(said(latmus).contains("(the worst is 31.204 us)"), "{}", said(latmus));
    }
}
