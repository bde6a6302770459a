//! Tables of bcc's tools and of others that have a time in each row.

use super::EVENTS;
use crate::text::scan::text;
use std::collections::BTreeMap;

/// Parses a time of bcc's klockstat, `155 ns`, `5.1 ms` or a plain number of ns. Returns it in ns and as text, and the
/// number of words parsed.
fn time(words: &[&str]) -> Option<(f64, String, usize)> {
    let unit = |unit: &str| match unit {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        "m" => Some(60e9),
        "h" => Some(3600e9),
        _ => None,
    };
    let value = words.first()?.parse::<f64>().ok()?;
    match words.get(1).and_then(|word| Some((*word, unit(word)?))) {
        Some((name, scale)) => Some((value * scale, format!("{value} {name}"), 2)),
        None => Some((value, format!("{value} ns"), 1)),
    }
}

/// Parses bcc's klockstat: `down_read+0x5  155 ns  33052  115.5 us  5.1 ms` below `Caller  Avg Wait  Count  Max Wait  Total
/// Wait`, the rest of the stack, and `Max PID 39643, COMM app, Lock some_lock (0xff…)`.
pub(super) fn klockstat(head: &str) -> Option<(String, &'static str)> {
    struct Row {
        ns: f64,
        max: String,
        times: u64,
        frames: Vec<String>,
        by: Option<String>,
    }
    let mut is_hold = None;
    let mut worst: [Option<Row>; 2] = [None, None];
    let mut row: Option<Row> = None;
    let mut keep = |row: Option<Row>, is_hold: Option<bool>| {
        let Some((row, slot)) = row.zip(is_hold.and_then(|hold| worst.get_mut(usize::from(hold)))) else { return };
        if slot.as_ref().is_none_or(|slot| slot.ns < row.ns) {
            *slot = Some(row);
        }
    };
    for line in head.lines().map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"Caller") && line.contains("Count") && line.contains("Total") {
            keep(row.take(), is_hold);
            is_hold = Some(line.to_ascii_lowercase().contains("max hold"));
        } else if let Some(by) = line.strip_prefix("Max PID ")
            && let Some(row) = row.as_mut()
        {
            let (pid, rest) = by.split_once(", COMM ").unwrap_or((by, ""));
            let (comm, lock) = rest.split_once(", Lock ").unwrap_or((rest, ""));
            let lock = lock.trim_start_matches("no-ksym ");
            let lock = if lock.is_empty() { String::new() } else { format!(", lock {}", text(lock.as_bytes(), 64)) };
            row.by = Some(format!(", by {} ({}){lock}", text(comm.as_bytes(), 32), text(pid.as_bytes(), 12)));
        } else if is_hold.is_some()
            && let Some((ns, max, times)) = words.get(1..).and_then(klock_row)
        {
            keep(row.take(), is_hold);
            row = Some(Row { ns, max, times, frames: vec![frame(words.first()?)], by: None });
        } else if let [only] = words.as_slice()
            && let Some(row) = row.as_mut().filter(|row| row.frames.len() < 3 && row.by.is_none())
        {
            row.frames.push(frame(only));
        }
    }
    keep(row, is_hold);
    let said = worst.into_iter().zip(["wait", "hold"]).filter_map(|(row, what)| {
        let Row { max, times, frames, by, .. } = row?;
        let (frames, by) = (frames.join(" ← "), by.unwrap_or_default());
        Some(format!("the longest {what} of {times} is {max}, in {frames}{by}"))
    });
    let said: Vec<String> = said.collect();
    let what = format!("klockstat ({}); it does not show who held a lock while another thread waited", said.join("; "));
    (!said.is_empty()).then_some((what, EVENTS))
}

/// Parses the columns average, count, maximum and sum. Returns the maximum in ns and as text, and the count.
fn klock_row(words: &[&str]) -> Option<(f64, String, u64)> {
    let (_, _, n) = time(words)?;
    let count = words.get(n)?.parse().ok()?;
    let (ns, max, m) = time(words.get(n + 1..)?)?;
    let (.., k) = time(words.get(n + 1 + m..)?)?;
    (words.len() == n + 1 + m + k).then_some((ns, max, count))
}

fn frame(frame: &str) -> String {
    text(frame.trim_start_matches("b'").trim_end_matches('\'').as_bytes(), 64)
}

/// Parses `67.830680000  app  3676  sda  W  6024  4096  0.66` of bcc's biosnoop, with or without its heading: end of the
/// request, thread, disk, type, sector, bytes, with -Q the time in the queue, and the time in the device, ms.
pub(super) fn biosnoop(head: &str) -> Option<(String, &'static str)> {
    struct Row {
        end: f64,
        who: String,
        disk: String,
        ms: f64,
    }
    let row = |row: &str| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let is_type =
            |word: &&str| !word.is_empty() && word.len() <= 4 && word.bytes().all(|b| b"RWDFSMN".contains(&b));
        let at = (3..words.len().checked_sub(3)?).find(|at| {
            words.get(*at).is_some_and(is_type)
                && words.get(at + 1).is_some_and(|sector| sector.parse::<i64>().is_ok())
                && words.get(at + 2).is_some_and(|bytes| bytes.parse::<u64>().is_ok())
        })?;
        let rest = words.get(at + 3..)?;
        let is_time = |word: &&str| word.split_once('.').is_some() && word.parse::<f64>().is_ok();
        (rest.len() <= 2 && rest.iter().all(is_time)).then_some(())?;
        let end = words.first().filter(|word| is_time(word))?.parse().ok()?;
        let (name, pid) = (words.get(1..at - 2)?.join(" "), words.get(at - 2)?.parse::<i64>().ok()?);
        let (disk, ms) = (words.get(at - 1)?, rest.last()?.parse().ok()?);
        Some(Row { end, who: format!("{} ({pid})", text(name.as_bytes(), 32)), disk: text(disk.as_bytes(), 32), ms })
    };
    let rows: Vec<Row> = head.lines().filter_map(row).collect();
    let worst = rows.iter().max_by(|a, b| a.ms.total_cmp(&b.ms))?;
    let mut ends: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in &rows {
        ends.entry(&row.who).or_default().push(row.end);
    }
    let ends = ends.get(worst.who.as_str()).map(Vec::as_slice).unwrap_or_default();
    let apart = ends.windows(2).map(|two| (two.last().unwrap_or(&0.0) - two.first().unwrap_or(&0.0)) * 1e3);
    let (least, most) = apart.fold((f64::MAX, 0.0f64), |(least, most), ms| (least.min(ms), most.max(ms)));
    // Only a thread that handles one request after the other spends the rest of the time elsewhere.
    let apart = if ends.len() > 2 && least > worst.ms {
        format!(
            "; its requests end {least:.2} to {most:.2} ms apart, and the rest of each interval passed outside the device"
        )
    } else {
        String::new()
    };
    let Row { ms, who, disk, .. } = worst;
    Some((
        format!("biosnoop (the longest request took {ms} ms, of {who} on {disk}, of {} requests{apart})", rows.len()),
        EVENTS,
    ))
}

/// Parses any table whose heading has a column of times: `LAT(us)`, `LAT(ms)`, `LATms`, `DELTA(ms)`, `TIME(ms)` as a
/// duration.
pub(super) fn latencies(head: &str) -> Option<(String, &'static str)> {
    const COLUMNS: [&str; 9] =
        ["LAT(us)", "LAT(ms)", "LATms", "LAT(ns)", "LAT_ms", "LAT_us", "DELTA(ms)", "DELTA(us)", "DURATION(us)"];
    let mut lines = head.lines();
    let (column, behind) = lines.by_ref().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().rposition(|word| COLUMNS.contains(word)).filter(|at| *at > 0)?;
        Some((*words.get(at)?, words.len() - 1 - at))
    })?;
    // A name may contain spaces; the columns after the time are counted from the end of the row.
    let rows = lines.filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.len().checked_sub(behind + 1).filter(|at| *at > 0)?;
        Some((words.get(at)?.parse::<f64>().ok()?, words.join(" ")))
    });
    let (worst, row) = rows.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let row = text(row.as_bytes(), 100);
    Some((format!("a table of a BPF or ftrace tool (the largest {column} is {worst}, in the row \"{row}\")"), EVENTS))
}

/// Parses tables without a unit whose heading has a column `max`, `events/0  8  4780110  597513  4500250` below `Tasks  count
/// total  avg  max` (perf sched latency of Linux 2.6.32).
pub(super) fn with_maximum(head: &str) -> Option<(String, &'static str)> {
    const FEWEST: usize = 2;
    let mut lines = head.lines();
    let columns: Vec<&str> = lines.by_ref().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_heading = words.iter().all(|word| word.parse::<f64>().is_err()) && words.len() >= 3;
        (is_heading && words.iter().skip(1).any(|word| word.eq_ignore_ascii_case("max"))).then_some(words)
    })?;
    let (_, columns) = columns.split_first()?;
    let max = columns.iter().position(|word| word.eq_ignore_ascii_case("max"))?;
    let rows = lines.filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The name may contain spaces.
        let (name, figures) = words.split_at_checked(words.len().checked_sub(columns.len())?)?;
        let is_row = !name.is_empty() && figures.iter().all(|figure| figure.parse::<f64>().is_ok());
        is_row.then_some((figures.get(max)?.parse::<f64>().ok()?, name.join(" "), figures.join(" ")))
    });
    let rows: Vec<(f64, String, String)> = rows.collect();
    let (worst, name, figures) =
        rows.iter().max_by(|(a, ..), (b, ..)| a.total_cmp(b)).filter(|_| rows.len() >= FEWEST)?;
    let of_perf = columns == ["count", "total", "avg", "max"];
    let unit = if of_perf { "; perf sched latency of Linux 2.6.32 prints such a table in ns" } else { "" };
    let figures = columns.iter().zip(figures.split(' ')).filter(|(column, _)| !column.eq_ignore_ascii_case("max"));
    let figures: Vec<String> =
        figures.map(|(column, figure)| format!("{} {figure}", text(column.as_bytes(), 20))).collect();
    let name = text(name.as_bytes(), 64);
    Some((
        format!("a table without units (the largest maximum is {worst}, of {name}: {}{unit})", figures.join(", ")),
        EVENTS,
    ))
}

/// Parses latencytop: `Waiting for event (poll)   4.9 msec  50.2 %` below `Cause  Maximum  Percentage`.
pub(super) fn latencytop(head: &str) -> Option<(String, &'static str)> {
    let is_head = |line: &&str| line.contains("Cause") && line.contains("Maximum") && line.contains("Percentage");
    let rows = head.lines().skip_while(|line| !is_head(line)).skip(1).filter_map(|line| {
        let (cause, rest) = line.trim().split_once(" msec")?;
        let (cause, ms) = cause.rsplit_once(' ')?;
        let share = rest.trim().trim_end_matches('%').trim().parse::<f64>().ok()?;
        Some((ms.parse::<f64>().ok()?, cause.trim().to_owned(), share))
    });
    let rows: Vec<(f64, String, f64)> = rows.collect();
    let (ms, cause, share) = rows.iter().max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
    let (_, most, of_all) = rows.iter().max_by(|(.., a), (.., b)| a.total_cmp(b))?;
    let most = match most == cause {
        true => String::new(),
        false => format!("; the largest share, {of_all} %, is of \"{}\"", text(most.as_bytes(), 60)),
    };
    let cause = text(cause.as_bytes(), 60);
    Some((
        format!(
            "latencytop (the longest is {ms} ms, \"{cause}\", {share} % of all{most}; reasons for sleeping count as well)"
        ),
        EVENTS,
    ))
}

/// Parses system calls of perf trace, `0.000 ( 0.012 ms): app/123 futex(…) = 0`, and of strace -T, `futex(…) = 0 <0.000012>`.
pub(super) fn calls(head: &str) -> Option<(String, &'static str)> {
    let row = |line: &str| {
        let line = line.trim();
        let perf = || {
            let (time, rest) = line.split_once('(')?;
            let (ms, call) = rest.split_once(" ms): ")?;
            time.trim().parse::<f64>().ok()?;
            Some((ms.trim().parse::<f64>().ok()?, call))
        };
        let strace = || {
            let (call, s) = line.strip_suffix('>')?.rsplit_once('<')?;
            let is_call = call.contains('(') && call.contains(" = ");
            Some((s.parse::<f64>().ok().filter(|_| is_call)? * 1e3, call))
        };
        let (ms, call) = perf().or_else(strace)?;
        Some((ms, text(call.trim().as_bytes(), 80)))
    };
    let (ms, call) = head.lines().filter_map(row).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let what =
        format!("perf trace or strace (the longest system call took {ms} ms: \"{call}\"); time asleep counts as well");
    Some((what, EVENTS))
}

/// Parses histograms of hist triggers (Documentation/trace/histogram.rst): `{ pid: 12, lat: 240 } hitcount: 1`.
pub(super) fn hist_triggers(head: &str) -> Option<(String, &'static str)> {
    let row = |line: &str| {
        let (key, _) = line.trim().strip_prefix('{')?.split_once("hitcount:")?;
        let mut words = line.split_whitespace();
        let is_latency =
            |word: &str| word.strip_suffix(':').is_some_and(|name| name.ends_with("lat") || name.ends_with("latency"));
        words.find(|word| is_latency(word))?;
        let value = words.next()?.trim_end_matches(',').parse::<u64>().ok()?;
        Some((value, text(key.trim().trim_end_matches('}').trim().as_bytes(), 80)))
    };
    let (worst, key) = head.lines().filter_map(row).max()?;
    Some((format!("a histogram of a hist trigger (the largest latency is {worst}, of {{ {key} }})"), EVENTS))
}

/// Parses the events that LTT and LTTV print, `process.wakeup: 4.062733369 (/cpu_0), 7538, app, 1, 0x0, USER_MODE`:
/// facility, name, time, file, thread. Returns the longest time without an event.
pub(super) fn ltt(head: &str) -> Option<(String, &'static str)> {
    const FEWEST: usize = 3;
    let row = |line: &str| {
        let (event, rest) = line.trim().split_once(": ")?;
        let (time, rest) = rest.split_once(" (")?;
        let (file, rest) = rest.split_once("), ")?;
        let cpu: u32 = file.rsplit_once("cpu_")?.1.parse().ok()?;
        let mut words = rest.split(", ");
        let (pid, name) = (words.next()?.parse::<u32>().ok()?, words.next()?);
        let (s, ns) = time.split_once('.').filter(|(_, ns)| ns.len() == 9 && event.contains('.'))?;
        let ns = s.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns.parse().ok()?)?;
        Some((ns, time.to_owned(), cpu, format!("{} ({pid})", text(name.as_bytes(), 32))))
    };
    let rows: Vec<_> = head.lines().filter_map(row).collect();
    (rows.len() >= FEWEST).then_some(())?;
    let pairs = rows.iter().zip(rows.iter().skip(1)).enumerate();
    let (gap, n, from, to) = pairs.map(|(n, (a, b))| (b.0.saturating_sub(a.0), n, &a.1, &b.1)).max()?;
    let mut current: BTreeMap<u32, &str> = BTreeMap::new();
    current.extend(rows.iter().take(n + 1).map(|(.., cpu, who)| (*cpu, who.as_str())));
    let current: Vec<String> = current.into_iter().map(|(cpu, who)| format!("{who} on CPU {cpu}")).collect();
    let what = format!(
        "events of LTT (the longest time without an event on any CPU is {:.1} µs, from {from} to {to}; the last events before it are of {}); this format is not read as a trace",
        gap as f64 / 1e3,
        current.join(", ")
    );
    Some((what, EVENTS))
}

/// Recognises tools that measure no latency, by words in one of their lines.
pub(super) fn other_tools(head: &str) -> Option<(String, &'static str)> {
    const TOOLS: [(&[&str], &str); 7] = [
        (
            &["*", " secs ", " => "],
            "perf sched map, which shows what ran where, but not since when a thread was runnable",
        ),
        (&["REFERENCE", "MISS", "HIT%"], "llcstat, which counts misses of the last-level cache by thread"),
        (&["%Cpu(s):", "% id"], "perf kwork top, which has sums of run times"),
        (&["sched-in", "run-time", "max-run"], "perf sched timehist --summary, which has run times and no delays"),
        (&["Performance counter stats for"], "perf stat, which has sums of counters"),
        (&["SYSCALL", "COUNT"], "syscount, which has numbers or sums of system calls"),
        (&["# Overhead", "Symbol"], "perf report, which has shares of samples"),
    ];
    let is_of = |marks: &[&str]| head.lines().any(|line| marks.iter().all(|mark| line.contains(mark)));
    TOOLS.iter().find(|(marks, _)| is_of(marks)).map(|(_, what)| ((*what).to_owned(), EVENTS))
}
