//! Interprets the report of an RCU stall (kernel/rcu/tree_stall.h).

use super::below::work;
use super::reports::Report;
use super::stack::{function, is_of_switch, place};
use super::{number_after, text};

/// TASK_INTERRUPTIBLE and TASK_UNINTERRUPTIBLE, and TASK_WAKING since Linux 4.14 (include/linux/sched.h).
const ASLEEP: u32 = 3;
const WAKING: u32 = 0x200;

/// Describes what an RCU stall means, and what ran during it. The stack of RCU's kthread is skipped, because it only
/// shows that the kthread waited.
pub(super) fn rcu(report: &Report, shown: &str, lines: &[&str], log: &[String]) -> String {
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
    let state = lines.iter().find_map(|line| line.split_once("->state=0x")?.1.split_whitespace().next());
    let state = state.and_then(|state| u32::from_str_radix(state, 16).ok());
    let is_asleep = state.is_some_and(|state| state & ASLEEP != 0);
    let has_readers = lines.iter().any(|line| line.contains("Tasks blocked on level"));
    let mut with_first = vec![shown];
    with_first.extend(lines);
    let named = stalled(&with_first);
    let means = match all.contains("AllQSesseen") {
        true if has_readers => {
            let tasks = if named.contains("task ") { named } else { other_readers(log) };
            format!(
                "not a CPU but a reader blocked RCU: a task that was preempted or slept in its read-side section{tasks}"
            )
        }
        true => "all quiescent states were seen, so no CPU and no reader is known to have blocked RCU".to_owned(),
        false => format!("{}{named}", report.means),
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
            let asleep = match state {
                Some(state) if is_asleep => format!(", asleep and not woken (state {state:#x})"),
                Some(WAKING) => ", being woken (TASK_WAKING): its CPU had not yet handled the wakeup".to_owned(),
                _ => String::new(),
            };
            format!("{means}, and RCU's grace-period kthread did not run for {jiffies} jiffies{asleep}{timer}")
        }
        None => means,
    };
    let idle = idle(&with_first, starved.is_some() && is_asleep);
    let own: Vec<&str> = lines.iter().filter(is_mine).copied().collect();
    let running = running(&own);
    let (means, all_idle) = idle.map_or((means.clone(), false), |(idle, all)| (means + &idle, all));
    if all_idle && running.as_ref().is_none_or(|who| who.starts_with("swapper/")) {
        return means;
    }
    let dump = own.iter().position(|line| line.contains("Task dump for CPU ")).and_then(|at| own.get(at + 1..));
    if let Some(who) = running.as_ref().filter(|_| dump.is_some_and(is_of_switch)) {
        return format!(
            "{means}; shown running: {who}; where it is is not shown: its stack is that of an earlier switch"
        );
    }
    match (running, place(&own).or_else(|| place(dump?)), holdout(&own)) {
        (Some(who), Some(place), _) => format!("{means}; shown running: {who}, {place}"),
        (Some(who), None, _) => format!("{means}; shown running: {who}"),
        (None, Some(place), Some(who)) => format!("{means}; shown: {who}, {place}"),
        (None, None, Some(who)) => format!("{means}; shown: {who}"),
        (None, Some(place), None) => format!("{means}; shown {place}"),
        (None, None, None) if means.starts_with("not a CPU") => {
            format!("{means}; the place of that task is unknown")
        }
        (None, None, None) => format!("{means}; what ran instead is unknown"),
    }
}

/// Describes the stalled CPUs that were idle, by RCU's own counters (`idle=cf8/0/0x0`: nesting in tasks and in
/// interrupts, kernel/rcu/tree_stall.h) and by the backtraces that were skipped because of it. `unnoticed`: RCU's
/// kthread, which has to look at idle CPUs, slept. Also returns true if all stalled CPUs were idle.
fn idle(lines: &[&str], unnoticed: bool) -> Option<(String, bool)> {
    const MOST: usize = 8;
    let mut stalled: Vec<(u32, bool)> = Vec::new();
    for line in lines {
        let Some(cpu) = line.split_whitespace().find_map(|word| stalled_cpu(word.strip_suffix(':')?)) else { continue };
        let counters = line.split_once("idle=").and_then(|(_, rest)| rest.split_whitespace().next());
        let is_idle = counters.is_some_and(|counters| {
            let nesting: Vec<&str> = counters.split('/').skip(1).collect();
            matches!(nesting.as_slice(), ["0", "0x0" | "0"])
        });
        stalled.push((cpu, is_idle));
    }
    let skipped: Vec<(u32, String)> = lines
        .iter()
        .filter_map(|line| {
            let (cpu, rest) = line.split_once("backtrace for cpu ")?.1.split_once(" skipped: idling")?;
            Some((cpu.trim().parse().ok()?, function(rest).map(|at| format!(" in {at}")).unwrap_or_default()))
        })
        .collect();
    let is_idle = |cpu: u32| skipped.iter().any(|(idle, _)| *idle == cpu);
    let (idle, busy): (Vec<_>, Vec<_>) = stalled.into_iter().partition(|(cpu, idle)| *idle || is_idle(*cpu));
    let mut cpus: Vec<u32> = idle.into_iter().map(|(cpu, _)| cpu).chain(skipped.iter().map(|(cpu, _)| *cpu)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    (!cpus.is_empty()).then_some(())?;
    let named = |cpu: &u32| {
        let at = skipped.iter().find(|(idle, _)| idle == cpu).map_or("", |(_, at)| at);
        format!("CPU {cpu}{at}")
    };
    let rest = if cpus.len() > MOST { format!(" and {} more", cpus.len() - MOST) } else { String::new() };
    let named: Vec<String> = cpus.iter().take(MOST).map(named).collect();
    let all = busy.is_empty();
    let likely = match all && unnoticed {
        true => ": no task kept RCU waiting; most likely a timer did not expire, or a guest's CPU did not run",
        false => "",
    };
    Some((format!("; idle meanwhile: {}{rest}{likely}", named.join(", ")), all))
}

/// Returns the readers that another report in the log names, for a report that names none.
fn other_readers(log: &[String]) -> String {
    let others: Vec<&str> = log.iter().map(String::as_str).collect();
    match tasks(&others).as_slice() {
        [] => "; which one is unknown".to_owned(),
        tasks => format!("; another report of this log names task {}", tasks.join(", ")),
    }
}

/// Returns the task shown below a stall of RCU: `task:job/7  state:R  running task  stack: 0 pid: 2133 ppid: 2`, and
/// its CPU in `nvcsw: 1/1 holdout: 1 idle_cpu: -1/7` of Tasks RCU (kernel/rcu/tasks.h, check_holdout_task).
fn holdout(lines: &[&str]) -> Option<String> {
    let (name, rest) = lines.iter().find_map(|line| line.split_once("task:")?.1.split_once(" state:"))?;
    let pid = number_after(rest, "pid:")?;
    let state = match rest.trim_start().chars().next()? {
        'R' => "runnable or running",
        'S' => "asleep",
        'D' => "asleep (D)",
        _ => "in another state",
    };
    let cpu =
        lines.iter().find_map(|line| line.split_once("idle_cpu: ")?.1.split_once('/')?.1.split_whitespace().next());
    let cpu = cpu.and_then(|cpu| cpu.parse::<u32>().ok()).map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
    Some(format!("{} (pid {pid}), {state}{cpu}", text(name.trim().as_bytes(), 32)))
}

/// Returns the words in the braces of an expedited stall, `{ 3-.... P392 }`, and after
/// `Tasks blocked on level-0 rcu_node (CPUs 0-3):`. The first blocked task may be left out of both (up to Linux 5.10).
fn listed(line: &str) -> impl Iterator<Item = &str> {
    let braces = line.split_once("CPUs/tasks: {").map(|(_, rest)| rest.split('}').next().unwrap_or(rest));
    let blocked = line.split_once("Tasks blocked on level").map(|(_, rest)| rest);
    braces.or(blocked).into_iter().flat_map(str::split_whitespace)
}

/// Returns the blocked readers that reports of RCU list: `P123`, `P123/1:b..l`.
fn tasks<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    const MOST: usize = 16;
    let is_tid = |word: &&str| {
        let tid = word.strip_prefix('P').and_then(|tid| tid.split('/').next());
        tid.is_some_and(|tid| !tid.is_empty() && tid.bytes().all(|b| b.is_ascii_digit()))
    };
    lines.iter().flat_map(|line| listed(line)).filter(is_tid).take(MOST).collect()
}

/// `0-...!`: parses a stalled CPU with its marks.
fn stalled_cpu(word: &str) -> Option<u32> {
    let (cpu, marks) = word.split_once('-')?;
    let is_marked = matches!(marks.len(), 3..=5) && marks.starts_with(['.', 'O', 'o', '?', '!', 'N']);
    cpu.parse().ok().filter(|_| is_marked)
}

/// Returns the stalled CPUs and readers, from `0-...!: (1 GPs behind)`, `{ 0-...D P123 }` and
/// `Tasks blocked on level-0 rcu_node (CPUs 0-3): P123`.
pub(super) fn stalled(lines: &[&str]) -> String {
    const MOST: usize = 16;
    let behind = |line: &&str| line.split_whitespace().find_map(|word| stalled_cpu(word.strip_suffix(':')?));
    let listed = lines.iter().flat_map(|line| listed(line)).filter_map(stalled_cpu);
    let cpus = lines.iter().filter_map(behind).chain(listed);
    let mut seen = Vec::new();
    let cpus = cpus.filter(|cpu| {
        !seen.contains(cpu) && {
            seen.push(*cpu);
            true
        }
    });
    let cpus: Vec<String> = cpus.map(|cpu| cpu.to_string()).collect();
    let readers = tasks(lines);
    let rest = if cpus.len() > MOST { format!(" and {} more", cpus.len() - MOST) } else { String::new() };
    let cpus = match cpus.get(..MOST.min(cpus.len())) {
        None | Some([]) => String::new(),
        Some(cpus) => format!("CPU {}{rest}", cpus.join(", ")),
    };
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
        Some((n + 1, format!("{} on CPU {cpu}", task(lines.get(n + 1)?)?.0)))
    })?;
    Some(text(who.as_bytes(), 40) + &work(lines.get(at + 1..)?).unwrap_or_default())
}

/// Parses `kubelet         R  running task        0 277695      1 0x00080000` and `task:kubelet         state:R  running task`:
/// name and state (kernel/sched/core.c, sched_show_task).
fn task(line: &str) -> Option<(&str, Option<char>)> {
    const COMM: usize = 15;
    let line = line.rsplit_once("] ").map_or(line, |(_, line)| line).trim();
    let line = line.strip_prefix("task:").unwrap_or(line);
    let (name, rest) = line.split_once(" state:").or_else(|| line.split_once("  ")).unwrap_or((line, ""));
    let state = rest.split_whitespace().next().filter(|word| word.len() == 1).and_then(|word| word.chars().next());
    let name = name.split("  ").next()?.trim();
    // A name of full length has no second space before its state.
    let (name, state) = match name.split_at_checked(COMM) {
        Some((name, rest)) if state.is_none() && rest.len() == 2 => (name.trim_end(), rest.chars().nth(1)),
        _ => (name, state),
    };
    (!name.is_empty()).then_some((name, state))
}

/// Returns the task below `Task dump for CPU 55:`, with its state.
pub(super) fn dumped(lines: &[String], cpu: f64) -> Option<String> {
    let at = lines.iter().position(|line| number_after(line, "Task dump for CPU ") == Some(cpu))?;
    let (name, state) = task(lines.get(at + 1)?)?;
    let state = if state == Some('R') { " (running or runnable)" } else { "" };
    Some(text(name.as_bytes(), 32) + state)
}

#[cfg(test)]
mod tests {
    use super::super::said;

    fn of(text: &str) -> String {
        said(text).unwrap_or_default()
    }

    #[test]
    fn idle_cpus_are_said_to_be_idle() {
        let log = "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\nrcu: \t1-...!: (0 ticks this GP) idle=cf8/0/0x0 softirq=20/20 fqs=0\nrcu: \t\
                   (detected by 0, t=3822 jiffies, g=-7, q=10)\nNMI backtrace for cpu 1 skipped: idling at wait_idle+0x1e/0x130\nrcu: rcu_sched kthread \
                   starved for 3822 jiffies! g-7 f0x0 RCU_GP_WAIT_FQS(5) ->state=0x402 ->cpu=1\n";
        let said = of(log);
        assert!(said.contains("did not run for 3822 jiffies, asleep and not woken (state 0x402)"), "{said}");
        assert!(said.ends_with("; idle meanwhile: CPU 1 in wait_idle: no task kept RCU waiting; most likely a timer did not expire, or a guest's CPU did not run"), "{said}");
        let waking = of(&log.replace("0x402", "0x200"));
        assert!(waking.contains("jiffies, being woken (TASK_WAKING)") && !waking.contains("no task kept"), "{waking}");
        let busy =
            log.replace("idle=cf8/0/0x0", "idle=cf8/1/0x4000").replace("NMI backtrace for cpu 1 skipped", "line");
        assert!(of(&busy).contains("what ran instead is unknown"), "{}", of(&busy));
        let both = log.replace(
            "softirq=20/20 fqs=0\n",
            "softirq=20/20 fqs=0\nrcu: \t2-....: (1 GPs behind) idle=cf9/1/0x4000 softirq=2/2\n",
        );
        assert!(!of(&both).contains("no task kept") && of(&both).contains("idle meanwhile: CPU 1"), "{}", of(&both));
    }

    #[test]
    fn a_long_list_says_how_many_more() {
        let cpus: String = (0..19).map(|cpu| format!("rcu: \t{cpu}-...!: (1 GPs behind) softirq=2/2\n")).collect();
        let said = of(&format!("rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n{cpus}"));
        assert!(said.contains("14, 15 and 3 more)"), "{said}");
    }

    #[test]
    fn a_second_report_about_the_same_cpu_has_its_task() {
        let log = "INFO: rcu_sched self-detected stall on CPU { 1}  (t=2100 jiffies g=7 c=6 q=1)\n[<c1>] (unwind_backtrace+0x0/0xf8) from [<c2>] (rcu_check_callbacks+0x36/0x81c)\n\
                   INFO: rcu_sched detected stalls on CPUs/tasks: { 1} (detected by 3, t=2103 jiffies, g=7, c=6, q=1)\nTask dump for CPU 1:\nsh              R running      0   569    568 0x00000002\n\
                   [<c4>] (__schedule+0x33c/0x6ac) from [<c5>] (__irq_svc+0x40/0x70)\n[<c5>] (__irq_svc+0x40/0x70) from [<c6>] (unlock_it+0x28/0x50)\n\
                   [<c6>] (unlock_it+0x28/0x50) from [<c7>] (count_all+0x68/0x9c)\n[<c7>] (count_all+0x68/0x9c) from [<c8>] (cpu_down+0x44/0x84)\n";
        let stale = "; shown running: sh on CPU 1; where it is is not shown: its stack is that of an earlier switch";
        assert!(of(log).contains(stale), "{}", of(log));
        let other = log.replace("tasks: { 1}", "tasks: { 2}").replace("dump for CPU 1", "dump for CPU 2");
        assert!(of(&other).contains("what ran instead is unknown; also"), "{}", of(&other));
    }

    #[test]
    fn a_variable_on_the_stack_is_no_place() {
        let log = "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\nrcu: \t0-...0: (0 ticks this GP) idle=746/1/0x4 softirq=3/3 fqs=2\n\
                   \t(detected by 1, t=5252 jiffies, g=9, q=5)\nTask dump for CPU 0:\nmeasure_example R  running task        0   22    21 0xa\n\
                   Call trace:\n __switch_to+0xc0/0x210\n cpu_number+0x0/0x8\n";
        assert!(
            of(log).contains("(CPU 0); shown running: measure_example on CPU 0; where it is is not shown"),
            "{}",
            of(log)
        );
        let bare = log.replace(" __switch_to+0xc0/0x210\n", "");
        assert!(of(&bare).ends_with("shown running: measure_example on CPU 0"), "{}", of(&bare));
        let other = log.replace(
            " __switch_to+0xc0/0x210\n cpu_number+0x0/0x8",
            " walk_it+0xc0/0x210\n runqueues+0x20/0x80\n go_on+0x1/0x8",
        );
        assert!(of(&other).ends_with("measure_example on CPU 0, in walk_it ← go_on"), "{}", of(&other));
    }
}
