//! Tables of tools that measure latencies: rtla, rt-tests, latmus, hwlatdetect, stress-ng.

use super::rows::{rows_of_top, whole_rows};
use super::{EVENTS, LATENCIES};
use crate::noises::{Noises, worst_noise};
use crate::text::scan::text;

/// Reads the tables of measuring tools; a text may have those of several.
pub(super) fn measured(head: &str) -> Option<(String, &'static str)> {
    let head = &whole_rows(head);
    let latency = |what: String| (what, LATENCIES);
    let of_threads = || head.contains("T: 0 (").then(|| threads(head));
    let all = [
        table(head).map(latency),
        latmus(head).map(|what| (what, EVENTS)),
        of_threads().map(latency),
        pairs(head).map(latency),
        stress_ng(head).map(latency),
        oslat(head).map(latency),
        hwlatdetect(head),
    ];
    let all: Vec<(String, &str)> = all.into_iter().flatten().collect();
    let (_, next) = all.first()?;
    let what: Vec<&str> = all.iter().map(|(what, _)| what.as_str()).collect();
    let is_cyclictest = |what: &&str| what.contains("of cyclictest");
    let several = match what.len() {
        0 | 1 => "",
        _ if what.iter().all(is_cyclictest) && head.contains("Max Latencies:") && !is_one_run(head) => {
            "; the maxima differ: these may be different runs"
        }
        _ if what.iter().all(is_cyclictest) => "",
        _ => "; several tools, whose figures need not be comparable",
    };
    Some((format!("{}{several}", what.join("; ")), next))
}

/// True if the lines `T: 0 (…)` of cyclictest can be of the run whose histogram the text has: both have the same maximum.
fn is_one_run(head: &str) -> bool {
    let max = |line: &str, key: &str| {
        line.rsplit_once(key)?.1.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).max()
    };
    let of = |line: &str| line.contains("T:").then(|| max(line, "Max:")).flatten();
    let histogram = head.lines().filter_map(|line| max(line, "# Max Latencies:")).max();
    histogram == head.lines().filter_map(of).max()
}

/// Recognises the tables of rtla and the histograms of cyclictest by their headings.
fn table(head: &str) -> Option<String> {
    const TABLES: [(&str, &str); 9] = [
        ("Hardware-related Noise", "the table of rtla hwnoise, which has interrupts off"),
        ("Operating System Noise", "the table of rtla osnoise top"),
        ("% CPU Aval", "the table of rtla osnoise top"),
        ("IRQ-000   Thr-000", "a histogram of rtla timerlat"),
        ("RTLA timerlat histogram", "a histogram of rtla timerlat"),
        ("Timer Latency", "the table of rtla timerlat top"),
        ("RTLA osnoise", "a table of rtla osnoise"),
        ("# Histogram", "a histogram of cyclictest"),
        ("# Max Latencies:", "the latencies of cyclictest"),
    ];
    let marked = TABLES.iter().find(|(mark, _)| head.contains(mark)).map(|(_, what)| *what);
    let what = marked.or_else(|| {
        let (names, _) = columns(head)?;
        let is_noise = names.iter().all(|name| name.starts_with("CPU-"));
        Some(if is_noise { "a histogram of rtla osnoise" } else { "a histogram of rtla timerlat" })
    })?;
    let worst = rtla(head).or_else(|| histogram(head)).or_else(|| maxima(head));
    let worst = worst.map(|worst| format!(" ({worst}{})", overflows(head).unwrap_or_default())).unwrap_or_default();
    let stopped = if head.contains("hit stop tracing") { ", stopped at its threshold" } else { "" };
    Some(format!("{what}{worst}{}{stopped}", hwnoise(head).unwrap_or_default()))
}

/// Returns the largest counts of hwnoise, whose rows end with those by hardware and of NMIs.
fn hwnoise(head: &str) -> Option<String> {
    const COLUMNS: usize = 8;
    head.contains("Hardware-related Noise").then_some(())?;
    let rows = rows_of_top(head);
    let counts = rows.iter().filter_map(|(_, row)| {
        let row: Vec<&str> = row.split_whitespace().collect();
        let (hardware, nmis) = (row.get(6)?.parse::<u64>().ok()?, row.get(7)?.parse::<u64>().ok()?);
        (row.len() == COLUMNS).then_some((hardware, nmis))
    });
    let (hardware, nmis) = counts.reduce(|(a, b), (c, d)| (a.max(c), b.max(d)))?;
    Some(format!("; on each CPU at most {hardware} noises by hardware or a hypervisor and {nmis} NMIs"))
}

/// Returns the names of the columns of a histogram of rtla, `Index   CPU-000   CPU-001` or `Index   IRQ-000   Thr-000`,
/// and the rows below; `None` if there are several histograms.
fn columns(head: &str) -> Option<(Vec<&str>, Vec<Vec<&str>>)> {
    let is_heading = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next() == Some("Index")
            && words.all(|word| matches!(word.split_once('-'), Some(("CPU" | "IRQ" | "Thr" | "Usr", _))))
    };
    (head.lines().filter(is_heading).count() == 1).then_some(())?;
    let mut lines = head.lines().skip_while(|line| !is_heading(line));
    let names: Vec<&str> = lines.next()?.split_whitespace().skip(1).collect();
    let rows = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() == names.len() + 1);
    (!names.is_empty()).then_some(())?;
    Some((names.clone(), rows.collect()))
}

/// Returns the worst of each kind of column of a histogram of rtla: from its row `max:`, or from the rows shown.
fn histogram(head: &str) -> Option<String> {
    const KINDS: [(&str, &str); 4] = [
        ("CPU-", "the longest noise"),
        ("Thr-", "the worst thread latency"),
        ("IRQ-", "the worst interrupt latency"),
        ("Usr-", "the worst return to user space"),
    ];
    let (names, rows) = columns(head)?;
    let number = |row: &[&str], at: usize| row.get(at + 1)?.parse::<u64>().ok();
    let of_row = |key: &str| rows.iter().find(|row| row.first() == Some(&key));
    let last = |at: usize| {
        let filled = rows.iter().filter(|row| number(row, at).is_some_and(|count| count > 0));
        filled.filter_map(|row| row.first()?.parse::<u64>().ok()).max()
    };
    let max = of_row("max:");
    let worst = |at: usize| max.map_or_else(|| last(at), |row| number(row, at));
    let said = KINDS.iter().filter_map(|(prefix, what)| {
        let of_kind = names.iter().enumerate().filter_map(|(at, name)| Some((worst(at)?, name.strip_prefix(prefix)?)));
        let (us, cpu) = of_kind.max_by_key(|(us, _)| *us)?;
        let cpu: u32 = cpu.parse().ok()?;
        Some(format!("{what} is {us} us on CPU {cpu}"))
    });
    let mut said: Vec<String> = said.collect();
    (!said.is_empty()).then_some(())?;
    if max.is_none() {
        said.push("from the rows shown, without the row of maxima".to_owned());
    }
    let over = of_row("over:").map(|row| (0..names.len()).filter_map(|at| number(row, at)).sum::<u64>());
    said.extend(over.filter(|n| *n > 0).map(|n| format!("{n} beyond the last row")));
    Some(said.join("; "))
}

/// Parses `#1 -> #0, Min    1, Cur    5, Avg    3, Max   32` of pmqtest, ptsematest, sigwaittest and svsematest.
fn pairs(head: &str) -> Option<String> {
    let row = |line: &str| {
        let (pair, rest) = line.trim().split_once(", Min")?;
        pair.contains("->").then_some(())?;
        let max: u64 = rest.split_once("Max")?.1.split_whitespace().next()?.trim_end_matches(',').parse().ok()?;
        Some((max, text(pair.as_bytes(), 20)))
    };
    let (us, pair) = head.lines().filter_map(row).max()?;
    Some(format!("a pair test of rt-tests (the worst latency is {us} us, of {pair})"))
}

/// Parses `cyclic:   min: 2603 ns, max: 2073993 ns, std.dev. 29163.42` of stress-ng --cyclic.
fn stress_ng(head: &str) -> Option<String> {
    let value =
        |line: &str, key: &str| line.split_once(key)?.1.trim_start().split([' ', ',']).next()?.parse::<f64>().ok();
    let lines = || head.lines().filter(|line| line.contains("cyclic:") || line.contains("stress-ng-cyclic"));
    let ns =
        lines().filter(|line| line.contains(" ns,")).filter_map(|line| value(line, "max:")).max_by(f64::total_cmp)?;
    let mean = lines().find_map(|line| value(line, "mean:"));
    let mean = mean.map(|ns| format!(", the mean {:.2} us", ns / 1e3)).unwrap_or_default();
    Some(format!("stress-ng's cyclic (the worst latency is {:.1} us{mean})", ns / 1e3))
}

/// Parses `Core:  1 2 3` and `Maximum:  12 13 24 (us)` of oslat. Without the cores, the values are in the order of its option
/// `--cpu-list`, up to an omission. A text may have several runs.
fn oslat(head: &str) -> Option<String> {
    let rows = |key: &str| {
        let rows = head.lines().map(str::trim).filter_map(|line| line.strip_prefix(key)?.split('(').next());
        rows.map(|row| row.split_whitespace().collect::<Vec<&str>>()).collect::<Vec<_>>()
    };
    let (maxima, cores) = (rows("Maximum:"), rows("Core:"));
    (head.contains("(us)") && (!cores.is_empty() || head.contains("oslat"))).then_some(())?;
    let largest = |row: &Vec<&str>| {
        let values =
            row.iter().enumerate().filter_map(|(n, word)| Some((word.parse::<u64>().ok()?, std::cmp::Reverse(n))));
        values.max()
    };
    let runs: Vec<u64> = maxima.iter().filter_map(largest).map(|(us, _)| us).collect();
    let (run, (us, std::cmp::Reverse(at))) = maxima
        .iter()
        .enumerate()
        .filter_map(|(run, row)| Some((run, largest(row)?)))
        .max_by_key(|(_, largest)| *largest)?;
    let row = maxima.get(run)?;
    let shown = row.iter().take_while(|word| word.parse::<u64>().is_ok()).count();
    let cores = cores.get(run).filter(|of| cores.len() == maxima.len() && of.len() >= row.len());
    let cpu = match cores {
        Some(cores) if at < shown => cores.get(at).and_then(|core| core.parse().ok()),
        _ if at >= shown => None,
        None if maxima.len() == 1 => listed_cpus(head).and_then(|cpus| cpus.get(at).copied()),
        _ => None,
    };
    let on = cpu.map_or_else(|| format!("value {} of the row", at + 1), |cpu| format!("on CPU {cpu}"));
    let cut =
        if shown < row.len() { "; values are left out of the row, and larger ones may be among them" } else { "" };
    Some(format!("oslat (the longest interruption is {us} us, {on}{}{cut})", in_order(&runs)))
}

/// Lists the maxima of several runs.
fn in_order(runs: &[u64]) -> String {
    const MOST: usize = 8;
    match runs.len() {
        2..=MOST => {
            let all: Vec<String> = runs.iter().map(u64::to_string).collect();
            format!("; the maxima in order: {}", all.join(", "))
        }
        _ => String::new(),
    }
}

/// Returns the CPUs of the command `oslat -c 1-3,7` or `oslat --cpu-list 1-3,7`, in ascending order.
fn listed_cpus(head: &str) -> Option<Vec<u32>> {
    const MOST: usize = 8192;
    let mut commands = head.lines().filter(|line| line.contains("oslat -"));
    let command = commands.next().filter(|_| commands.next().is_none())?;
    let mut words = command.split([' ', '=']).skip_while(|word| !matches!(*word, "-c" | "--cpu-list"));
    let list = words.nth(1)?;
    let mut cpus: Vec<u32> = Vec::new();
    for part in list.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        cpus.extend((from.parse::<u32>().ok()?..=to.parse().ok()?).take(MOST - cpus.len()));
    }
    cpus.sort_unstable();
    Some(cpus)
}

/// Parses rows of rtla's top display: `0 #5823 | 24 0 1 24 | 1035 3 7 1035` of timerlat (the interrupt's and the
/// thread's latency: current, min, avg, max), and of osnoise `0 #59 59000000 9432 99.98 2078 58 0 0 …` (runtime, noise,
/// share of CPU time available, maximum noise in a period, longest single noise, noises by kind).
fn rtla(head: &str) -> Option<String> {
    let joined = rows_of_top(head);
    let rows = || joined.iter().map(|(cpu, row)| (*cpu, row.as_str()));
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
            // More figures than columns: the break cannot be undone.
            let counts = match [figure(7), figure(8), figure(9), figure(10), figure(11)] {
                [Some(nmi), Some(irq), Some(softirq), Some(thread), None] => {
                    Some([counts[0], nmi, irq, softirq, thread])
                }
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
    let rows = head.lines().map(str::trim).filter_map(|line| {
        line.strip_prefix("max:")
            .or_else(|| line.strip_prefix("# Max Latencies:"))
            .or_else(|| line.strip_prefix("ALL max:"))
    });
    let rows = rows.map(|row| row.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).max());
    let runs: Vec<u64> = rows.flatten().collect();
    let us = runs.iter().max()?;
    Some(format!("the worst latency is {us} us{}", in_order(&runs)))
}

/// Parses `# Total: 000999888` and `# Histogram Overflows: 00112` of cyclictest, one figure for each thread; the last row before them
/// is the last one of the histogram.
fn overflows(head: &str) -> Option<String> {
    let lines: Vec<&str> = head.lines().map(str::trim).collect();
    let sum = |key: &str| {
        let mut found = lines.iter().filter_map(|line| line.strip_prefix(key));
        let figures: Option<Vec<u64>> = found.next()?.split_whitespace().map(|word| word.parse().ok()).collect();
        figures
            .filter(|_| found.next().is_none())
            .map(|figures| figures.iter().fold(0u64, |sum, n| sum.saturating_add(*n)))
    };
    let (shown, beyond) = (sum("# Total:")?, sum("# Histogram Overflows:")?);
    let row = lines.iter().position(|line| line.starts_with("# Total:")).and_then(|at| lines.get(at.checked_sub(1)?));
    let us = row.and_then(|row| {
        let mut words = row.split_whitespace();
        let us = words.next()?.parse::<u64>().ok()?;
        words.next().is_some_and(|count| count.bytes().all(|b| b.is_ascii_digit())).then_some(us)
    });
    let from = us.map_or("beyond the last row".to_owned(), |us| format!("above {us} us"));
    Some(format!("; {beyond} of {} {from}", shown.saturating_add(beyond)))
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

/// Parses `T: 0 ( 1234) … Act:   11 Avg:    6 Max:      33` of cyclictest, cyclicdeadline and others of rt-tests, and
/// `# Break value: 51`.
fn threads(head: &str) -> String {
    let value = |line: &str, key: &str| line.rsplit_once(key)?.1.split_whitespace().next()?.parse::<u64>().ok();
    // A mail client wrapped the line before its last figure.
    let joined = head.replace("Max:\n", "Max: ");
    let rows = joined.lines().filter(|line| line.contains("T:"));
    let all = |part: &str| rows.clone().all(|row| row.contains(part));
    let tool = match () {
        () if head.contains("deadline thread") => "cyclicdeadline",
        () if all(" A:") => "jitterdebugger",
        () if all("C:") && !rows.clone().any(|row| row.contains(" I:")) => "signaltest",
        () => "cyclictest",
    };
    let negative =
        rows.clone().filter(|row| row.rsplit_once("Max:").is_some_and(|(_, max)| max.trim_start().starts_with('-')));
    let negative = negative.count();
    let worst = rows.filter_map(|row| Some((value(row, "Max:")?, value(row, "T:").unwrap_or(0)))).max();
    let worst = worst.map(|(us, thread)| format!(" (worst {us}, of thread {thread}")).unwrap_or_default();
    // The sample that ended a run of cyclicdeadline is not among those of its threads.
    let by = head.lines().find_map(|line| value(line, "Break thread:")).filter(|_| tool == "cyclicdeadline");
    let by = by.map(|tid| format!(", of the thread with TID {tid}")).unwrap_or_default();
    let stopped = head.lines().find_map(|line| value(line, "Break value:"));
    let stopped = match stopped {
        Some(at) if worst.is_empty() => format!(" (stopped at {at}{by})"),
        Some(at) => format!("; stopped at {at}{by})"),
        None if worst.is_empty() => String::new(),
        None => ")".to_owned(),
    };
    let coarse = match head.contains("High resolution timers not available") {
        true => ", without high resolution timers, so that each thread is woken by the tick",
        false => "",
    };
    let below_zero = match negative {
        0 => String::new(),
        n => format!("; the maxima of {n} threads are below 0, which is no latency"),
    };
    let default = head.lines().find_map(|line| value(line, "defaulting realtime priority to"));
    let default = default.map(|prio| format!(", at the default priority {prio}: it took none from its command line"));
    format!("the lines of {tool}{worst}{stopped}{}{coarse}{below_zero}", default.unwrap_or_default())
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
pub(super) fn trace_irqoff(head: &str) -> Option<(String, &'static str)> {
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

#[cfg(test)]
mod tests {
    use super::super::summary;

    fn said(text: &str) -> String {
        summary(text.as_bytes()).map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn tools_have_their_worst() {
        let hist = "Index   CPU-001   CPU-002\n1             8         5\n30            0         2\nover:  0  1\n";
        assert!(
            said(hist).contains(
                "the longest noise is 30 us on CPU 2; from the rows shown, without the row of maxima; 1 beyond"
            ),
            "{}",
            said(hist)
        );
        let two = "T: 0 ( 26) P:95 I:1000 C: 34 Min: 4 Act: 6 Avg: 5 Max: 35\nstress-ng: info: [24] cyclic:   min: 2603 ns, max: 2073993 ns, std.dev. 2.0\n";
        assert!(
            said(two)
                .contains("cyclictest (worst 35, of thread 0); stress-ng's cyclic (the worst latency is 2074.0 us)"),
            "{}",
            said(two)
        );
        let hist = "# Histogram\n000001 000100\n.....\n000058 000003\n000059 000002\n# Total: 000000105\n# Avg Latencies: 00006\n# Max Latencies: 01475\n# Histogram Overflows: 00604\n";
        assert!(
            said(hist).contains("a histogram of cyclictest (the worst latency is 1475 us; 604 of 709 above 59 us): a"),
            "{}",
            said(hist)
        );
        let many =
            format!("# Histogram\n# Max Latencies: {}\n00031 00077\n# Min Latencies: 1\n", "00012 ".repeat(10).trim());
        assert!(said(&many).contains("the worst latency is 77 us"), "{}", said(&many));
        let runs = format!("{hist}T: 0 ( 26) P:95 I:1000 C: 34 Min: 4 Act: 6 Avg: 5 Max: 12\n");
        assert!(
            said(&runs).contains("(worst 12, of thread 0); the maxima differ: these may be different runs"),
            "{}",
            said(&runs)
        );
        assert!(!said(&runs.replace("Max: 12", "Max: 1475")).contains("runs"));
        let pair = "#1 -> #0, Min    1, Cur    5, Avg    3, Max   32\n";
        assert!(said(pair).contains("the worst latency is 32 us, of #1 -> #0"), "{}", said(pair));
        let oslat = "        Core:\t 1 2\n     Maximum:\t 12 344 (us)\n";
        assert!(said(oslat).contains("the longest interruption is 344 us, on CPU 2"), "{}", said(oslat));
        let short = "# oslat -c 4-6,9 -D 60s\n   Maximum:\t 12 344 ... 7 (us)\n";
        assert!(said(short).contains("is 344 us, on CPU 5; values are left out of the row"), "{}", said(short));
        let behind = short.replace(" 7 (us)", " 700 (us)");
        assert!(said(&behind).contains("is 700 us, value 4 of the row;"), "{}", said(&behind));
        let cut = "oslat\nCore: 4 5 6 7 8 9\nMaximum: 12 344 ... 700 (us)\n";
        assert!(said(cut).contains("is 700 us, value 4 of the row"), "{}", said(cut));
        let runs = "oslat\nCore: 1 2\nMaximum: 12 344 (us)\nCore: 1 2\nMaximum: 9 8 (us)\n";
        assert!(said(runs).contains("is 344 us, on CPU 2; the maxima in order: 344, 9)"), "{}", said(runs));
        let cut = "softirq = tasklet\n usecs : count distribution\n 0 -> 1 : 9 |**|\n 2 -> 3 : 1 |*|\nskip...\n";
        assert!(
            said(cut).contains(
                "2 to 3 usecs, once (of 10 shown; the fullest bucket is 0 to 1 usecs: 9); rows may be missing"
            ),
            "{}",
            said(cut)
        );
    }
}
