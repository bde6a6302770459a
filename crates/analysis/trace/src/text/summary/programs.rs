//! Outputs about single programs and their calls: uftrace, syscount, osnoise events without columns, pressure.

use super::EVENTS;
use crate::text::scan::text;
use std::collections::BTreeMap;

/// A function of uftrace that has not returned yet.
struct Open {
    name: String,
    /// Time in the functions that it called, and off the CPU, µs.
    other: f64,
    preempted: (u32, f64),
}

/// Parses `uftrace replay`: `  38.621 us [  3597] |     } /* f */`, `[ 3597] |   g() {`, and `linux:schedule (pre-empted)`
/// and `linux:sched-in` as comments.
pub(super) fn uftrace(head: &str) -> Option<(String, &'static str)> {
    const DEPTH: usize = 256;
    let mut open: BTreeMap<u32, Vec<Open>> = BTreeMap::new();
    let mut worst: Option<(f64, String)> = None;
    for line in head.lines() {
        let Some((front, body)) = line.split_once("] |") else { continue };
        let Some((time, tid)) = front.rsplit_once('[') else { continue };
        let Ok(tid) = tid.trim().parse::<u32>() else { continue };
        let (time, body) = (microseconds(time), body.trim());
        let stack = open.entry(tid).or_default();
        if let Some(name) = body.strip_suffix("() {").or_else(|| body.strip_suffix(") {")) {
            stack.truncate(DEPTH);
            let name = name.split('(').next().unwrap_or(name);
            stack.push(Open { name: name.to_owned(), other: 0.0, preempted: (0, 0.0) });
            continue;
        }
        let Some(us) = time else { continue };
        if body.starts_with("/*") {
            if let Some(top) = stack.last_mut() {
                top.other += us;
                if body.contains("pre-empted") {
                    top.preempted = (top.preempted.0 + 1, top.preempted.1 + us);
                }
            }
            continue;
        }
        let ended = if let Some(name) = body.strip_suffix(");").and_then(|body| body.split('(').next()) {
            Open { name: name.to_owned(), other: 0.0, preempted: (0, 0.0) }
        } else if let Some(name) = body.strip_prefix("} /* ").and_then(|rest| rest.split(" */").next()) {
            // If its start is not in the text, parts of the function are unknown.
            if stack.last().is_none_or(|top| top.name != name) {
                continue;
            }
            let Some(top) = stack.pop() else { continue };
            top
        } else {
            continue;
        };
        let callers: Vec<String> = stack.iter().rev().take(2).map(|open| format!("{}()", open.name)).collect();
        if let Some(caller) = stack.last_mut() {
            caller.other += us;
        }
        let own = us - ended.other;
        if worst.as_ref().is_none_or(|(most, _)| own > *most) {
            let by = if callers.is_empty() { String::new() } else { format!(", called by {}", callers.join(" ← ")) };
            let preempted = match ended.preempted {
                (0, _) => String::new(),
                (n, lost) => format!(", where it was preempted {n} times for {lost:.3} µs in all"),
            };
            let said = format!("{own:.3} µs in {}() of thread {tid}{by}{preempted}", ended.name);
            worst = Some((own, text(said.as_bytes(), 240)));
        }
    }
    let (_, said) = worst?;
    let what = format!(
        "uftrace (the longest time in one function itself, without those that it called: {said}; time asleep or waiting counts unless a line shows it)"
    );
    Some((what, EVENTS))
}

/// Parses `738.659 ms`.
fn microseconds(time: &str) -> Option<f64> {
    let (figure, unit) = time.trim().rsplit_once(' ')?;
    let scale = match unit {
        "ns" => 1e-3,
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        _ => return None,
    };
    Some(figure.split_whitespace().next_back()?.parse::<f64>().ok()? * scale)
}

/// Parses osnoise events that lack the columns before them or their start: `thread_noise: kworker/2:2 duration 808492 ns`.
pub(super) fn noises(head: &str) -> Option<(String, &'static str)> {
    let row = |line: &str| {
        let (before, rest) = line.split_once("_noise:")?;
        let kind = before.split_whitespace().next_back()?;
        let (who, rest) = rest.split_once("duration ")?;
        let ns: u64 = rest.split_whitespace().next().filter(|_| rest.contains(" ns"))?.parse().ok()?;
        let who = who.split(" start ").next()?.trim();
        Some((ns, kind.to_owned(), who.to_owned()))
    };
    let (ns, kind, who) = head.lines().filter_map(row).max()?;
    let name = who.rsplit_once(':').map_or(who.as_str(), |(name, tid)| match tid.len() > 1 {
        true => name,
        false => &who,
    });
    let work = head.lines().filter(|line| line.contains(name)).find_map(|line| line.split_once("function "));
    let work =
        work.map(|(_, function)| format!(", which began the work item {}", text(function.trim().as_bytes(), 64)));
    let what = format!(
        "osnoise events without all their columns (the longest is {:.1} µs, {kind}_noise of {}{})",
        ns as f64 / 1e3,
        text(who.as_bytes(), 40),
        work.unwrap_or_default()
    );
    Some((what, EVENTS))
}

/// Parses `some avg10=1.20 avg60=0.40 avg300=0.10 total=123456` of /proc/pressure.
pub(super) fn pressure(head: &str) -> Option<(String, &'static str)> {
    let row = |line: &str| {
        let (before, rest) = line.split_once(" avg10=")?;
        let kind = before.split_whitespace().next_back().filter(|kind| matches!(*kind, "some" | "full"))?;
        let share = rest.split_whitespace().next()?.parse::<f64>().ok()?;
        let total: u64 = rest.split_once("total=")?.1.split_whitespace().next()?.parse().ok()?;
        Some((share, format!("{kind}: {share} % of the last 10 s, {total} µs in all")))
    };
    let rows: Vec<String> = head.lines().filter_map(row).map(|(_, said)| said).take(6).collect();
    let what = format!("pressure stall information ({}); shares of time do not show single delays", rows.join("; "));
    (!rows.is_empty()).then_some((what, EVENTS))
}

/// Parses bcc's syscount -L: `futex  1204  812345.6` below `SYSCALL  COUNT  TIME (us)`.
pub(super) fn syscounts(head: &str) -> Option<(String, &'static str)> {
    let is_head = |line: &&str| line.contains("COUNT") && line.contains("TIME (") && line.contains("SYSCALL");
    let unit = if head.lines().find(is_head)?.contains("(ms)") { "ms" } else { "µs" };
    let rows = head.lines().skip_while(|line| !is_head(line)).skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, count, time] = words.as_slice() else { return None };
        Some((time.parse::<f64>().ok()?, (*name).to_owned(), count.parse::<u64>().ok()?))
    });
    let (time, name, count) = rows.max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
    let name = text(name.as_bytes(), 32);
    Some((
        format!(
            "syscount (the largest sum is {time} {unit}, of {name} in {count} calls); sums do not show single delays"
        ),
        EVENTS,
    ))
}

/// Parses the sums of strace -c: ` 90.00    0.123456         120      1024           futex`.
pub(super) fn strace_sums(head: &str) -> Option<(String, &'static str)> {
    let is_head = |line: &&str| line.contains("% time") && line.contains("usecs/call");
    head.lines().find(is_head)?;
    let rows = head.lines().skip_while(|line| !is_head(line)).skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.last().filter(|name| **name != "total")?;
        Some((words.get(1)?.parse::<f64>().ok()?, (*name).to_owned(), words.get(3)?.parse::<u64>().ok()?))
    });
    let (s, name, count) = rows.max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
    let name = text(name.as_bytes(), 32);
    Some((
        format!("strace -c (the largest sum is {s} s, of {name} in {count} calls); sums do not show single delays"),
        EVENTS,
    ))
}

/// Parses maps that bpftrace prints: `@max_us[app, 12]: 1234`.
pub(super) fn maps(head: &str) -> Option<(String, &'static str)> {
    const FEWEST: usize = 2;
    let row = |line: &str| {
        let (map, value) = line.trim().strip_prefix('@')?.rsplit_once("]: ")?;
        let (name, key) = map.split_once('[')?;
        Some((value.trim().parse::<u64>().ok()?, format!("@{name}[{key}]")))
    };
    let rows: Vec<(u64, String)> = head.lines().filter_map(row).collect();
    let (value, key) = rows.iter().max().filter(|_| rows.len() >= FEWEST)?;
    let key = text(key.as_bytes(), 80);
    Some((
        format!(
            "a map of bpftrace (the largest value is {value}, of {key}; the text does not show its unit, nor whether it is a sum)"
        ),
        EVENTS,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::summary;

    fn said(text: &str) -> String {
        summary(text.as_bytes()).map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn uftrace_names_the_function_and_its_preemptions() {
        let text = "# DURATION     TID     FUNCTION\n              [    35] | main() {\n   284.645 us [    35] |   fork();\n              [    37] |   work() {\n    \
                    30.000 us [    37] |     /* linux:schedule (pre-empted) */\n    12.000 us [    37] |     step();\n   500.000 ms [    37] |   } /* work */\n";
        let said = said(text);
        assert!(
            said.contains("499958.000 µs in work() of thread 37, where it was preempted 1 times for 30.000 µs"),
            "{said}"
        );
    }

    #[test]
    fn noises_without_columns() {
        let text = "kworker/2:2  workqueue_execute_start: function gate_off [gpu]\nkworker/2:2  thread_noise: kworker/2:2  duration 808492 ns\n\
                    irq_noise: local_timer:236 duration 1200 ns\n";
        let said = said(text);
        assert!(
            said.contains(
                "the longest is 808.5 µs, thread_noise of kworker/2:2, which began the work item gate_off [gpu]"
            ),
            "{said}"
        );
    }

    #[test]
    fn maps_and_sums_of_calls() {
        let map = "@max_us[app]: 1234\n@max_us[kworker/0:1]: 88\n";
        assert!(said(map).contains("the largest value is 1234, of @max_us[app]"), "{}", said(map));
        let sums = "% time     seconds  usecs/call     calls    errors syscall\n 90.00    0.123456    120   1024           futex\n";
        assert!(said(sums).contains("the largest sum is 0.123456 s, of futex in 1024 calls"), "{}", said(sums));
    }

    #[test]
    fn pressure_and_sums() {
        let psi =
            "some avg10=1.20 avg60=0.40 avg300=0.10 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
        assert!(said(psi).contains("some: 1.2 % of the last 10 s, 123456 µs in all; full"), "{}", said(psi));
        let sums = "SYSCALL                   COUNT        TIME (us)\nfutex                      120        8123.400\nread   4   12.0\n";
        assert!(said(sums).contains("the largest sum is 8123.4 µs, of futex in 120 calls"), "{}", said(sums));
    }
}
