//! Finds the functions in which a thread or a softirq spent its time, from the lines of a function trace.

use super::cpu::{Cpu, KEPT};
use super::section::{Traced, bare, name};
use punctual_trace::{Context, LatencyHeader, Symbol};
use std::collections::BTreeMap;

/// Number of lines examined on each side of an omission.
const NEAR: usize = 8;
/// Minimum number of lines with which a function is named.
const FEWEST: usize = 3;

/// Returns the handlers of softirqs that the lines of softirqs between the two times show (kernel/softirq.c, `open_softirq`).
pub(super) fn softirqs(cpu: &Cpu, from: u64, to: u64) -> Vec<&str> {
    const HANDLERS: [&str; 16] = [
        "net_rx_action",
        "net_tx_action",
        "run_timer_softirq",
        "rcu_process_callbacks",
        "rcu_core",
        "rcu_core_si",
        "blk_done_softirq",
        "tasklet_action",
        "tasklet_hi_action",
        "run_rebalance_domains",
        "sched_balance_softirq",
        "run_hrtimer_softirq",
        "hrtimer_run_softirq",
        "irq_poll_softirq",
        "blk_iopoll_softirq",
        "workqueue_softirq_action",
    ];
    let lines = cpu.traced.iter().filter(|line| line.t >= from && line.t <= to && Whose::Softirq.has(line));
    unique(lines.flat_map(names).filter(|name| HANDLERS.contains(name)))
}

/// Selects the lines of a thread or of a softirq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Thread(i32),
    Softirq,
    /// All lines, whatever thread or softirq they belong to.
    All,
}

impl Whose {
    fn has(self, line: &Traced) -> bool {
        match self {
            Whose::Thread(tid) => line.tid == Some(tid) && line.context().is_none_or(|context| !context.is_hard()),
            Whose::Softirq => line.context() == Some(Context::Softirq),
            Whose::All => true,
        }
    }
}

/// Returns a place such as `in walk_pages ← unmap_area`, if that function or its callees take most of the time from
/// `from` to `to`, ns. An omission counts for what is on both of its sides.
pub(super) fn most(cpu: &Cpu, whose: Whose, from: u64, to: u64) -> Option<Most> {
    let lines: Vec<&Traced> = cpu.traced.iter().filter(|line| line.t >= from && line.t <= to).collect();
    let own: Vec<bool> = lines.iter().map(|line| whose.has(line)).collect();
    let (mut times, mut around): (BTreeMap<&str, u64>, BTreeMap<&str, u64>) = Default::default();
    let (mut known, mut left_out) = (0, 0);
    for (n, line) in lines.iter().enumerate().filter(|(n, _)| own.get(*n) == Some(&true)) {
        let next = lines.get(n + 1);
        let ns = next.map_or(to, |next| next.t).saturating_sub(line.t).max(1);
        if line.last {
            left_out += ns;
            let before = near(whose, lines.get(n.saturating_sub(NEAR - 1)..=n).unwrap_or_default());
            let behind = near(whose, lines.get(n + 1..(n + 1 + NEAR).min(lines.len())).unwrap_or_default());
            let count = |name: &str| {
                before.iter().filter(|n| **n == name).count().min(behind.iter().filter(|n| **n == name).count())
            };
            let both = unique(before.iter().copied().filter(|name| !is_plumbing(name) && behind.contains(name)));
            let often = both.iter().map(|name| count(name)).max();
            let both = both.into_iter().filter(|name| Some(count(name)) == often);
            both.for_each(|name| *around.entry(name).or_default() += ns);
            continue;
        }
        known += ns;
        // The caller of the next function ran until then.
        let caller = next.filter(|next| whose.has(next)).and_then(|next| name(next.parent.as_ref()?));
        let own = line.returned.map_or(ns, |at| at.saturating_sub(line.t).min(ns));
        let named = names(line).into_iter().filter(|name| Some(*name) != caller).map(|name| (name, own));
        named.chain(caller.map(|caller| (caller, ns))).for_each(|(name, ns)| *times.entry(name).or_default() += ns);
    }
    let mut all = times.clone();
    around.into_iter().for_each(|(name, ns)| *all.entry(name).or_default() += ns);
    let (function, ns) = all.into_iter().filter(|(name, _)| !is_plumbing(name)).max_by_key(|(_, ns)| *ns)?;
    let shown = times.get(function).copied().unwrap_or(0);
    let mine = || lines.iter().filter(|line| whose.has(line));
    let callers =
        mine().filter(|line| name(&line.function) == Some(function)).filter_map(|line| name(line.parent.as_ref()?));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    callers.for_each(|caller| *counts.entry(caller).or_default() += 1);
    let caller = counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(caller, _)| format!(" ← {caller}"))
        .unwrap_or_default();
    if mine().filter(|line| names(line).contains(&function)).count() < FEWEST {
        return None;
    }
    let whole = known + left_out;
    (ns * 2 > whole).then(|| Most { place: format!("in {function}{caller}"), shown: shown * 2 > whole })
}

/// `until it was enabled again in get_page`: names the last caller of `preempt_schedule()` in a thread, from `from` on.
pub(super) fn preempted(cpu: &Cpu, tid: i32, from: u64) -> Option<String> {
    let own = cpu.traced.iter().rev().filter(|line| line.t >= from && line.tid == Some(tid));
    let calls = own.filter(|line| name(&line.function) == Some("preempt_schedule"));
    let mut callers = calls.filter_map(|line| name(line.parent.as_ref()?));
    let caller = callers.find(|caller| *caller != "preempt_schedule")?;
    let own = cpu.traced.iter().rev().filter(|line| line.t >= from && line.tid == Some(tid));
    let mut before = own.skip_while(|line| name(&line.function) != Some(caller));
    let outer = before.next().and_then(|line| name(line.parent.as_ref()?));
    let parents: Vec<&str> = before.take(NEAR).filter_map(|line| name(line.parent.as_ref()?)).collect();
    let often = |name: &str| parents.iter().filter(|parent| **parent == name).count();
    let after = parents.iter().max_by_key(|parent| often(parent)).filter(|parent| often(parent) * 2 > NEAR);
    let outer = outer.map(|outer| format!(" ← {outer}")).unwrap_or_default();
    let after = after.map(|after| format!("; the lines before that are of {after}")).unwrap_or_default();
    Some(format!("until it was enabled again in {caller}{outer}{after}"))
}

/// Names the event that makes up most of those that a thread recorded between the two times, for example
/// `where it records rcu_invoke_callback again and again`.
pub(super) fn repeated(cpu: &Cpu, tid: i32, from: u64, to: u64) -> Option<String> {
    let own = || cpu.others.iter().filter(|(t, by, _)| *by == tid && (from..=to).contains(t));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    own().for_each(|(.., name)| *counts.entry(name).or_default() += 1);
    let (name, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count >= FEWEST && count * 2 > own().count()).then(|| format!("where it recorded {name} again and again"))
}

#[derive(Clone, Debug)]
pub(super) struct Most {
    pub place: String,
    /// True if based on recorded lines, not on those around an omission.
    pub shown: bool,
}

/// Returns the time from the first kept line to the last, ns, and true if no earlier lines were dropped.
pub(super) fn covered(cpu: &Cpu) -> Option<(u64, bool)> {
    let (first, last) = (cpu.traced.front()?, cpu.traced.back()?);
    Some((last.t.saturating_sub(first.t), cpu.traced.len() < KEPT))
}

/// Minimum time after a line for which its function is named, ns.
const WORTH_A_NAME: u64 = 100_000;

/// Returns two successive lines between which more than half of `latency` passed, if no lines are omitted between them.
pub(super) fn longest(cpu: &Cpu, latency: u64) -> Option<(&Traced, &Traced)> {
    let least = WORTH_A_NAME.max(latency / 2);
    let mut pairs = cpu.traced.iter().zip(cpu.traced.iter().skip(1));
    pairs.rfind(|(line, next)| !line.last && next.t.saturating_sub(line.t) > least)
}

/// Returns the longest time between two lines between which the text leaves lines out, ns.
pub(super) fn left_out(cpu: &Cpu) -> Option<u64> {
    let pairs = cpu.traced.iter().zip(cpu.traced.iter().skip(1));
    pairs.filter(|(line, _)| line.last).map(|(line, next)| next.t.saturating_sub(line.t)).max()
}

/// Returns the line of a hard interrupt, between the two times, after which more than half of `ns` passed, and the line
/// that follows it.
pub(super) fn within(cpu: &Cpu, from: u64, to: u64, ns: u64) -> Option<(&Traced, &Traced)> {
    let mut pairs =
        cpu.traced.iter().zip(cpu.traced.iter().skip(1)).filter(|(line, next)| line.t >= from && next.t <= to);
    let is_hard = |line: &Traced| line.context().is_some_and(Context::is_hard);
    pairs.rfind(|(line, next)| !line.last && is_hard(line) && is_hard(next) && next.t.saturating_sub(line.t) > ns / 2)
}

/// True if interrupts are off on both lines, according to their flags, and no interrupt or softirq ended in between.
pub(super) fn both_off((line, next): (&Traced, &Traced)) -> bool {
    let off = [line, next].iter().all(|line| line.flags.and_then(|flags| flags.irqs_off) == Some(true));
    off && line.context() == next.context()
}

/// True if an interrupt or softirq ended between the two lines, according to their flags.
pub(super) fn left_interrupt((line, next): (&Traced, &Traced)) -> bool {
    let in_task = next.context() == Some(Context::Task);
    in_task && line.context().is_some_and(|context| context != Context::Task)
}

/// True for `default_idle`, `acpi_processor_idle`: an interrupt ends them, with interrupts on or off.
pub(super) fn is_idle(line: &Traced) -> bool {
    name(&line.function).is_some_and(|name| name.contains("idle"))
}

/// Returns the function that the idle loop calls between the two times, and the function that this one calls, such as
/// `acpi_idle_do_entry ← acpi_idle_enter`.
pub(super) fn idle_call(cpu: &Cpu, from: u64, to: u64) -> Option<String> {
    const LOOPS: [&str; 5] = ["cpu_idle", "do_idle", "cpuidle_idle_call", "default_idle_call", "cpuidle_enter_state"];
    const OTHERS: [&str; 6] = ["tick_", "rcu_", "sched", "preempt", "irq", "need_resched"];
    let lines = || cpu.traced.iter().filter(|line| line.t >= from && line.t <= to && line.tid == Some(0));
    let called = |by: &dyn Fn(&str) -> bool| {
        let mut calls = lines().filter(|line| line.parent.as_ref().and_then(name).is_some_and(by));
        calls.find_map(|line| name(&line.function).filter(|name| !OTHERS.iter().any(|other| name.contains(other))))
    };
    let Some(outer) = called(&|parent| LOOPS.contains(&parent)) else {
        // The driver's function of an idle state, such as acpi_processor_idle.
        let mut parents = lines().filter_map(|line| line.parent.as_ref().and_then(name));
        return parents.find(|parent| parent.ends_with("_idle")).map(str::to_owned);
    };
    let inner = called(&|parent| parent == outer).map(|inner| format!("{inner} ← ")).unwrap_or_default();
    Some(format!("{inner}{outer}"))
}

/// True for functions on the way into an interrupt.
pub(super) fn is_entry(function: &Symbol) -> bool {
    name(function).is_some_and(enters)
}

/// True for the name of a function on the way into an interrupt.
pub(super) fn enters(name: &str) -> bool {
    const ENTRIES: [&str; 11] = [
        "el1_irq",
        "el0_irq",
        "el1h_64_irq",
        "el1_interrupt",
        "__irq_svc",
        "__irq_usr",
        "do_IRQ",
        "common_interrupt",
        "irq_enter",
        "irq_enter_rcu",
        "handle_riscv_irq",
    ];
    ENTRIES.contains(&name) || name.ends_with("apic_timer_interrupt")
}

/// True for the name of a function on the way out of an interrupt.
pub(super) fn leaves(name: &str) -> bool {
    const EXITS: [&str; 8] = [
        "irq_exit",
        "__irq_exit_rcu",
        "irq_exit_rcu",
        "__do_softirq",
        "restore_regs_and_iret",
        "restore_args",
        "ret_from_intr",
        "ret_to_user",
    ];
    EXITS.contains(&name) || name.starts_with("retint_") || enters(name)
}

/// Formats the last line: `last traced in flush_cache ← run_timer_softirq`.
pub(super) fn last(line: &Traced) -> Option<String> {
    let caller = line.parent.as_ref().and_then(name).map(|caller| format!(" ← {caller}")).unwrap_or_default();
    Some(format!("last traced in {}{caller}", name(&line.function)?))
}

fn near<'t>(whose: Whose, lines: &[&'t Traced]) -> Vec<&'t str> {
    lines.iter().filter(|line| whose.has(line)).flat_map(|line| names(line)).collect()
}

fn names(line: &Traced) -> Vec<&str> {
    let parent = line.parent.as_ref().and_then(name);
    unique(name(&line.function).into_iter().chain(parent))
}

fn unique<'s>(names: impl Iterator<Item = &'s str>) -> Vec<&'s str> {
    let mut all = Vec::new();
    names.for_each(|name| {
        if !all.contains(&name) {
            all.push(name)
        }
    });
    all
}

/// True for locks, the scheduler and the tracer, which all kinds of work pass through.
fn is_plumbing(function: &str) -> bool {
    const PARTS: [&str; 9] = [
        "schedule",
        "cond_resched",
        "spin_lock",
        "spin_unlock",
        "trace",
        "preempt_count",
        "local_bh",
        "__do_softirq",
        "try_to_wake_up",
    ];
    PARTS.iter().any(|part| function.contains(part))
}

/// Returns the function from whose calls most of the lines are, and the function that it calls:
/// `in calls of end_bio → end_page`. Of the lines, it is the outermost one.
pub(super) fn root(cpu: &Cpu) -> Option<String> {
    const DEPTH: usize = 32;
    let mut callers: BTreeMap<&str, &str> = BTreeMap::new();
    for line in &cpu.traced {
        if let Some((function, parent)) = name(&line.function).zip(line.parent.as_ref().and_then(name)) {
            callers.entry(function).or_insert(parent);
        }
    }
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in &cpu.traced {
        let (Some(mut function), Some(mut parent)) = (name(&line.function), line.parent.as_ref().and_then(name)) else {
            continue;
        };
        for _ in 0..DEPTH {
            let Some(next) = callers.get(parent).filter(|next| **next != parent) else { break };
            (function, parent) = (parent, next);
        }
        *counts.entry((parent, function)).or_default() += 1;
    }
    let ((root, callee), count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let most = count >= FEWEST && count * 2 > cpu.traced.len() && !is_plumbing(root);
    most.then(|| format!("in calls of {root} → {callee}"))
}

/// True for the loops that spin for a sleeping lock until a reschedule is requested (kernel/locking/).
pub(super) fn spins(function: &str) -> bool {
    const LOOPS: [&str; 6] = [
        "rwsem_optimistic_spin",
        "rwsem_spin_on_owner",
        "mutex_optimistic_spin",
        "mutex_spin_on_owner",
        "rtmutex_spin_on_owner",
        "osq_lock",
    ];
    LOOPS.contains(&bare(function).as_str())
}

/// Returns `waiting for or holding the lock that _raw_spin_lock takes in free_area`, if the first line takes a spinning
/// lock and a later one releases it, both called by the same function.
pub(super) fn lock(cpu: &Cpu, header: &LatencyHeader) -> Option<String> {
    let (first, last) = (cpu.traced.front()?, cpu.traced.back()?);
    let (takes, by) = (name(&first.function)?, name(first.parent.as_ref()?)?);
    // True if the lines begin where the section does.
    let begins = header.started_at.as_deref().map(bare).is_some_and(|from| from == by || from == takes);
    let releases = |line: &Traced| {
        let same = line.parent.as_ref().and_then(name) == Some(by);
        same && name(&line.function).is_some_and(|function| function.contains("_unlock"))
    };
    let is_lock = ["spin_lock", "read_lock", "write_lock"].iter().any(|lock| takes.contains(lock));
    let released = cpu.traced.iter().skip(1).find(|line| releases(line))?.t.saturating_sub(first.t);
    let most = released * 2 > last.t.saturating_sub(first.t);
    (is_lock && begins && most).then(|| format!("waiting for or holding the lock that {takes} takes in {by}"))
}
