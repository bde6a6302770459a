//! Interprets what follows the first line of a report in the kernel's log.

use super::stack::{function, place};
use super::{number_after, text};

/// `handler #08!!!`, `local_softirq_pending 08`: the names of the bits (include/linux/interrupt.h).
pub(super) fn pending(line: &str) -> Option<String> {
    const NAMES: [&str; 10] =
        ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
    let rest = line.split_once("handler #").or_else(|| line.split_once("local_softirq_pending "))?.1;
    let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?;
    let bits = u32::from_str_radix(digits, 16).ok()?;
    let names = NAMES.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, name)| *name);
    Some(format!(": {}", names.collect::<Vec<_>>().join(", ")))
}

/// `is blocked on a mutex likely owned by task worker:120.` below a hung task (kernel/hung_task.c, since Linux 6.16), and
/// the owner's stack below it.
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

/// `#1: 0% system, 0% softirq, 100% hardirq, 0% idle` below a soft lockup (kernel/watchdog.c, print_cpustat).
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

/// Returns the lines about one CPU, because other CPUs may print reports at the same time.
pub(super) fn of_cpu<'a>(lines: &[&'a str], cpu: Option<f64>) -> Vec<&'a str> {
    let mut mine = true;
    let is_mine = |line: &&&str| {
        if let (Some(cpu), Some(of)) = (cpu, number_after(line, "CPU: ")) {
            mine = cpu.total_cmp(&of).is_eq();
        }
        mine
    };
    lines.iter().filter(is_mine).copied().collect()
}

/// Describes what an RCU stall means, and what ran during it. The stack of RCU's kthread is skipped, because it only
/// shows that the kthread waited.
pub(super) fn rcu(means: &str, lines: &[&str]) -> String {
    let mut mine = true;
    let is_mine = |line: &&&str| {
        let begins = ["NMI backtrace for cpu", "CPU: ", "Task dump for CPU"].iter().any(|mark| line.contains(mark));
        let kthread = ["kthread starved for", "grace-period kthread stack dump", "task:rcu_", "skipped: idling"];
        mine = (mine || begins) && !kthread.iter().any(|mark| line.contains(mark));
        mine
    };
    let all = lines.concat().replace(' ', "");
    let starved = lines.iter().find_map(|line| number_after(line, "kthread starved for "));
    let is_runnable = all.contains("->state=0x0");
    let means = if all.contains("AllQSesseen") {
        "all quiescent states were seen, so no CPU and no reader blocked RCU".to_owned()
    } else {
        format!("{means}{}", stalled(lines))
    };
    let means = match starved {
        Some(jiffies) if is_runnable => {
            format!("{means}, and RCU's grace-period kthread was runnable and got no CPU for {jiffies} jiffies")
        }
        Some(jiffies) => {
            let timer = match lines.iter().find_map(|line| number_after(line, "timer handling issue on cpu=")) {
                Some(cpu) => format!(": the kernel suspects the timers of CPU {cpu}"),
                None => String::new(),
            };
            format!("{means}, and RCU's grace-period kthread did not run for {jiffies} jiffies{timer}")
        }
        None => means,
    };
    let own: Vec<&str> = lines.iter().filter(is_mine).copied().collect();
    match (running(&own), place(&own)) {
        (Some(who), Some(place)) => format!("{means}; shown running: {who}, {place}"),
        (Some(who), None) => format!("{means}; shown running: {who}"),
        (None, Some(place)) => format!("{means}; shown {place}"),
        (None, None) => format!("{means}; what ran instead is not in this text"),
    }
}

/// The stalled CPUs and readers, from `0-...!: (1 GPs behind)` and `Tasks blocked on level-0 rcu_node (CPUs 0-3): P123`.
pub(super) fn stalled(lines: &[&str]) -> String {
    const MOST: usize = 16;
    let cpu = |line: &&str| {
        let word = line.split_whitespace().find(|word| {
            let marks = word.strip_suffix(':').and_then(|word| word.split_once('-')).map(|(_, marks)| marks);
            marks.is_some_and(|marks| matches!(marks.len(), 3..=5) && marks.starts_with(['.', 'O', '?', '!', 'N']))
        })?;
        word.split('-').next()?.parse::<u32>().ok()
    };
    let cpus: Vec<String> = lines.iter().filter_map(cpu).take(MOST).map(|cpu| cpu.to_string()).collect();
    let readers = lines.iter().filter_map(|line| line.split_once("Tasks blocked on level").map(|(_, rest)| rest));
    let is_tid = |word: &&str| {
        let tid = word.strip_prefix('P').and_then(|tid| tid.split('/').next());
        tid.is_some_and(|tid| !tid.is_empty() && tid.bytes().all(|b| b.is_ascii_digit()))
    };
    let readers: Vec<&str> = readers.flat_map(str::split_whitespace).filter(is_tid).take(MOST).collect();
    let cpus = if cpus.is_empty() { String::new() } else { format!("CPU {}", cpus.join(", ")) };
    let readers = if readers.is_empty() { String::new() } else { format!("task {}", readers.join(", ")) };
    let named: Vec<&str> = [cpus.as_str(), readers.as_str()].into_iter().filter(|named| !named.is_empty()).collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join("; ")) }
}

/// Returns the task that ran, from `CPU: 1 PID: 484 Comm: job` or the line below `Task dump for CPU 0:`, and the work
/// item that it executed.
fn running(lines: &[&str]) -> Option<String> {
    let (at, who) = lines.iter().enumerate().find_map(|(n, line)| {
        if let Some((_, rest)) = line.split_once(" Comm: ") {
            return Some((n, rest.split_whitespace().next()?.to_owned()));
        }
        let cpu = number_after(line, "Task dump for CPU ")?;
        let task = lines.get(n + 1)?;
        let task = task.split_once("] ").map_or(*task, |(_, task)| task).trim();
        let task = task.strip_prefix("task:").unwrap_or(task).split("  ").next()?.split(" state:").next()?;
        (!task.is_empty()).then(|| (n + 1, format!("{task} on CPU {cpu}")))
    })?;
    Some(text(who.as_bytes(), 40) + &work(lines.get(at + 1..)?).unwrap_or_default())
}

/// Returns the work item from `Workqueue: events poll_values [hwmon]` near the start of a report.
pub(super) fn work(lines: &[&str]) -> Option<String> {
    const NEAR: usize = 6;
    lines.iter().take(NEAR).find_map(|line| {
        let key = ["Workqueue: ", "Stopper: "].into_iter().find(|key| line.contains(key))?;
        line.split_once(key).map(|(_, work)| format!(" ({key}{})", text(work.trim().as_bytes(), 80)))
    })
}

/// Finds the work items in progress: `in-flight: 361:free_obj_work` below the `pwq 40: cpus=20 node=1 …` of the pool
/// that is stuck.
pub(super) fn in_flight(shown: &str, lines: &[String]) -> String {
    let pool = shown.split_once("pool ").and_then(|(_, rest)| rest.split_once(" stuck")).map(|(pool, _)| pool.trim());
    let mut mine = false;
    let work = lines.iter().find_map(|line| {
        if line.contains("pwq ") {
            mine = pool.is_some_and(|pool| line.contains(&format!("{pool} ")));
        }
        line.split_once("in-flight: ").filter(|_| mine).map(|(_, work)| text(work.trim().as_bytes(), 80))
    });
    match work {
        Some(work) => format!("; in flight there: {work}"),
        None => "; what is in flight there is not in this text".to_owned(),
    }
}

/// The context of `scheduling while atomic: job/82/0x00010000` or `preempt_count: 10002` (include/linux/preempt.h).
pub(super) fn context(shown: &str, own: &[&str]) -> Option<&'static str> {
    let hex = |digits: &str| {
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        u32::from_str_radix(digits.get(..end)?, 16).ok()
    };
    let of_line = shown.split_once("while atomic: ").and_then(|(_, rest)| hex(rest.split_once("/0x")?.1));
    let counted = || own.iter().find_map(|line| hex(line.split_once("preempt_count: ")?.1));
    let count = of_line.or_else(counted)?;
    Some(match () {
        () if count & 0x00f0_0000 != 0 => "NMI",
        () if count & 0x000f_0000 != 0 => "hard interrupt",
        () if count & 0x100 != 0 => "softirq",
        () if count & 0xfe00 != 0 => "bottom halves disabled",
        () if count & 0xff != 0 => "preemption disabled",
        () => return None,
    })
}

/// The handlers below `irq 36: nobody cared`: `[<0000000025a6cd31>] first_handler threaded [<…>] second_handler`.
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
        true => "; its handlers are not in this text".to_owned(),
        false => format!("; handlers on the line: {}", names.join(", ")),
    }
}

/// `&queue->lock`, its wait types, and the function of `ffff88801acfabd8 (&queue->lock){....}-{3:3}, at: wake+0x26/0x60`.
fn lock(line: &str) -> Option<(String, &str, Option<String>)> {
    let (before, rest) = line.split_once("){")?;
    let name = before.split_once('(')?.1;
    let types = rest.split_once("-{").and_then(|(_, rest)| rest.split('}').next()).unwrap_or_default();
    let at = rest.split_once("at: ").and_then(|(_, at)| function(at));
    Some((text(name.as_bytes(), 64), types, at))
}

/// Who was to take which lock, and what it held already, in a report of lockdep.
pub(super) fn locks(lines: &[&str]) -> String {
    const MOST: usize = 4;
    let at = |key: &str| lines.iter().position(|line| line.contains(key));
    let Some(wanted) = at("is trying to lock").or_else(|| at("is trying to acquire lock")) else {
        return "; the lock is not in this text".to_owned();
    };
    let who = lines.get(wanted).and_then(|line| line.split(" is trying").next()?.split_whitespace().next_back());
    let who = who.map_or_else(|| "a thread".to_owned(), |who| text(who.as_bytes(), 40));
    let Some((name, types, place)) = lines.get(wanted + 1).and_then(|line| lock(line)) else {
        return format!("; {who} was to take it");
    };
    let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
    // Wait type 2 is a raw spinlock (include/linux/lockdep_types.h).
    let is_numbered = |line: &&&str| {
        line.contains("#0: ") || line.split_once('#').is_some_and(|(_, n)| n.starts_with(|c: char| c.is_ascii_digit()))
    };
    let raw = lines.iter().filter(is_numbered).filter_map(|line| lock(line)).filter(|(_, types, _)| *types == "2:2");
    let raw: Vec<String> = raw.map(|(name, ..)| name).take(MOST).collect();
    let held = at("already holding lock").and_then(|n| lock(lines.get(n + 1)?)).map(|(name, ..)| name);
    let held = match held {
        Some(held) => format!(", holding {held}"),
        None if types.ends_with('3') && !raw.is_empty() => format!(", holding the raw spinlocks {}", raw.join(", ")),
        None => String::new(),
    };
    format!("; {who} was to take {name}{place}{held}")
}

/// What ran on the CPU on whose queue the stalled thread is, in the dump of sched_ext.
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
    "; what ran on its CPU is not in this text".to_owned()
}

/// How far both clocks advanced between two checks, from `'hpet' wd_nsec: 0 …` and `'tsc' cs_nsec: 471766594285 …`.
pub(super) fn clocks(shown: &str, lines: &[&str]) -> String {
    const NEAR: usize = 8;
    /// WATCHDOG_INTERVAL of kernel/time/clocksource.c.
    const INTERVAL: f64 = 0.5;
    let near = || std::iter::once(shown).chain(lines.iter().copied().take(NEAR));
    let advance = |key: &str| {
        let line = near().find(|line| number_after(line, key).is_some())?;
        let name = line.split('\'').nth(1).filter(|_| line.matches('\'').count() >= 2);
        Some((name, number_after(line, key)? / 1e9))
    };
    let Some(((other, wd), (own, cs))) = advance("wd_nsec: ").zip(advance("cs_nsec: ")) else {
        return "; how far the clocks advanced is not in this text".to_owned();
    };
    let (own, other) = (own.unwrap_or("the clock"), other.unwrap_or("the watchdog"));
    let (own, other) = (text(own.as_bytes(), 20), text(other.as_bytes(), 20));
    let late = cs - INTERVAL;
    let what = if late < INTERVAL {
        String::new()
    } else if (cs - wd).abs() < cs / 20.0 {
        format!(": the check came {late:.3} s late")
    } else {
        format!(
            ": either the check came {late:.3} s late and {other} wrapped or was not read, or one of the clocks is wrong"
        )
    };
    format!(
        "; between two checks, which are to be {INTERVAL} s apart, {own} advanced {cs:.3} s and {other} {wd:.3} s{what}"
    )
}
