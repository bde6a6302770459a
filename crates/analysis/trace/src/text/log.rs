//! Reads the kernel's log: finds the most decisive report of lateness in it, and determines whose stack follows the
//! report.

use super::scan::text;

/// What follows the first line of a report in the kernel's log.
#[derive(Clone, Copy, PartialEq)]
enum Below {
    Nothing,
    /// The stack of the thread or CPU that the report names.
    Stack,
    /// The stacks of RCU's own kthread and of the stalled CPUs (kernel/rcu/tree_stall.h).
    Rcu,
    /// The busy workers of all pools (kernel/workqueue.c, show_all_workqueues).
    Pools,
    /// None; the line itself has the pending softirqs as a hexadecimal number.
    Softirqs,
}

struct Report {
    mark: &'static str,
    /// The text before the report's value; of several reports of this type, the one with the largest value counts.
    figure: Option<&'static str>,
    means: &'static str,
    below: Below,
}

const fn report(mark: &'static str, figure: Option<&'static str>, below: Below, means: &'static str) -> Report {
    Report { mark, figure, means, below }
}

/// Reports of lateness, the most decisive first.
const REPORTS: [Report; 20] = [
    report("hard LOCKUP", None, Below::Stack, "no timer interrupt ran on that CPU for seconds"),
    report(
        "soft lockup - CPU#",
        Some("stuck for "),
        Below::Stack,
        "that CPU switched to no other thread for that long: the kernel did not let it, or the CPU itself was stopped",
    ),
    report(
        "blocked for more than",
        None,
        Below::Stack,
        "that thread slept uninterruptibly for that long: it did not wait for a CPU",
    ),
    report(
        "RT throttling activated",
        None,
        Below::Nothing,
        "real-time threads had used up their share and had to wait (rule sched-rt-throttle)",
    ),
    report("self-detected stall on CPU", None, Below::Rcu, "that CPU passed no quiescent state"),
    report("detected stalls on CPUs/tasks", None, Below::Rcu, "a CPU or a preempted reader passed no quiescent state"),
    report(
        "detected expedited stalls on CPUs",
        None,
        Below::Rcu,
        "a CPU or a preempted reader passed no quiescent state",
    ),
    report(
        "workqueue lockup - pool",
        Some("stuck for "),
        Below::Pools,
        "work that was pending for that CPU or pool did not start for that long",
    ),
    // The longest run so far of a handler (arch/x86/kernel/nmi.c, max_duration).
    report(
        "took too long to run:",
        Some("took too long to run:"),
        Below::Nothing,
        "that long passed from the start of that NMI handler to its end, including anything that stopped the CPU meanwhile",
    ),
    report(
        "hrtimer: interrupt took",
        Some("interrupt took "),
        Below::Nothing,
        "that long passed in the timer interrupt: in its own timers, in an NMI, or while the CPU was stopped",
    ),
    report(
        "DL replenish lagged too much",
        None,
        Below::Nothing,
        "a SCHED_DEADLINE thread, or the fair server since Linux 6.8, was late by more than its period; the line does not say which",
    ),
    // kernel/time/tick-sched.c, report_idle_softirq.
    report(
        "tick-stop error: ",
        None,
        Below::Softirqs,
        "an idle CPU was to stop its tick while softirqs were pending; which CPU and who raised them is not in the line",
    ),
    report(
        "local_softirq_pending ",
        None,
        Below::Softirqs,
        "an idle CPU was to stop its tick while softirqs were pending; which CPU and who raised them is not in the line",
    ),
    // kernel/sched/ext.c, check_rq_for_timeouts.
    report(
        "runnable task stall (",
        None,
        Below::Nothing,
        "the BPF scheduler (sched_ext) did not run that thread for so long, and the kernel ended it; the stack is that of the kernel's watchdog",
    ),
    report("hogged CPU for >", Some("us "), Below::Nothing, "that work of a workqueue kept the CPU longer, each time"),
    report(
        "BUG: scheduling while atomic",
        None,
        Below::Stack,
        "a thread would have slept with preemption disabled: an error in that code, of no measured length",
    ),
    report(
        "sleeping function called from invalid context",
        None,
        Below::Stack,
        "a thread might have slept with preemption or interrupts disabled: an error in that code, of no measured length",
    ),
    // kernel/time/clocksource.c, cs_watchdog_read.
    report(
        "read-back delay of",
        Some("read-back delay of "),
        Below::Nothing,
        "reading the clocks took that long; what delayed it is not in the line, and it says nothing of the clock's rate",
    ),
    report(
        "timekeeping watchdog on CPU",
        None,
        Below::Nothing,
        "a clock was wrong against another, or the CPU was stopped meanwhile",
    ),
    // kernel/events/core.c, perf_sample_event_took: an average over 128 samples, in ns.
    report(
        "perf: interrupt took too long",
        Some("too long ("),
        Below::Nothing,
        "the running average, in ns, of the time in perf's interrupt, and its limit; how long one interrupt ran is not in the line",
    ),
];

/// Lines by which a report is recognised if its first line is missing.
const REMAINS: [Report; 2] = [
    report("ticks this GP)", None, Below::Rcu, "that CPU passed no quiescent state in RCU's grace period"),
    report(
        "watchdog_timer_fn+0x",
        None,
        Below::Stack,
        "from the stack in a report of the soft lockup detector, whose first line is missing: for how long is not known",
    ),
];

const LINE: usize = 512;
const SHOWN: usize = 160;

/// Returns a line of the kernel's log that reports lateness, with its meaning; `None` for other lines.
pub(super) fn line(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let report = REPORTS.iter().find(|report| line.len() <= LINE && line.contains(report.mark))?;
    Some(format!("\"{}\": {}", text(line.as_bytes(), SHOWN), report.means))
}

/// Returns the most decisive report of a log, its meaning, the place in the code that it shows, and the other reports.
pub(super) fn said(head: &str) -> Option<String> {
    const OTHERS: usize = 2;
    let lines = unwrapped(head);
    let mut found = REPORTS.iter().chain(&REMAINS).filter_map(|report| Some((report, worst(report, &lines)?)));
    let (report, (at, shown)) = found.next()?;
    let is_whole = |report: &Report| REPORTS.iter().any(|whole| whole.mark == report.mark);
    let below = if is_whole(report) { lines.get(at + 1..).unwrap_or_default() } else { &lines };
    let is_report = |line: &&String| !REPORTS.iter().any(|report| line.contains(report.mark));
    let own: Vec<&str> = below.iter().take_while(is_report).map(String::as_str).collect();
    let means = match report.below {
        Below::Nothing => report.means.to_owned(),
        Below::Stack => {
            let own = of_cpu(&own, number_after(&shown, "CPU#").or_else(|| number_after(&shown, "on cpu ")));
            let place = place(&own).map_or("; its stack is not in this text".to_owned(), |place| format!(", {place}"));
            let busy = utilization(&own).unwrap_or_default();
            format!(
                "{}{place}{}{}{busy}",
                report.means,
                work(&own).unwrap_or_default(),
                owner(below).unwrap_or_default()
            )
        }
        Below::Rcu => rcu(report.means, &own),
        Below::Softirqs => report.means.to_owned() + &pending(&shown).unwrap_or_default(),
        Below::Pools => report.means.to_owned() + &in_flight(&shown, &lines),
    };
    let others: Vec<String> = found
        .filter(|(other, (n, _))| is_whole(other) && *n != at)
        .take(OTHERS)
        .map(|(_, (_, shown))| format!("\"{}\"", text(shown.as_bytes(), SHOWN)))
        .collect();
    let others = if others.is_empty() { String::new() } else { format!("; also in the log: {}", others.join(", ")) };
    Some(format!("\"{}\": {means}{others}", text(shown.as_bytes(), SHOWN)))
}

/// `handler #08!!!`, `local_softirq_pending 08`: the names of the bits (include/linux/interrupt.h).
fn pending(line: &str) -> Option<String> {
    const NAMES: [&str; 10] =
        ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
    let rest = line.split_once("handler #").or_else(|| line.split_once("local_softirq_pending "))?.1;
    let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?;
    let bits = u32::from_str_radix(digits, 16).ok()?;
    let names = NAMES.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, name)| *name);
    Some(format!(": {}", names.collect::<Vec<_>>().join(", ")))
}

/// `is blocked on a mutex likely owned by task worker:120.` below a hung task (kernel/hung_task.c, since Linux 6.16).
fn owner(below: &[String]) -> Option<String> {
    const NEAR: usize = 60;
    let line = below.iter().take(NEAR).find(|line| line.contains("is blocked on a "))?;
    let (what, owner) = line.split_once("is blocked on a ")?.1.split_once(" likely owned by task ")?;
    let (what, owner) = (text(what.as_bytes(), 20), text(owner.trim_end_matches('.').as_bytes(), 40));
    Some(format!("; the {what} is likely owned by {owner}"))
}

/// `#1: 0% system, 0% softirq, 100% hardirq, 0% idle` below a soft lockup (kernel/watchdog.c, print_cpustat).
fn utilization(lines: &[&str]) -> Option<String> {
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

/// Undoes quoted-printable: `=3D`, `=0D`, and `=` where a line was broken.
fn unwrapped(head: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_broken = false;
    for line in head.lines() {
        let line = line.trim_end();
        let line = line.strip_suffix("=0D").unwrap_or(line);
        let (line, breaks) = line.strip_suffix('=').map_or((line, false), |line| (line, true));
        let line = line.replace("=3D", "=");
        match lines.last_mut().filter(|_| is_broken) {
            Some(last) => last.push_str(&line),
            None => lines.push(line),
        }
        is_broken = breaks;
    }
    lines
}

/// Returns the line of a report, joined with the next line if a mail client broke it; of several such lines, the one
/// with the largest value.
fn worst(report: &Report, lines: &[String]) -> Option<(usize, String)> {
    // A line is broken at a blank.
    let first = report.mark.split(' ').next().unwrap_or_default();
    let may_have = |line: &str| line.len() <= LINE && line.contains(first);
    let found = lines.iter().enumerate().filter(|(_, line)| may_have(line)).filter_map(|(n, line)| {
        let next = lines.get(n + 1).map_or("", |next| next.trim()).chars().take(LINE).collect::<String>();
        let joined = format!("{} {next}", line.trim());
        let at = joined.find(report.mark).filter(|at| *at < line.trim().len())?;
        let figure = report.figure.map(|key| number_after(joined.get(at..)?, key));
        let in_line =
            line.contains(report.mark) && report.figure.is_none_or(|key| number_after(line, key) == figure.flatten());
        Some((figure.flatten(), n, if in_line { line.trim().to_owned() } else { joined }))
    });
    let best = match report.figure {
        Some(_) => found.max_by(|(a, ..), (b, ..)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)),
        None => found.min_by_key(|(_, n, _)| *n),
    };
    best.map(|(_, n, shown)| (n, shown))
}

fn number_after(line: &str, key: &str) -> Option<f64> {
    let rest = line.get(line.find(key)? + key.len()..)?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest.get(..end)?.trim_end_matches('.').parse().ok()
}

/// Returns the lines about one CPU, because other CPUs may print reports at the same time.
fn of_cpu<'a>(lines: &[&'a str], cpu: Option<f64>) -> Vec<&'a str> {
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
fn rcu(means: &str, lines: &[&str]) -> String {
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
        means.to_owned()
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
fn work(lines: &[&str]) -> Option<String> {
    const NEAR: usize = 6;
    lines.iter().take(NEAR).find_map(|line| {
        let key = ["Workqueue: ", "Stopper: "].into_iter().find(|key| line.contains(key))?;
        line.split_once(key).map(|(_, work)| format!(" ({key}{})", text(work.trim().as_bytes(), 80)))
    })
}

/// Finds the work items in progress: `in-flight: 361:free_obj_work` below the `pwq 40: cpus=20 node=1 …` of the pool
/// that is stuck.
fn in_flight(shown: &str, lines: &[String]) -> String {
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

/// Returns the place in the code: `RIP: 0010:foo+0x12/0x34`, `pc : foo+0x12/0x34`, or the first frames of a call trace
/// outside of the scheduler and of the interrupt that printed it.
fn place(lines: &[&str]) -> Option<String> {
    const FRAMES: usize = 4;
    let at = lines.iter().find_map(|line| {
        // PowerPC: `NIP [c000000000561f34] copy_page+0x74/0x90`.
        let powerpc = || line.split_once("NIP [").and_then(|(_, rest)| rest.split_once("] "));
        let (_, rest) = line.split_once("RIP: ").or_else(|| line.split_once("pc : ")).or_else(powerpc)?;
        function(rest)
    });
    // Who called says more than the name of a lock.
    let is_lock = |name: &String| name.contains("lock") || name.ends_with("delay");
    if let Some(at) = at.as_ref().filter(|at| !is_lock(at)) {
        return Some(format!("in {at}"));
    }
    // 32-bit ARM: `[<c0997424>] (__schedule) from [<c0997a94>] (schedule+0x50/0xa8)`, below no heading.
    let is_arm = |line: &str| line.contains(") from [<");
    let is_start = |line: &&&str| {
        let line = line.to_ascii_lowercase();
        line.contains("call trace") || line.contains("stack trace") || is_arm(&line)
    };
    let frames = lines.iter().skip_while(|line| !is_start(line));
    let frames = frames.skip_while(|line| !is_arm(line) && is_start(line));
    // A frame with a question mark was only found on the stack; a module's name may stand in the next line.
    let is_module = |line: &str| line.starts_with('[') && line.ends_with(']') && !line.contains("+0x");
    let is_guess = |line: &str| line.contains(" ? ") || line.contains("(unreliable)") && !line.contains("+0x");
    let frames = frames.filter(|line| !is_guess(line) && !is_module(line.trim()));
    let frames = frames.map_while(|line| {
        let is_mark = ["<TASK>", "<IRQ>", "</IRQ>", "<NMI>", "</NMI>"].iter().any(|mark| line.trim().ends_with(mark));
        if is_mark { Some(None) } else { function(line).map(Some) }
    });
    let frames: Vec<String> = match interrupted(frames.flatten().collect()) {
        None => return at.map(|at| format!("in {at}")),
        Some(frames) => frames,
    };
    let is_own = |name: &String| {
        const WAITS: [&str; 4] = ["__switch_to", "wait_for_common", "rtlock_slowlock_locked", "__might_resched"];
        const REPORTS: [&str; 4] = ["dump_stack", "dump_stack_lvl", "dump_backtrace", "show_stack"];
        name.contains("schedule") || WAITS.iter().chain(&REPORTS).any(|own| name.ends_with(own))
    };
    let frames = frames.into_iter().skip_while(is_own).skip_while(|name| at.as_ref() == Some(name));
    let named: Vec<String> = at.clone().into_iter().chain(frames).take(FRAMES).collect();
    (!named.is_empty()).then(|| format!("in {}", named.join(" ← ")))
}

/// If an interrupt printed the stack, returns the frames below the entry of the interrupt; `None` if the stack was cut
/// before that entry.
fn interrupted(mut frames: Vec<String>) -> Option<Vec<String>> {
    const ENTRIES: [&str; 14] = [
        "el1_irq",
        "el1h_64_irq",
        "__irq_svc",
        "apic_timer_interrupt",
        "do_IRQ",
        "common_interrupt",
        "retint_kernel",
        "restore_check_irq_replay",
        "decrementer_common",
        "decrementer_common_virt",
        "handle_int",
        "handle_exception",
        "ext_int_handler",
        "tl0_irq14",
    ];
    const IN_INTERRUPT: [&str; 12] = [
        "softlockup_tick",
        "watchdog_overflow_callback",
        "ipi_cpu_backtrace",
        "rcu_dump_cpu_stacks",
        "rcu_check_callbacks",
        "rcu_sched_clock_irq",
        "print_cpu_stall",
        "update_process_times",
        "watchdog_timer_fn",
        "nmi_cpu_backtrace",
        "nmi_trigger_cpumask_backtrace",
        "arch_trigger_cpumask_backtrace",
    ];
    let is_of = |name: &String, list: &[&str]| list.iter().any(|of| name.ends_with(of));
    if let Some(own) = frames.iter().rposition(|name| is_of(name, &IN_INTERRUPT)) {
        let entry = frames.iter().skip(own).position(|name| is_of(name, &ENTRIES))?;
        frames.drain(..=own + entry);
    }
    Some(frames)
}

fn function(line: &str) -> Option<String> {
    let name = line.get(..line.find("+0x")?)?.rsplit([' ', ':', ']', '[', '(']).next()?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
