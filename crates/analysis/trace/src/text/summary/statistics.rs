//! Statistics of latencies that a program or the kernel keeps: schbench, /proc/PID/sched.

use super::EVENTS;
use crate::text::scan::text;

/// Parses schbench's percentiles of wakeup latencies, µs: `* 99.0th: 316 (1670597 samples)` and `min=1, max=1487` below
/// `Wakeup Latencies percentiles (usec) runtime 30 (s) (18848611 total samples)`, in old versions `Latency percentiles
/// (usec)` with rows `50.0000th: 115`.
pub(super) fn schbench(head: &str) -> Option<(String, &'static str)> {
    let is_heading = |line: &str| line.contains("percentiles (");
    let is_wakeups = |line: &str| {
        let line = line.trim_start();
        (line.starts_with("Wakeup Latencies percentiles") || line.starts_with("Latency percentiles"))
            && line.contains("(usec)")
    };
    let lines: Vec<&str> = head.lines().collect();
    let at = lines.iter().rposition(|line| is_wakeups(line))?;
    let rows: Vec<&str> =
        lines.iter().skip(at + 1).map(|line| line.trim()).take_while(|line| !is_heading(line)).collect();
    let percentile = |wanted: f64| {
        let of = |row: &&str| {
            let (rank, value) = row.trim_start_matches(['*', ' ']).split_once("th:")?;
            let is_wanted = rank.parse::<f64>().ok()? == wanted;
            is_wanted.then(|| value.split_whitespace().next()?.parse::<u64>().ok()).flatten()
        };
        rows.iter().find_map(of)
    };
    let max = rows.iter().find_map(|row| row.split_once("max=")?.1.trim().parse::<u64>().ok());
    let named = [(50.0, "median"), (99.0, "99th percentile"), (99.9, "99.9th percentile")];
    let named = named.iter().filter_map(|(of, name)| Some(format!("{name} {} µs", percentile(*of)?)));
    let max = max.map(|max| format!("longest {max} µs"));
    let said: Vec<String> = max.into_iter().chain(named).collect();
    let tables = match lines.iter().filter(|line| is_wakeups(line)).count() {
        1 => "",
        _ => "; of the last of several tables",
    };
    (!said.is_empty()).then(|| (format!("schbench (wakeup latency: {}{tables})", said.join(", ")), EVENTS))
}

/// Parses /proc/PID/sched (kernel/sched/debug.c, proc_sched_show_task): `wait_max`, ms, is the longest time for which the
/// thread was runnable and waited for a CPU since that is counted. The row exists only with schedstats, and for real-time
/// threads it was 0 until Linux 5.16.
pub(super) fn proc_sched(head: &str) -> Option<(String, &'static str)> {
    let (name, rest) =
        head.lines().find_map(|line| line.split_once(" (").filter(|(_, rest)| rest.contains(", #threads: ")))?;
    let tid = rest.split(',').next()?.parse::<u32>().ok()?;
    let value = |wanted: &str| {
        let row = head.lines().filter_map(|line| line.split_once(':'));
        let mut row = row.filter(|(key, _)| key.trim().rsplit('.').next() == Some(wanted));
        row.next()?.1.trim().parse::<f64>().ok()
    };
    let who = text(name.trim().as_bytes(), 32);
    let longest = match value("wait_max") {
        Some(wait) if wait > 0.0 => {
            format!("it waited {wait:.3} ms at most for a CPU; what ran meanwhile is not in the file")
        }
        Some(_) if value("prio").is_some_and(|prio| prio < 100.0) => {
            "no wait of it is counted; those of real-time threads are not before Linux 5.16".to_owned()
        }
        Some(_) => "no wait of it is counted".to_owned(),
        None => {
            "its longest wait for a CPU is not in this text; it is counted with CONFIG_SCHEDSTATS and kernel.sched_schedstats=1".to_owned()
        }
    };
    Some((format!("/proc/{tid}/sched of {who} ({longest})"), EVENTS))
}
