//! Interprets what follows the first line of a report in the kernel's log.

use super::stack::{below_interrupt, place};
use super::{number_after, text};
use crate::text::repair::is_omission;

/// Returns the names of the softirqs whose bits are set in `handler #08!!!` or `local_softirq_pending 08`
/// (include/linux/interrupt.h).
pub(super) fn pending(line: &str) -> Option<String> {
    const NAMES: [&str; 10] =
        ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
    let rest = line.split_once("handler #").or_else(|| line.split_once("local_softirq_pending "))?.1;
    let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?;
    let bits = u32::from_str_radix(digits, 16).ok()?;
    let names = NAMES.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, name)| *name);
    Some(format!(": {}", names.collect::<Vec<_>>().join(", ")))
}

/// Describes the softirqs that all messages of that kind name, the most frequent first.
pub(super) fn softirqs(messages: &[(Option<f64>, usize, String)]) -> String {
    /// The kernel prints no more messages than this (kernel/time/tick-sched.c, report_idle_softirq).
    const PRINTED: usize = 10;
    let mut counts: Vec<(usize, String)> = Vec::new();
    for names in messages.iter().filter_map(|(.., line)| pending(line)) {
        match counts.iter_mut().find(|(_, known)| *known == names) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, names)),
        }
    }
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    match (counts.as_slice(), messages.len()) {
        ([], _) => String::new(),
        ([(1, names)], _) => names.clone(),
        ([(_, names)], all) if all < PRINTED => format!("{names} in all {all} messages"),
        (_, all) => {
            let each: Vec<String> = counts
                .iter()
                .map(|(count, names)| {
                    format!("{} {count} times", names.trim_start_matches(": ").replace(", ", " with "))
                })
                .collect();
            let limit = if all == PRINTED { ", after which the kernel prints no more" } else { "" };
            format!(": {} in {all} messages{limit}", each.join(", "))
        }
    }
}

/// Returns the owner of a lock, from `is blocked on a mutex likely owned by task worker:120.` below a hung task
/// (kernel/hung_task.c, since Linux 6.16), and the owner's stack below it.
pub(super) fn owner(below: &[String]) -> Option<String> {
    const NEAR: usize = 60;
    let at = below.iter().take(NEAR).position(|line| line.contains("is blocked on a "))?;
    let (what, owner) = below.get(at)?.split_once("is blocked on a ")?.1.split_once(" likely owned by task ")?;
    let (what, owner) = (text(what.as_bytes(), 20), text(owner.trim_end_matches('.').as_bytes(), 40));
    let its = below.get(at + 1..)?.iter().take_while(|line| !line.contains("INFO: task "));
    let its: Vec<&str> = its.map(String::as_str).collect();
    let place = place(&its).map(|place| format!(", which is {place}")).unwrap_or_default();
    Some(format!("; the {what} is likely owned by {owner}{place}"))
}

/// Returns the thread from `CPU: 68 PID: 45050 Comm: app` or `pid: 7660, name: iptables`, if the report's first line
/// does not name it.
pub(super) fn by(shown: &str, lines: &[&str], cpu: Option<f64>) -> Option<String> {
    let of_cpu = |line: &&&str| {
        line.contains(" Comm: ") && cpu.is_none_or(|cpu| number_after(line, "CPU: ").is_some_and(|of| of == cpu))
    };
    let comm = || lines.iter().find(of_cpu)?.split_once("PID: ")?.1.split_once(" Comm: ");
    let named = || lines.iter().find_map(|line| line.split_once("pid: ")?.1.split_once(", name: "));
    let (pid, rest) = named().or_else(comm)?;
    let name = rest.split_whitespace().next()?;
    let pid: u32 = pid.split_whitespace().next()?.parse().ok()?;
    let name = text(name.as_bytes(), 32);
    (pid > 0 && !shown.contains(&name)).then(|| format!(", while {name} (pid {pid}) was current"))
}

/// Returns how long ago the last heartbeat was, which PowerPC prints as
/// `CPU 68 TB:85587019361273, last heartbeat TB:85576815065016 (19930ms ago)`, and for all CPUs together as
/// `last SMP heartbeat` (arch/powerpc/kernel/watchdog.c).
pub(super) fn heartbeat(below: &[String], cpu: Option<f64>) -> Option<String> {
    const NEAR: usize = 8;
    let near = below.get(..NEAR.min(below.len()))?;
    let ms = |n: usize| {
        let joined = format!("{} {}", near.get(n)?, near.get(n + 1).map_or("", String::as_str));
        joined.split_once("ms ago)")?.0.rsplit('(').next()?.parse::<u64>().ok()
    };
    let of = |all: bool| {
        near.iter().enumerate().find_map(|(n, line)| {
            let is_own = all || number_after(line, "watchdog: CPU ") == cpu;
            let is_such = line.contains(" TB:") && line.contains("last SMP heartbeat") == all && is_own;
            ms(n).filter(|_| is_such)
        })
    };
    let own = of(false).map(|ms| format!(" (the last one was {ms} ms ago)"));
    own.or_else(|| of(true).map(|ms| format!(" (the last time that all CPUs had one was {ms} ms ago)")))
}

/// Returns the lines that follow the first line that names that CPU and thread, such as `CPU: 0 PID: 1289 Comm: app`,
/// up to the next such line.
pub(super) fn backtrace(below: &[String], cpu: f64, pid: Option<f64>) -> Vec<&str> {
    let is_its = |line: &String| {
        number_after(line, "CPU: ").is_some_and(|of| of == cpu)
            && pid.is_none_or(|pid| number_after(line, "PID: ").is_some_and(|of| of == pid))
    };
    let its = below.iter().position(is_its).and_then(|at| below.get(at + 1..)).unwrap_or_default();
    its.iter().map(String::as_str).take_while(|line| !line.contains("CPU: ")).collect()
}

/// Describes the owner of a spinlock, from `.owner: app/1289, .owner_cpu: 0` below the report, and what the owner's CPU
/// executed, from its stack.
pub(super) fn spinner(own: &[&str], below: &[String]) -> String {
    let owner = own.iter().find_map(|line| line.split_once(".owner: ")?.1.split_once(", .owner_cpu: "));
    let Some((owner, cpu)) = owner else { return "; the lock's owner is unknown".to_owned() };
    let Some(cpu) = cpu.split_whitespace().next().and_then(|cpu| cpu.parse::<u32>().ok()) else {
        return "; no owner of the lock was recorded".to_owned();
    };
    let (name, pid) = owner.rsplit_once('/').unwrap_or((owner, ""));
    let its = backtrace(below, f64::from(cpu), pid.parse().ok());
    let stack = match (place(&its), below_interrupt(&its).and_then(|its| place(&its))) {
        (None, None) => ", whose stack was not recognised".to_owned(),
        (Some(at), Some(below)) if !at.contains(", on top of ") => {
            format!(", which is {at}, an interrupt that occurred {below}")
        }
        (Some(at), _) | (None, Some(at)) => format!(", which is {at}"),
    };
    format!("; the lock is owned by {} ({pid}) on CPU {cpu}{stack}", text(name.as_bytes(), 32))
}

/// Returns the context in which the CPU spent most of its time, from `#1: 0% system, 0% softirq, 100% hardirq, 0% idle`
/// below a soft lockup (kernel/watchdog.c, print_cpustat).
pub(super) fn utilization(lines: &[&str]) -> Option<String> {
    const MOST: u32 = 90;
    let rows: Vec<&&str> =
        lines.iter().filter(|line| line.contains("% system,") && line.contains("% hardirq")).collect();
    let of = |row: &str, kind: &str| {
        let before = row.split_once(&format!("% {kind}"))?.0;
        before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
    };
    let kinds = [("system", "the kernel"), ("softirq", "softirqs"), ("hardirq", "interrupts")];
    let (_, name) = kinds
        .into_iter()
        .find(|(kind, _)| !rows.is_empty() && rows.iter().all(|row| of(row, kind).is_some_and(|n| n >= MOST)))?;
    Some(format!("; the CPU spent that time in {name}"))
}

/// Returns the lines about one CPU, because other CPUs may print reports at the same time; or about the thread of the
/// report, if none is about that CPU.
pub(super) fn of_cpu<'a>(lines: &[&'a str], cpu: Option<f64>, pid: Option<f64>) -> Vec<&'a str> {
    let of = |key: &'static str, number: Option<f64>| {
        let mut mine = true;
        let is_mine = move |line: &&&str| {
            if let Some((number, of)) = number.zip(number_after(line, "CPU: ").and_then(|_| number_after(line, key))) {
                mine = number.total_cmp(&of).is_eq();
            }
            mine
        };
        lines.iter().filter(is_mine).copied().collect::<Vec<&str>>()
    };
    let names =
        |number: Option<f64>, key| lines.iter().any(|line| number.is_some() && number_after(line, key) == number);
    match !names(cpu, "CPU: ") && names(pid, "PID: ") {
        true => of("PID: ", pid),
        false => of("CPU: ", cpu),
    }
}

/// Describes a dump of the report's thread that names a CPU other than the one in the report.
pub(super) fn elsewhere(lines: &[&str], cpu: Option<f64>) -> Option<String> {
    let dump = lines.iter().find_map(|line| number_after(line, "CPU: ").filter(|_| line.contains("PID: ")))?;
    cpu.filter(|cpu| *cpu != dump)?;
    Some(format!("; its dump says CPU {dump}, the first line another CPU"))
}

/// Returns the work item from `Workqueue: events poll_values [hwmon]` near the start of a report.
pub(super) fn work(lines: &[&str]) -> Option<String> {
    const NEAR: usize = 6;
    lines.iter().take(NEAR).find_map(|line| {
        let key = ["Workqueue: ", "Stopper: "].into_iter().find(|key| line.contains(key))?;
        line.split_once(key).map(|(_, work)| format!(" ({key}{})", text(work.trim().as_bytes(), 80)))
    })
}

/// Finds the work items in progress, `in-flight: 361:free_obj_work` below the `pwq 40: cpus=20 node=1 …` of the pool that
/// is stuck, and those that wait for its CPU: `pending: flush_all BAR(8)`, which the task with PID 8 waits for.
pub(super) fn in_flight(shown: &str, lines: &[String]) -> String {
    const MOST: usize = 4;
    let pool = stuck(shown).map(|(pool, _)| pool);
    let cpus = pool.and_then(|pool| pool.split_whitespace().next()).filter(|cpus| cpus.starts_with("cpus="));
    let (mut mine, mut same, mut has_own) = (false, false, false);
    let (mut work, mut pending) = (None, Vec::new());
    for line in lines {
        if line.contains("pwq ") {
            mine = pool.is_some_and(|pool| line.contains(&format!("{pool} ")));
            same = cpus.is_some_and(|cpus| line.split_whitespace().any(|word| word == cpus));
        }
        if let Some((_, items)) = line.split_once("in-flight: ").filter(|_| mine && work.is_none()) {
            work = Some(text(items.trim().as_bytes(), 80));
        } else if let Some((_, items)) = line.split_once("pending: ").filter(|_| same) {
            has_own |= mine;
            for item in items.split(", ").map(|item| waited(item.trim(), lines)) {
                if !pending.contains(&item) {
                    pending.push(item);
                }
            }
        }
    }
    let work = match work {
        Some(work) => format!("; in flight there: {work}"),
        None if has_own => "; its lines show pending work and none in flight".to_owned(),
        None => "; what is in flight there is unknown".to_owned(),
    };
    pending.truncate(MOST);
    let pending =
        if pending.is_empty() { String::new() } else { format!("; pending for that CPU: {}", pending.join(", ")) };
    let offline = if pool.is_some_and(is_disassociated) {
        "; its flag 0x4 (disassociated) is that of an unbound pool, or of the pool of a CPU that is not online"
    } else {
        ""
    };
    format!("{}{work}{pending}{offline}", others(shown, lines).unwrap_or_default())
}

/// Splits `BUG: workqueue lockup - pool cpus=2 node=0 flags=0x0 nice=0 stuck for 57s!` into pool and time.
fn stuck(line: &str) -> Option<(&str, &str)> {
    let (pool, time) = line.split_once("lockup - pool ")?.1.split_once(" stuck for ")?;
    Some((pool.trim(), time.split('!').next()?.trim()))
}

/// True if the flags of a pool of one CPU contain POOL_DISASSOCIATED, which pools of several CPUs always have (kernel/workqueue.c).
fn is_disassociated(pool: &str) -> bool {
    let value = |key: &str| pool.split_whitespace().find_map(|word| word.strip_prefix(key));
    let flags = value("flags=0x").and_then(|flags| u32::from_str_radix(flags, 16).ok());
    value("cpus=").is_some_and(|cpus| cpus.parse::<u32>().is_ok()) && flags.is_some_and(|flags| flags & 4 != 0)
}

/// Names the other pools that were stuck for the same time.
fn others(shown: &str, lines: &[String]) -> Option<String> {
    const MOST: usize = 8;
    let (own, time) = stuck(shown)?;
    let mut pools: Vec<&str> = Vec::new();
    let mut last = None;
    for (n, line) in lines.iter().enumerate() {
        if let Some((pool, _)) = stuck(line).filter(|(pool, of)| *of == time && !pools.contains(pool)) {
            pools.push(pool);
            last = Some(n);
        }
    }
    let is_cut = last.is_some_and(|last| {
        lines.iter().take(last).skip_while(|line| stuck(line).is_none()).any(|line| is_omission(line.as_bytes()))
    });
    pools.retain(|pool| *pool != own);
    (!pools.is_empty()).then_some(())?;
    let cpus = |pool: &str| pool.split_whitespace().next().unwrap_or_default().trim_start_matches("cpus=").to_owned();
    let named: Vec<String> = pools.iter().take(MOST).map(|pool| text(cpus(pool).as_bytes(), 20)).collect();
    let more = match (pools.len().saturating_sub(MOST), is_cut) {
        (0, false) => String::new(),
        (0, true) => " and those of lines that are left out".to_owned(),
        (n, _) => format!(" and {n} more"),
    };
    Some(format!(", and so for other pools: cpus={}{more}", named.join(", ")))
}

/// Adds to `flush_all BAR(8)` the work item that the task with PID 8, which waits for it, is executing, if it is a
/// worker: `pr_cont_work()` of kernel/workqueue.c.
fn waited(items: &str, lines: &[String]) -> String {
    let shown = text(items.as_bytes(), 80);
    let worker = items.split_once("BAR(").and_then(|(_, rest)| rest.split(')').next());
    let work = worker.and_then(|worker| {
        let key = format!("{worker}:");
        let words = || {
            lines
                .iter()
                .filter_map(|line| line.split_once("in-flight: "))
                .flat_map(|(_, items)| items.split_whitespace())
        };
        words().find_map(|word| word.strip_prefix(key.as_str()).map(str::to_owned))
    });
    match worker.zip(work) {
        Some((worker, work)) => {
            format!("{shown} (worker {worker}, in {}, waits for it)", text(work.trim_end_matches(',').as_bytes(), 64))
        }
        None => shown,
    }
}

/// Returns the handlers listed below `irq 36: nobody cared`:
/// `[<0000000025a6cd31>] first_handler threaded [<…>] second_handler`.
pub(super) fn handlers(lines: &[&str]) -> String {
    const MOST: usize = 8;
    let below = lines.iter().skip_while(|line| !line.trim_end().ends_with("handlers:")).skip(1);
    let below = below.take_while(|line| line.contains("[<") || line.contains("+0x"));
    let names = below.flat_map(|line| {
        let line = line.split_once("[<").map_or(*line, |(_, line)| line);
        line.split_whitespace().filter(|word| !word.ends_with(">]") && *word != "threaded")
    });
    let names = names.map(|word| word.trim_start_matches('(').split(['+', ')']).next().unwrap_or(word));
    let names = names.filter(|name| *name != "irq_default_primary_handler" && !name.is_empty() && !name.contains('['));
    let names: Vec<String> = names.take(MOST).map(|name| text(name.as_bytes(), 64)).collect();
    match names.is_empty() {
        true => "; its handlers are unknown".to_owned(),
        false => format!("; handlers on the line: {}", names.join(", ")),
    }
}

/// Returns what ran on the CPU whose queue contains the stalled thread, according to the dump of sched_ext.
pub(super) fn queues(shown: &str, lines: &[&str]) -> String {
    let stalled = shown.split_once("task stall (").and_then(|(_, rest)| rest.split(" failed").next());
    let mut current: Option<(&str, &str, &str)> = None;
    let mut cpu = "";
    for line in lines {
        let line = line.trim();
        if let Some((number, _)) = line.strip_prefix("CPU ").and_then(|rest| rest.split_once(':')) {
            (cpu, current) = (number.trim(), None);
        } else if let Some((who, class)) = line.strip_prefix("curr=").and_then(|rest| rest.split_once(" class=")) {
            current = Some((cpu, who, class.trim()));
        } else if let Some(stalled) = stalled
            && line.split_whitespace().any(|word| word == stalled)
            && let Some((cpu, who, class)) = current
        {
            let (cpu, who) = (text(cpu.as_bytes(), 8), text(who.as_bytes(), 40));
            return match class {
                "idle_sched_class" => format!("; CPU {cpu}, on whose queue it was, is idle in the dump"),
                "ext_sched_class" => {
                    format!("; CPU {cpu}, on whose queue it was, ran {who}, which the BPF scheduler schedules as well")
                }
                class => {
                    let class = text(class.trim_end_matches("_sched_class").as_bytes(), 16);
                    format!(
                        "; CPU {cpu}, on whose queue it was, ran {who} of the {class} class, which precedes sched_ext"
                    )
                }
            };
        }
    }
    "; what ran on its CPU is unknown".to_owned()
}
