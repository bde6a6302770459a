//! Describes the sections of irqsoff, preemptoff and preemptirqsoff: how long, where, and in which functions.

use super::{Tracers, figure, gaps, interrupts, who};
use crate::attribution::cpu::Cpu;
use crate::attribution::functions::{self, Whose};
use crate::attribution::holes;
use crate::attribution::machine::Machine;
use crate::attribution::section;
use punctual_trace::{Context, Damage, LatencyHeader, Place, Symbol, TraceInfo};
use punctual_units::Nanos;

/// Number of lines that a section has if nothing but its ends was traced.
const FEW: usize = 4;
/// Maximum time from the start of a section to a line that shows its start, ns.
const AT_START: u64 = 20_000;
/// The first line of a section comes much sooner than this after its start, ns.
const LATE: u64 = 1_000_000;
/// Maximum plausible latency without lines, ns; a longer one is an error of the tracer.
const IMPLAUSIBLE: u64 = 1_000_000_000;
/// Stands for the name of the tracer, if the text begins after the line that has it.
const UNNAMED: &str = "a latency tracer";

/// Describes the section of irqsoff, preemptoff and preemptirqsoff, by its ends and by the functions in it.
/// `seen` includes how much of the trace is missing. `woken_at_end` is the time, ns, until the thread that was woken at
/// the end of the section had the CPU.
pub(super) fn said(
    header: &LatencyHeader,
    seen: Option<(&Machine, &Tracers, Option<&str>)>,
    woken_at_end: Option<u64>,
) -> Option<(u64, String)> {
    let tracer = header.tracer.as_deref().unwrap_or(UNNAMED);
    let omitted = seen.and_then(|(.., omitted)| omitted);
    let (machine, seen) = seen.map(|(machine, seen, _)| (machine, seen)).unzip();
    let ends = header.started_at.as_deref().zip(header.ended_at.as_deref());
    let ends = ends.filter(|(from, to)| ![from, to].iter().all(|end| end.bytes().all(|b| b == b'0')));
    let cpus = machine.into_iter().flat_map(Machine::cpus).filter(|(n, _)| header.cpu.is_none_or(|cpu| cpu == *n));
    let what = match tracer {
        "irqsoff" => "interrupts off",
        "preemptoff" => match seen.and_then(|seen| seen.first) {
            Some((true, _)) if first(cpus.clone()).is_some_and(|first| first <= AT_START) => {
                "preemption off (and interrupts, at its start)"
            }
            _ => "preemption off",
        },
        // Only the tracers of sections have ends.
        UNNAMED if ends.is_none() => return None,
        "preemptirqsoff" | UNNAMED => {
            let mut lines = cpus.clone().flat_map(|(_, cpu)| &cpu.traced).peekable();
            let is_known = lines.peek().is_some();
            let irqs_off = is_known && lines.all(|line| line.flags.and_then(|flags| flags.irqs_off) == Some(true));
            match seen.and_then(|seen| seen.first) {
                Some((true, false)) if tracer != UNNAMED => "interrupts off",
                Some((false, true)) if tracer != UNNAMED => "preemption off",
                _ if irqs_off => "interrupts off",
                _ => "interrupts or preemption off",
            }
        }
        // All tracers of the -rt patches of 2.6 have this name. A section that a program marks has no functions at its
        // ends.
        "preemption" if header.is_wakeup() == Some(false) && ends.is_some() => "interrupts or preemption off",
        "preemption" => "a latency",
        _ => return None,
    };
    let (latency, cpu) = figure(header)?;
    // Interrupts stay off from its entry to its exit, so it is the only one in the section.
    let interrupt =
        ends.filter(|(from, to)| what == "interrupts off" && functions::enters(from) && functions::leaves(to));
    let steps_ns = machine.and_then(|machine| machine.clock.step()).filter(|step| latency.is_multiple_of(*step));
    let inside = cpus.clone().fold((0, 0), |(hard, soft), (_, cpu)| (hard + cpu.in_hard, soft + cpu.in_soft));
    let inside = match inside {
        _ if steps_ns.is_some() || interrupt.is_some() => String::new(),
        (hard, _) if hard > latency / 2 => format!(", {} of it in interrupts", Nanos(hard.min(latency))),
        (_, soft) if soft > latency / 2 => format!(", {} of it in softirqs", Nanos(soft.min(latency))),
        _ => cpus.clone().find_map(|(_, cpu)| interrupts::shares(cpu, latency)).unwrap_or_default(),
    };
    let restarted = seen.is_some_and(|seen| seen.restarted);
    let hole = cpus
        .clone()
        .find_map(|(_, cpu)| holes::hole(cpu, latency, None))
        .filter(|_| steps_ns.is_none() && omitted.is_none());
    let place = cpus
        .clone()
        .find_map(|(_, cpu)| place(cpu, header, latency, restarted, omitted))
        .filter(|_| steps_ns.is_none());
    let place = place.map(|place| format!(", {place}")).unwrap_or_default();
    let of_idle = ends.map(|(from, to)| (from.contains("idle"), to.contains("idle")));
    let in_idle = header.tid == Some(0) && of_idle == Some((true, true));
    let idle = match (header.tid, of_idle) {
        (Some(0), Some((true, _) | (_, true))) => match cpus.clone().all(|(_, cpu)| wanted(cpu)) {
            true => ": the way into or out of an idle state, with a reschedule requested in all lines",
            false => ": the way into or out of an idle state",
        },
        // Preemption is enabled again by the thread that is switched to.
        (_, Some((true, _))) => {
            ": it began in the idle loop, so most of it is most likely idle time, and the thread to which the CPU was switched is not responsible"
        }
        _ => "",
    };
    let is_spin = ends.is_some_and(|(from, to)| functions::spins(from) && functions::spins(to));
    let ends = ends.map(|(from, to)| format!(", from {from} to {to}")).unwrap_or_default();
    let stack = seen.map(|seen| called(&seen.stack, header, interrupt.is_some())).unwrap_or_default();
    let (length, who) = (Nanos(latency), who(header));
    let marks = machine.is_some_and(has_marks);
    let waits =
        cpus.clone().any(|(_, cpu)| functions::longest(cpu, latency).is_some_and(|(line, _)| functions::is_idle(line)));
    // A wakeup latency has the same header, which names the woken thread (kernel/latency_trace.c of the -rt patches,
    // check_wakeup_timing).
    let text = match (what, steps_ns) {
        ("a latency", None) if let Some(waited) = woken_at_end => format!(
            "{tracer}: {} for most of {length}{cpu}{inside}{place}; {who} was woken only then, and had the CPU {} later",
            if waits { "in the idle loop" } else { "interrupts or preemption off" },
            Nanos(waited)
        ),
        ("a latency", _) if marks => format!(
            "{tracer}: {length}{cpu} between two marks that a program set (prctl, user_trace_start and user_trace_stop): this is the length of that span, not how late {who} was"
        ),
        // All entries are present, but do not cover that time.
        ("a latency", None)
            if latency >= IMPLAUSIBLE && header.entries.is_some_and(|(shown, all)| shown == all && all <= 2) =>
        {
            format!(
                "{tracer}: the header says {length} of {who}{cpu}, but the trace has {}: the value is doubtful",
                header.entries.map_or_else(String::new, |(n, _)| if n == 1 {
                    "one line".into()
                } else {
                    format!("{n} lines")
                })
            )
        }
        ("a latency", None) if cpus.clone().any(|(_, cpu)| is_own(cpu, header, latency)) => format!(
            "{tracer}: interrupts or preemption off for {length}{cpu}{inside}{place}, while {who} was current in all lines; whom it delayed is not \
             recorded"
        ),
        ("a latency", None) if let Some(covered) = cpus.clone().find_map(|(_, cpu)| stopped(cpu, header, latency)) => {
            format!(
                "{tracer}: the header says that {who} was switched to {length} after it was woken{cpu}, but the lines cover only {} up to that switch: \
                 the wakeup lies before them, or the clocks of two CPUs differ",
                Nanos(covered)
            )
        }
        ("a latency", _) => format!(
            "{tracer}: {what} of {length}{cpu}{inside}{place}; {who} was woken so late, or had interrupts or preemption off so long: the header \
             does not say which, and no line here shows it being woken"
        ),
        (_, Some(step)) => format!(
            "{tracer}: {what}{cpu} while {who} was current{ends}, for an unknown time: the clock of this trace steps by {}, and the header's {length} consists of such steps (a clock of jiffies; the tracer needs a sched_clock of its own)",
            Nanos(step)
        ),
        _ if in_idle
            && cpus
                .clone()
                .any(|(_, cpu)| cpu.traced.front().is_some_and(|line| functions::is_entry(&line.function))) =>
        {
            format!(
                "{tracer}: {what} for {length}{cpu} in an interrupt that came in the idle loop{ends}; which one is not recorded (events irq and \
             irq_vectors)"
            )
        }
        // Functions in between belong to the way into or out of an idle state, not to the wait in it.
        _ if in_idle && (waits || cpus.clone().all(|(_, cpu)| cpu.traced.len() <= FEW)) => format!(
            "{tracer}: {what} for {length}{cpu} in the idle loop{ends}: the CPU waits there for an interrupt, which wakes it, so this is most likely idle time and delayed nobody"
        ),
        _ if tracer != "irqsoff" && is_spin => format!(
            "{tracer}: {what} for {length}{cpu}, while {who} spun for a lock that another thread held{ends}{stack}: the loop ends as soon as a reschedule is \
             requested, so it most likely delayed nobody; the holder is not recorded (lock:contention_begin, stacks of all threads)"
        ),
        _ if let Some(hole) = hole => {
            let first = first(cpus).filter(|first| *first > LATE);
            let first = first.map(|first| format!("; the first line is {} after the start, too", Nanos(first)));
            format!("{tracer}: {what} for {length}{cpu}, while {who} was current: {hole}{}", first.unwrap_or_default())
        }
        _ if let Some((from, to)) = interrupt => {
            let left_out = cpus
                .filter_map(|(_, cpu)| functions::left_out(cpu))
                .max()
                .filter(|gap| gap.saturating_mul(2) > latency);
            let left_out =
                left_out.map(|gap| format!("; the lines of {} of it are left out", Nanos(gap))).unwrap_or_default();
            format!(
                "{tracer}: {what} for {length}{cpu} in one interrupt, from its entry ({from}) to its exit ({to}), while {who} was \
                 current{place}{stack}{left_out}; whom it delayed is not recorded"
            )
        }
        _ => format!(
            "{tracer}: {what} for {length}{cpu}{inside}, while {who} was current{place}{ends}{idle}{stack}; whom it delayed is not recorded"
        ),
    };
    Some((latency, text))
}

/// Returns the time of the first line, which counts from the start of the section, ns.
fn first<'c>(cpus: impl Iterator<Item = (u32, &'c Cpu)>) -> Option<u64> {
    cpus.filter_map(|(_, cpu)| Some(cpu.traced.front()?.t)).min()
}

/// True if a program marked what was traced (prctl of the -rt patches of 2.6).
pub(super) fn has_marks(machine: &Machine) -> bool {
    let is_mark = |symbol: &Symbol| section::name(symbol).is_some_and(|name| name.starts_with("user_trace_st"));
    machine.cpus().any(|(_, cpu)| cpu.traced.iter().any(|line| is_mark(&line.function)))
}

/// Returns how many entries of the trace are missing.
pub(super) fn omitted(info: &TraceInfo) -> Option<&str> {
    info.notes.iter().find_map(|note| match &note.what {
        Damage::Omitted { text } if matches!(note.place, Place::Whole) => Some(text.as_str()),
        _ => None,
    })
}

/// Returns where most of a section was spent, or how little of it the lines cover.
fn place(cpu: &Cpu, header: &LatencyHeader, latency: u64, restarted: bool, omitted: Option<&str>) -> Option<String> {
    if let Some(lock) = functions::lock(cpu, header) {
        return Some(lock);
    }
    // Entries of that time may be among the missing ones.
    if let Some((missing, (line, next))) = omitted.zip(functions::longest(cpu, latency)) {
        let gap = Nanos(next.t - line.t);
        return Some(format!(
            "of which {gap} has no lines, where entries may be missing ({missing}), after the one {}",
            functions::last(line)?
        ));
    }
    let longest = cpu.sections.iter().max_by_key(|section| section.to - section.from);
    let longest = longest.filter(|section| (section.to - section.from) * 2 > latency);
    let longest = longest.map(|section| format!("most of it {}", section.place));
    let longest =
        longest.or_else(|| Some(format!("most of it {}", functions::last(functions::longest(cpu, latency)?.0)?)));
    longest.or_else(|| {
        let (covered, is_all) = functions::covered(cpu)?;
        if covered.saturating_mul(2) < latency {
            (is_all && cpu.traced.len() > FEW).then_some(())?;
            let of = functions::most(cpu, Whose::All, 0, cpu.traced.back()?.t).filter(|most| most.shown);
            let of = of.map(|most| format!("mostly {}", most.place)).or_else(|| functions::root(cpu));
            let of = of.map(|of| format!(", {of}{}", in_softirq(cpu))).unwrap_or_default();
            let lines = if restarted { "last lines" } else { "lines" };
            return Some(format!("of which the {lines} cover only {}{of}", Nanos(covered)));
        }
        match functions::most(cpu, Whose::All, 0, latency) {
            Some(most) => {
                Some(format!("{} {}", if most.shown { "most of it" } else { "most of it most likely" }, most.place))
            }
            None => gaps::gaps(cpu, latency),
        }
    })
}

/// Describes lines that are all of a softirq, and whether a reschedule is requested in all of them.
fn in_softirq(cpu: &Cpu) -> &'static str {
    match (cpu.traced.iter().all(|line| line.context() == Some(Context::Softirq)), wanted(cpu)) {
        (true, true) => " in a softirq, with a reschedule requested; record softirq_entry",
        (true, false) => " in a softirq; record softirq_entry",
        (false, true) => ", with a reschedule requested",
        (false, false) => "",
    }
}

/// True if the header's thread is current in all lines, and these cover the latency: it was not woken in that time.
fn is_own(cpu: &Cpu, header: &LatencyHeader, latency: u64) -> bool {
    const ROUNDING: u64 = 2_000;
    let own = header.tid.is_some() && cpu.traced.iter().all(|line| line.tid == header.tid);
    own && functions::covered(cpu).is_some_and(|(ns, _)| ns > 0 && ns.abs_diff(latency) <= ROUNDING)
}

/// Returns how much time the lines cover, ns, if they end where the measurement of a wakeup does, in the woken thread
/// (kernel/latency_trace.c of the -rt patches), and cover only part of it.
fn stopped(cpu: &Cpu, header: &LatencyHeader, latency: u64) -> Option<u64> {
    let last = cpu.traced.back()?;
    let names = [Some(&last.function), last.parent.as_ref()].into_iter().flatten().filter_map(section::name);
    let is_stop = names.into_iter().any(|name| name == "trace_stop_sched_switched");
    (is_stop && last.tid == header.tid).then_some(())?;
    functions::covered(cpu).map(|(ns, _)| ns).filter(|ns| ns.saturating_mul(2) < latency)
}

/// True if a reschedule is requested in all lines.
fn wanted(cpu: &Cpu) -> bool {
    let mut lines = cpu.traced.iter();
    !cpu.traced.is_empty() && lines.all(|line| line.flags.and_then(|flags| flags.wants_resched()) == Some(true))
}

/// Returns the callers of a section, according to the stack at its end; below an interrupt, what it interrupted.
fn called(stack: &[Symbol], header: &LatencyHeader, in_interrupt: bool) -> String {
    const MOST: usize = 4;
    let end = header.ended_at.as_deref().map(section::bare).unwrap_or_default();
    let names = stack.iter().filter_map(section::name).map(section::bare);
    let callers: Vec<String> = names.skip_while(|name| name.contains("trace") || *name == end).collect();
    let entry = callers.iter().position(|name| functions::enters(name)).filter(|_| in_interrupt);
    let callers: Vec<String> = callers.into_iter().take(entry.map_or(MOST, |at| MOST.min(at + 1))).collect();
    let how = if in_interrupt && entry.is_none() { "upon" } else { "called by" };
    if callers.is_empty() { String::new() } else { format!(", {how} {}", callers.join(" ← ")) }
}
