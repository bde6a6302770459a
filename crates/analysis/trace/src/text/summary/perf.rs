//! Tables of perf: sched latency, sched timehist, lock contention, kwork.

use super::{EVENTS, RECORD};
use crate::info::RAN_THEN;
use crate::text::scan::text;

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

/// Reads the table of perf sched latency.
pub(super) fn sched_latency(head: &str) -> Option<(String, &'static str)> {
    head.contains("Runtime ms").then_some(())?;
    // A mail client wraps the wide rows.
    let rows: Vec<&str> = head.lines().collect();
    let joined: String = rows.windows(2).map(|rows| rows.concat() + "\n").collect();
    let worst = worst(head, latency).or_else(|| worst(&joined, latency)).map(|(_, row)| row).unwrap_or_default();
    Some((format!("perf sched latency{worst}"), RECORD))
}

/// A row of perf sched timehist, times in ms.
struct Slice {
    off: f64,
    delay: f64,
    run: f64,
    /// Time on another CPU before a migration.
    before: f64,
    cpu: u32,
    task: String,
    who: String,
    time: String,
}

impl Slice {
    /// Time in s at which it got the CPU, and at which it left it.
    fn ran(&self) -> Option<(f64, f64)> {
        let end = self.time.parse::<f64>().ok()?;
        Some((end - self.run / 1e3, end))
    }
}

/// Parses `95.123456 [0001]  app[1234/1230]   0.000  0.015  0.030`: times in ms, waiting for an event, for the CPU, and
/// running; with -P the time before a migration, too, with --show-prio the priority after the task. With -V letters
/// precede the task; the stack follows the times.
fn slice(row: &str, columns: usize, prio: bool) -> Option<Slice> {
    let (time, rest) = row.trim().split_once(" [")?;
    let (cpu, rest) = rest.split_once(']')?;
    time.trim().parse::<f64>().ok()?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let in_ms = |word: &str| word.split_once('.').is_some_and(|(s, ms)| ms.len() == 3 && s.parse::<u64>().is_ok());
    let are_times = |at: usize| words.get(at..at + columns).is_some_and(|times| times.iter().all(|word| in_ms(word)));
    let at = (1..words.len()).find(|at| are_times(*at))?;
    let (task, times) = words.split_at_checked(at)?;
    let ms = |n: usize| times.get(n).and_then(|ms| ms.parse::<f64>().ok());
    let from = task.iter().position(|word| !matches!(*word, "s" | "i" | "m" | "-"))?;
    let task = task.get(from..task.len() - usize::from(prio && task.len() > from + 1))?.join(" ");
    let cpu: u32 = cpu.parse().ok()?;
    let before = if columns > 3 { ms(3)? } else { 0.0 };
    let task = text(task.as_bytes(), 64);
    let who = format!("{task} on CPU {cpu}");
    Some(Slice { off: ms(0)?, delay: ms(1)?, run: ms(2)?, before, cpu, task, who, time: time.trim().to_owned() })
}

/// Reads the rows of perf sched timehist.
pub(super) fn timehist(head: &str) -> Option<(String, &'static str)> {
    const FEWEST: usize = 2;
    const HEADING: &str = "sch delay";
    // A mail client wraps the rows, and the heading with them.
    let is_row = |line: &str| line.contains("[0") && line.contains(']');
    let joined = joined(head);
    let parses = |head: &str| head.lines().filter(|line| is_row(line) && slice(line, 3, false).is_some()).count();
    let head = if parses(head) < FEWEST && parses(&joined) >= FEWEST { &joined } else { head };
    let has_heading = head.contains(HEADING);
    let columns = if head.contains("pre-mig time") { 4 } else { 3 };
    let prio = head.lines().any(|line| line.contains("sch delay") && line.contains(" prio "));
    let rows: Vec<Slice> = head.lines().filter_map(|row| slice(row, columns, prio)).collect();
    (has_heading || rows.len() >= FEWEST).then_some(())?;
    let is_idle = |row: &&Slice| row.who.starts_with("<idle>");
    let most = |of: fn(&Slice) -> f64| {
        rows.iter().filter(|row| !is_idle(row)).max_by(|a, b| of(a).total_cmp(&of(b))).filter(|row| of(row) > 0.0)
    };
    let window = window_ends(head, &rows).unwrap_or_default();
    let Some(worst) = most(|row| row.delay) else {
        return Some((format!("perf sched timehist{window}"), RECORD));
    };
    let Slice { delay, before, who, time, .. } = worst;
    let moved = match *before > delay / 2.0 {
        true => format!(", {before} ms of it on another CPU before it was moved"),
        false => String::new(),
    };
    let longer = |what: &str, row: Option<&Slice>, of: fn(&Slice) -> f64, more: &str| {
        let row = row.filter(|row| of(row) > *delay)?;
        Some(format!("; the longest {what} is {} ms, of {} until {}{more}", of(row), row.who, row.time))
    };
    let run = longer("run", most(|row| row.run), |row| row.run, "").unwrap_or_default();
    let off =
        longer("time off the CPU", most(|row| row.off), |row| row.off, ", asleep or preempted").unwrap_or_default();
    let what = format!(
        "perf sched timehist (the longest wait for a CPU is {delay} ms, of {who} at {time}{moved}{run}{off}){window}{}",
        woken_twice(head, worst).or_else(|| ran_then(&rows, worst)).unwrap_or_default()
    );
    Some((what, RECORD))
}

/// Joins the rows that a mail client wrapped: a row begins with a time and a CPU.
fn joined(head: &str) -> String {
    let begins = |line: &str| {
        let (time, rest) = line.trim().split_once(" [")?;
        time.trim().parse::<f64>().ok()?;
        rest.split_once(']')?.0.parse::<u32>().ok()
    };
    let mut out = String::with_capacity(head.len());
    let mut in_row = false;
    for line in head.lines() {
        let is_row = begins(line).is_some();
        in_row = is_row || in_row && !line.trim().is_empty();
        out.push_str(if in_row && !is_row { " " } else { "\n" });
        out.push_str(line);
    }
    out
}

/// Names the threads that ran on the CPU during the longest wait, if they did for most of it.
fn ran_then(rows: &[Slice], worst: &Slice) -> Option<String> {
    const MOST: usize = 4;
    const LEAST: f64 = 0.05;
    let (start, _) = worst.ran()?;
    let since = start - (worst.delay - worst.before) / 1e3;
    let mut shares: Vec<(&str, f64)> = Vec::new();
    for row in rows.iter().filter(|row| row.cpu == worst.cpu && !row.task.starts_with("<idle>")) {
        let Some((from, to)) = row.ran() else { continue };
        let ms = (to.min(start) - from.max(since)) * 1e3;
        match shares.iter_mut().find(|(task, _)| *task == row.task) {
            _ if ms < worst.delay * LEAST => {}
            Some((_, sum)) => *sum += ms,
            None => shares.push((&row.task, ms)),
        }
    }
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    (shares.iter().map(|(_, ms)| ms).sum::<f64>() * 2.0 > worst.delay).then_some(())?;
    let ran: Vec<String> = shares.iter().take(MOST).map(|(task, ms)| format!("{task} {ms:.3} ms")).collect();
    Some(format!("; {RAN_THEN} {}", ran.join(", ")))
}

/// Tells of further wakeups during the longest wait, which perf sched counts from the first one
/// (tools/perf/builtin-sched.c, timehist_sched_wakeup_event: ready_to_run is set once).
fn woken_twice(head: &str, worst: &Slice) -> Option<String> {
    const ACCURACY: f64 = 2e-6;
    let (start, _) = worst.ran()?;
    let since = start - worst.delay / 1e3 - ACCURACY;
    let wakeups = head.lines().filter_map(|line| {
        let (before, woken) = line.split_once("awakened: ")?;
        let time = before.trim().split_once(" [")?.0.trim().parse::<f64>().ok()?;
        (woken.trim() == worst.task && (since..=start).contains(&time)).then_some(time)
    });
    let mut wakeups: Vec<f64> = wakeups.collect();
    wakeups.sort_by(f64::total_cmp);
    wakeups.dedup();
    let after = (start - wakeups.last()?) * 1e3;
    (wakeups.len() > 1 && after * 2.0 < worst.delay).then_some(())?;
    Some(format!(
        "; it counts from the first of {} wakeups, and the thread got the CPU {after:.3} ms after the last one: suspected: it did not wait so long, but a run \
         or its events are missing",
        wakeups.len()
    ))
}

/// Describes rows with the end of `--time 100,200` instead of the time of an event: perf ends the threads that run then there
/// (tools/perf/builtin-sched.c, timehist_sched_change_event).
fn window_ends(head: &str, rows: &[Slice]) -> Option<String> {
    const FEWEST: usize = 2;
    let ends = head.lines().filter_map(|line| {
        let window = line.split_once("--time")?.1.trim_start_matches(['=', ' ']).split_whitespace().next()?;
        window.split_once(',')?.1.parse::<f64>().ok()
    });
    let ends: Vec<f64> = ends.collect();
    let at: Vec<&Slice> =
        rows.iter().filter(|row| row.time.parse::<f64>().is_ok_and(|time| ends.contains(&time))).collect();
    let first = at.first().filter(|_| at.len() >= FEWEST)?;
    Some(format!(
        "; the {} rows at {} have the end of the window that --time asked for, not the time of an event",
        at.len(),
        first.time
    ))
}

/// Parses `19  811.74 ms  621.76 ms  42.72 ms  spinlock  rcu_core+0xec` of perf lock contention; with -t the last two are
/// a thread.
pub(super) fn contention(head: &str) -> Option<(String, &'static str)> {
    struct Wait {
        total: f64,
        total_text: String,
        max: f64,
        max_text: String,
        times: u64,
        who: String,
    }
    let mut rows = head.lines().skip_while(|line| !(line.contains("contended") && line.contains("max wait")));
    let heading: Vec<&str> = rows.next()?.split_whitespace().collect();
    let has = |column: &str| heading.contains(&column);
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
        // With -l an address, the lock's name if it has one, and since Linux 6.3 its type in brackets.
        let (kind, named) = match at.split_last() {
            Some((kind, named)) if kind.starts_with('(') => (kind.trim_matches(['(', ')']), named),
            _ => ("lock", at),
        };
        let kind = text(kind.as_bytes(), 20);
        let (what, at, named) =
            (text(what.as_bytes(), 80), text(at.join(" ").as_bytes(), 80), text(named.join(" ").as_bytes(), 64));
        let is_stub = ["__traceiter_", "trace_contention", "__bpf_trace_"].iter().any(|stub| at.starts_with(stub));
        let who = match () {
            () if has("cgroup") => format!("in cgroup {what}"),
            () if has("address") && named.is_empty() => format!("for a {kind} at {what}"),
            () if has("address") => format!("for {named}, a {kind} at {what}"),
            () if has("owner") => format!("for locks that {at} ({what}) held"),
            () if at.is_empty() => format!("for a {what} whose caller is unknown"),
            () if has("comm") => format!("of {at} ({what})"),
            () if is_stub => format!("for a {what}; {at} is the tracepoint's own code, and its caller is not shown"),
            () => format!("for a {what} in {at}"),
        };
        let times: u64 = words.first()?.parse().ok()?;
        let (total_text, max_text) = (words.get(1..3)?.join(" "), words.get(3..5)?.join(" "));
        Some(Wait { total, total_text, max, max_text, times, who })
    };
    let mut joined: Vec<String> = Vec::new();
    for line in rows {
        // A mail client wraps the row before its last column.
        match joined
            .last_mut()
            .filter(|last| !line.trim().is_empty() && line.split_whitespace().count() <= 2 && last.ends_with(' '))
        {
            Some(last) => last.push_str(line.trim()),
            None => joined.push(format!("{} ", line.trim())),
        }
    }
    let rows: Vec<Wait> = joined.iter().filter_map(|line| row(line)).collect();
    let worst = rows.iter().max_by(|a, b| a.max.total_cmp(&b.max))?;
    let most = rows.iter().max_by(|a, b| a.total.total_cmp(&b.total))?;
    let (wait, who) = (&worst.max_text, &worst.who);
    let times = if worst.times == 1 { "1 wait".to_owned() } else { format!("{} waits", worst.times) };
    let sum = match most.who == worst.who {
        true => String::new(),
        false => format!("; the largest sum is {} in {} waits, {}", most.total_text, most.times, most.who),
    };
    let holder = if has("owner") { "" } else { "; it does not show who held the lock" };
    Some((format!("perf lock contention (the longest wait is {wait} of {times}, {who}{sum}){holder}"), EVENTS))
}

/// Parses `1811186.987785  1811186.987843  [0006]  (s)RCU:9  0.058  0.645` of perf kwork timehist: start and end in s, CPU,
/// work, runtime and, if known, delay in ms.
pub(super) fn kwork(head: &str) -> Option<(String, &'static str)> {
    struct Row {
        run: f64,
        delay: Option<f64>,
        who: String,
    }
    const FEWEST: usize = 2;
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let time = |n: usize| words.get(n).filter(|word| word.contains('.'))?.parse::<f64>().ok();
        let (start, _) = (time(0)?, time(1)?);
        let cpu: u32 = words.get(2)?.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
        let at = (4..words.len()).find(|n| time(*n).is_some())?;
        let name = text(words.get(3..at)?.join(" ").as_bytes(), 64);
        Some(Row { run: time(at)?, delay: time(at + 1), who: format!("{name} on CPU {cpu} at {start:.6}") })
    };
    let rows: Vec<Row> = head.lines().filter_map(row).collect();
    (rows.len() >= FEWEST).then_some(())?;
    let longest = rows.iter().max_by(|a, b| a.run.total_cmp(&b.run))?;
    let delays = rows.iter().filter_map(|row| Some((row.delay?, &row.who)));
    let delay = delays.max_by(|(a, _), (b, _)| a.total_cmp(b));
    let delay = delay.map(|(ms, who)| format!("the longest delay before the start is {ms} ms, of {who}; "));
    let (delay, Row { run, who, .. }) = (delay.unwrap_or_default(), longest);
    let what = format!(
        "perf kwork timehist ({delay}the longest run is {run} ms, of {who}); it does not show what ran on the CPU before a late start"
    );
    Some((what, EVENTS))
}

/// Parses tables with `|` between columns and a column `Max delay` or `Max runtime`: perf kwork latency and report.
pub(super) fn kwork_tables(head: &str) -> Option<(String, &'static str)> {
    let columns = |line: &str| line.trim().trim_matches('|').split('|').map(|part| part.trim().to_owned()).collect();
    let is_max = |name: &String| {
        let name = name.to_ascii_lowercase();
        name.starts_with("max ") && !["start", "end", " at"].iter().any(|other| name.ends_with(other))
    };
    let mut lines = head.lines();
    let heading: Vec<String> = lines.by_ref().map(columns).find(|line: &Vec<String>| line.iter().any(is_max))?;
    let (at, cpu) = (heading.iter().position(is_max)?, heading.iter().position(|name| name == "Cpu"));
    let row = |line: &str| {
        let row: Vec<String> = columns(line);
        (row.len() == heading.len()).then_some(())?;
        let value = row.get(at)?.clone();
        let (figure, unit) = value.split_once(' ')?;
        let scale = match unit {
            "ns" => 1e-3,
            "us" | "usec" => 1.0,
            "ms" | "msec" => 1e3,
            "s" => 1e6,
            _ => return None,
        };
        let cpu = cpu.and_then(|at| row.get(at)?.parse::<u32>().ok()).map(|cpu| format!(" on CPU {cpu}"));
        let who = format!("{}{}", text(row.first()?.as_bytes(), 64), cpu.unwrap_or_default());
        Some((figure.parse::<f64>().ok()? * scale, value, who))
    };
    let (_, value, who) = lines.filter_map(row).max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
    let what = heading.get(at)?.to_ascii_lowercase();
    Some((format!("a table (the largest {} is {value}, of {who})", text(what.as_bytes(), 20)), EVENTS))
}

/// Parses `perf trace -s`: ` app (123), 12 events, 5.0%` and below it `read  12  0  8.123  0.001  0.6  7.9  12.3%`: calls,
/// errors, then total, minimum, average and maximum in ms.
pub(super) fn trace_summary(head: &str) -> Option<(String, &'static str)> {
    head.contains("Summary of events").then_some(())?;
    let mut who = String::new();
    let mut worst: Option<(f64, String)> = None;
    for line in head.lines().map(str::trim) {
        if let Some((name, _)) = line.split_once("), ").filter(|(_, rest)| rest.contains(" events")) {
            who = format!("{})", text(name.as_bytes(), 40));
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let times: Vec<f64> =
            words.iter().skip(1).filter(|word| word.contains('.')).filter_map(|word| word.parse().ok()).collect();
        let (Some(call), [_, _, _, max, ..]) = (words.first(), times.as_slice()) else { continue };
        if worst.as_ref().is_none_or(|(most, _)| max > most) {
            worst = Some((*max, format!("{} of {who}", text(call.as_bytes(), 32))));
        }
    }
    let (ms, what) = worst?;
    Some((format!("perf trace -s (the longest call took {ms} ms, {what}); time asleep counts as well"), EVENTS))
}

/// Parses perf lock report: ` &rq->lock  12345  120  1.20 us  144.00 us  18.20 us  300 ns` below `Name  acquired
/// contended  avg wait  total wait  max wait  min wait`.
pub(super) fn lock_report(head: &str) -> Option<(String, &'static str)> {
    const WORDS: usize = 10;
    let is_head = |line: &&str| line.contains("acquired") && line.contains("contended") && line.contains("max wait");
    head.lines().find(is_head)?;
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, figures) = words.split_at_checked(words.len().checked_sub(WORDS)?)?;
        let scale = match *figures.get(7)? {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return None,
        };
        let (max, times) = (figures.get(6)?, figures.get(1)?.parse::<u64>().ok()?);
        let said = format!("{max} {} of {times} waits, for {}", figures.get(7)?, text(name.join(" ").as_bytes(), 64));
        Some((max.parse::<f64>().ok()? * scale, said))
    };
    let rows = head.lines().skip_while(|line| !is_head(line)).skip(1).filter_map(row);
    let (_, said) = rows.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    Some((format!("perf lock report (the longest wait is {said}); it does not show who held the lock"), EVENTS))
}

#[cfg(test)]
mod tests {
    use super::super::summary;

    fn said(text: &str) -> String {
        summary(text.as_bytes()).map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn kwork_has_delays_and_runs() {
        let rows = " 11.976062  11.976327  [0000]  (s)RCU:9   0.266   0.114\n 11.987785  11.987843  [0006]  (s)RCU:9  0.058  0.645\n 11.991295  \
                    11.991407  [0002]  eth0:10   0.112\n";
        let kwork = said(rows);
        assert!(
            kwork.contains(
                "delay before the start is 0.645 ms, of (s)RCU:9 on CPU 6 at 11.987785; the longest run is 0.266 ms"
            ),
            "{kwork}"
        );
        let table = "  Kwork Name  | Cpu  | Avg delay | Count | Max delay  | Max delay start  |\n  (s)TIMER:1  | 0002 |  0.018 ms |  100  |   4.301 ms \
                     |  44.464071 s |\n";
        assert!(said(table).contains("the largest max delay is 4.301 ms, of (s)TIMER:1 on CPU 2"), "{}", said(table));
    }

    #[test]
    fn timehist_with_stacks_and_without_a_heading() {
        let rows = " 57.725101 [0003]     s   echo[12]      0.011      0.000      0.072    __cond_resched <- dput\n 57.727175 [0003]     s   echo[12]  \
                    0.186      0.008      1.888    exit_to_user_mode_loop <- do_syscall_64\n";
        let said = said(rows);
        assert!(
            said.contains("wait for a CPU is 0.008 ms, of echo[12] on CPU 3 at 57.727175; the longest run is 1.888 ms"),
            "{said}"
        );
        assert!(said.contains("the longest time off the CPU is 0.186 ms"), "{said}");
    }

    #[test]
    fn a_table_of_sched_latency_broken_by_quoted_printable_is_joined() {
        let table = |max: &str, start: &str| {
            format!(
                "  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max=\n delay ms    | Sum delay ms     | Max delay start =\n|\n  \
                 grinder:(9)      |1499451.694 ms |   647385 | avg:   0.940 ms | max=\n:  {max} ms | sum:608348.424 ms | max start:   {start} s | max end:=20=\n\
                 467.247465 s\n"
            )
        };
        let said = said(&(table("27.969", "467.219496") + &table("73.722", "2678.846216")));
        assert!(
            said.contains("the longest wait is 73.722 ms, of grinder:(9) at 2678.846216 s; 647385 switches"),
            "{said}"
        );
    }

    #[test]
    fn timehist_names_those_that_ran_during_the_longest_wait() {
        let rows = "         time    cpu  task name      wait time  sch delay   run time\n 80.104000 [0002]  spin[71]  0.000  0.000  3.000\n 80.105000 \
                    [0003]  other[90]  0.000  0.000  4.000\n 80.107000 [0002]  turn[72]  0.000  0.000  3.000\n 80.107500 [0002]  nap[73]  0.000  6.200  0.500\n";
        let text = said(rows);
        assert!(text.contains("is 6.2 ms, of nap[73] on CPU 2 at 80.107500"), "{text}");
        assert!(text.contains("most of that time the CPU ran spin[71] 3.000 ms, turn[72] 3.000 ms"), "{text}");
        assert!(!text.contains("other[90]") && !text.contains("no causes"), "{text}");
        let alone = said(&rows.replace("[0002]  spin", "[0005]  spin").replace("[0002]  turn", "[0005]  turn"));
        assert!(!alone.contains("the CPU ran") && alone.contains("no causes"), "{alone}");
    }

    #[test]
    fn a_wait_that_counts_from_the_first_of_two_wakeups_is_no_wait() {
        let rows = "  time    cpu  task name    wait time  sch\ndelay   run time  state\n  81.567210 [0058]  by[45]\n        awakened: late[82]\n  82.448807 \
                    [0015]  by[78]\n        awakened: late[82]\n  82.448911 [0118]  late[82]      0.000\n881.614      0.087      S\n\n  82.448824 [0118]  \
                    <idle>      0.024\n0.024      0.416      I\n";
        let text = said(rows);
        assert!(text.contains("is 881.614 ms, of late[82] on CPU 118"), "{text}");
        assert!(
            text.contains("from the first of 2 wakeups, and the thread got the CPU 0.017 ms after the last one"),
            "{text}"
        );
        let once = said(&rows.replace("  82.448807 [0015]  by[78]\n        awakened: late[82]\n", ""));
        assert!(once.contains("881.614") && !once.contains("wakeups"), "{once}");
    }

    #[test]
    fn locks_and_calls() {
        let broken = "contended   total wait     max wait     avg wait         type   caller\n  61     12.50 m       2.30 ms    121.22 us     spinlock   \
                      \nkthread+0x160\n  78   8.23 ms    209.87 us    105.47 us     rwlock:W   do_exit+0x378\n";
        assert!(said(broken).contains("is 2.30 ms of 61 waits, for a spinlock in kthread+0x160"), "{}", said(broken));
        let report = "  Name   acquired  contended     avg wait   total wait     max wait     min wait\n event_mutex   123   3    812.00 us      2.43 ms   \
                      2.30 ms     20 us\n";
        assert!(said(report).contains("the longest wait is 2.30 ms of 3 waits, for event_mutex"), "{}", said(report));
        let calls = " Summary of events:\n\n dd (5021), 2004 events, 99.8%\n\n   write  500  0  12.345  0.001  0.025  8.901  12.34%\n";
        assert!(said(calls).contains("the longest call took 8.901 ms, write of dd (5021)"), "{}", said(calls));
    }
}
