mod advice;
mod unknown;

use super::cpu::{Doubtful, Odd};
use super::inside::UNNAMED;
use super::label::{What, Why};
use super::machine::Machine;
use super::rtla::OWN;
use advice::advice;
use punctual_model::{Cause, Class, Confidence, CulpritGroup as Group, Cycle, Scheduled, Victim};
use punctual_units::Nanos;
use unknown::unknown;

/// Maximum duration of an ordinary switch, ns.
pub(super) const SWITCH: u64 = 10_000;
/// Maximum duration of the end of an interrupt and the way out of the idle loop, ns.
const BRIEF: u64 = 20_000;

/// Evidence for kernels with preempt=none or voluntary.
pub(super) const UNPREEMPTED: &str = "the kernel preempts none of its own code (M:";
const LEFT_OUT: &str = "the text leaves out lines";
const MONO: &str = "record with another clock (echo mono > /sys/kernel/tracing/trace_clock)";

/// Describes a latency whose trace clock is too coarse; `step` in ns.
pub(super) fn unmeasured(victim: &Victim, step: u64) -> String {
    let tells = victim.causes.first().filter(|cause| cause.tid.is_some());
    let current = tells.map(|cause| cause.scheduled.thread(cause.comm.as_deref(), cause.tid));
    let current = current.map(|who| format!("; {who} was current")).unwrap_or_default();
    format!(
        "{}: not measurable, since the trace's clock has a resolution of {}{current} — {MONO}",
        late(victim),
        Nanos(step)
    )
}

/// Reports a header whose latency exceeds the time that the lines cover.
pub(super) fn longer(header: u64, lines: u64) -> Option<String> {
    let is_longer = header > lines.saturating_add(lines / 10).saturating_add(SWITCH);
    is_longer.then(|| format!("the header says {}, and the lines show {} of it", Nanos(header), Nanos(lines)))
}

/// Formats which thread was late, where and by how much.
fn late(victim: &Victim) -> String {
    let latency = Nanos(victim.latency_ns);
    // Threads of this program, and those of a tracer whose name contains the CPU, are not named.
    let whose = victim.tid.filter(|_| !victim.comm.as_deref().is_some_and(|comm| comm.starts_with("measure/")));
    let whose = whose.map(|tid| victim.scheduled.thread(victim.comm.as_deref(), Some(tid)));
    match (whose, victim.cpu) {
        (Some(who), Some(cpu)) => format!("{who} on CPU {cpu}, {latency} late"),
        (None, Some(cpu)) => format!("CPU{cpu} {latency} late"),
        (Some(who), None) => format!("{who}, {latency} late"),
        (None, None) => format!("{latency} late, CPU unknown"),
    }
}

pub(super) fn verdict(victim: &Victim) -> String {
    let late = late(victim);
    if victim.latency_ns == 0 {
        let who = victim.scheduled.thread(victim.comm.as_deref(), victim.tid);
        let cpu = victim.cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
        return format!(
            "{who}{cpu}: woken and switched to within one step of the trace's clock, so its latency is unknown"
        );
    }
    let ordinary = [Class::PreemptionDisabled, Class::IdleExit, Class::Unaccounted];
    if victim.latency_ns <= SWITCH && victim.causes.first().is_none_or(|cause| ordinary.contains(&cause.class)) {
        let before = victim.chain.first().map(|link| format!("; {}", link.text())).unwrap_or_default();
        return format!("{late}: no longer than an ordinary switch takes{before}");
    }
    if let Some(text) = on_idle(victim) {
        return format!("{late}: {text}");
    }
    let main = victim.causes.iter().find(|c| c.class != Class::Unaccounted);
    let Some(cause) = main.filter(|c| c.ns >= victim.unaccounted_ns) else {
        return unknown(victim, &late, main);
    };
    let (parts, guess) = parts(victim, cause);
    format!("{late}: {guess}{parts} — {}", advice(cause, victim.cpu))
}

/// Describes a wakeup on an idle CPU that took no longer than usual.
fn on_idle(victim: &Victim) -> Option<String> {
    let usual = |cause: &Cause| {
        cause.class == Class::IdleExit || cause.evidence == evidence(Why::InCall) || cause.ns <= SWITCH / 2
    };
    let idle = victim.causes.iter().any(|cause| cause.class == Class::IdleExit);
    (victim.latency_ns <= BRIEF && idle && victim.causes.iter().all(usual)).then_some(())?;
    let call = victim.causes.iter().find(|cause| cause.evidence == evidence(Why::InCall));
    let call = call.map(|cause| format!("; {}", happened(cause, &format!("{} of it", Nanos(cause.ns)))));
    let before = victim.chain.first().map(|link| format!("; {}", link.text())).unwrap_or_default();
    Some(format!("no longer than the wakeup of an idle CPU usually takes{}{before}", call.unwrap_or_default()))
}

/// Formats the main cause, and further causes if the main one is not most of the latency.
fn parts(victim: &Victim, main: &Cause) -> (String, &'static str) {
    const MOST: usize = 3;
    const LEAST: f64 = 0.1;
    let mut parts: Vec<String> = Vec::new();
    let (mut share, mut guess) = (0.0, "");
    let others = victim.causes.iter().filter(|cause| cause.class != Class::Unaccounted && !std::ptr::eq(*cause, main));
    for cause in std::iter::once(main).chain(others.filter(|cause| cause.share >= LEAST)).take(MOST) {
        if share >= 0.5 {
            break;
        }
        share += cause.share;
        guess = if cause.confidence == Confidence::Suspected { "suspected: " } else { guess };
        parts.push(happened(cause, &format!("{} of it ({:.0} %)", Nanos(cause.ns), cause.share * 100.0)));
    }
    (parts.join("; "), guess)
}

pub(super) fn happened(cause: &Cause, part: &str) -> String {
    let who = cause.scheduled.thread(cause.comm.as_deref(), cause.tid);
    let what = cause.what.as_deref().unwrap_or("interrupts");
    let place = cause.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default();
    match (cause.class, cause.tid) {
        (Class::HigherPriority, _) if cause.scheduled.policy.is_none() => {
            format!("{who} ran {part}, because of its priority or with preemption off")
        }
        (Class::HigherPriority, _) => format!("{who} ran {part}{place}"),
        (Class::SamePriority, _) if cause.scheduled.policy.as_deref() == Some("DEADLINE") => {
            format!("{who}, whose deadline was earlier (EDF), ran {part}")
        }
        (Class::SamePriority, _) if cause.scheduled.policy.as_deref() == Some("OTHER") => {
            format!("{who}, also a SCHED_OTHER thread, ran {part}")
        }
        (Class::SamePriority, _) => format!("{who}, of the same priority, ran {part}"),
        (Class::FairServer, Some(_)) if cause.confidence == Confidence::Suspected => {
            format!("the fair server (before 6.12, or with RT groups, real-time throttling) ran {who} for {part}")
        }
        (Class::FairServer, Some(_)) => format!("the fair server ran {who} for {part}"),
        (Class::FairServer, None) => format!("the fair server kept the CPU for {part}"),
        (Class::RtThrottling, Some(_)) => format!("real-time throttling let {who} run {part}"),
        (Class::RtThrottling, None) => format!("real-time throttling left the CPU idle for {part}"),
        (Class::DeadlineBudget, _) => {
            format!("its own SCHED_DEADLINE budget was used up, and it waited {part} for more")
        }
        (Class::Irq | Class::Softirq, Some(_)) => format!("{who}, an interrupt thread, ran {part}"),
        (Class::Irq, None) if what == OWN => format!("{what} interrupt took {part}"),
        (Class::Irq, None) if what == UNNAMED => format!("an interrupt took {part}{place}"),
        (Class::Irq, None) => format!("interrupt {what} took {part}{place}"),
        (Class::Softirq, None) if what == UNNAMED => format!("a softirq took {part}{place}"),
        (Class::Softirq, None) => format!("softirq {what} took {part}{place}"),
        (Class::IrqsDisabled, Some(_)) => format!("{who} kept interrupts off for {part}{place}"),
        (Class::IrqsDisabled, None) => {
            // An interrupt is taken in a function that has interrupts on, or has just enabled them.
            let inside = |place: &str| place.contains(" was in ") && !place.ends_with("user space");
            let stalled = match cause.place.as_deref().is_some_and(inside) {
                true => "interrupts off, or the CPU stalled there (access to registers of a device, firmware)",
                false => "interrupts off, or the CPU stalled",
            };
            format!("the timer interrupt came late by {part}{place}: {stalled}")
        }
        (Class::PreemptionDisabled, _) => format!("{who} could not be preempted for {part}{place}"),
        (Class::Steal, _) => format!("the hypervisor ran something else for {part}, no task is responsible"),
        (Class::MachineStall, _) => format!("the whole machine stalled for {part}, no task is responsible"),
        (Class::IdleExit, _) if cause.evidence == evidence(Why::IdleAtEnd) => format!(
            "leaving idle took {part}, or the interrupt that ends it came late (the idle task had the CPU at the switch, and no line shows it before)"
        ),
        (Class::IdleExit, _) if cause.evidence == evidence(Why::Idle) && cause.confidence == Confidence::Suspected => {
            format!("leaving idle took {part}, or the interrupt that ends it came late, or the CPU did not run")
        }
        (Class::IdleExit, _) if cause.confidence == Confidence::Suspected => {
            format!("leaving idle took {part}, or the CPU did not run")
        }
        (Class::IdleExit, _) => format!("leaving idle took {part}"),
        (Class::Migration, _) if cause.evidence == evidence(Why::Ipi) => {
            format!("the interrupt by which another CPU woke it took {part}")
        }
        (Class::Migration, _) => format!("moving it to this CPU took {part}"),
        (Class::PriorityInversion, _) => {
            format!("{who} held a lock that a more urgent thread wants, and ran {part}{place}")
        }
        (Class::ReturnToUser, _) => format!("it had the CPU, but was not back in user space for {part}"),
        (Class::Waker, Some(_)) if cause.evidence == evidence(Why::InCall) => {
            format!("{who}, which woke it, took {part} to queue it (from sched_waking to sched_wakeup)")
        }
        (Class::Waker, Some(_)) => format!("{who} was on its way to wake it for {part}"),
        (Class::Waker, None) => format!("its wakeup was in progress for {part}"),
        (Class::BeforeWaker, _) => format!("{who} ran {part} before the thread that had to wake it"),
        (Class::Unaccounted, _) => format!("no cause for {part}"),
    }
}

/// True for the timer of the CPU itself: `local_timer`, Arm's `arch_timer`, RISC-V's `riscv-timer`, powerpc's
/// `timer_interrupt`, "i.MX Timer Tick", `hpet2`.
fn is_timer(what: &str) -> bool {
    let what = what.to_ascii_lowercase();
    what.contains("timer") || what.contains("hpet")
}

/// True for the stopper; the latency format truncates names to 8 characters.
pub(super) fn is_stopper(comm: &str) -> bool {
    comm.starts_with("migration/") || comm == "migratio"
}

/// True for interrupts sent by other CPUs; irq_work is also raised by the CPU itself.
pub(super) fn is_ipi(what: &str) -> bool {
    let names = ["call_function", "reschedule", "Function call", "Rescheduling", "IPI"];
    names.iter().any(|name| what.contains(name))
}

/// Reports why events of a CPU are doubtful, and where.
pub(super) fn odd(cpu: u32, odd: Doubtful) -> String {
    let what = match odd.what {
        Odd::Lost => return format!("events of CPU {cpu} were lost"),
        Odd::LeftOut => return format!("{LEFT_OUT} of CPU {cpu}"),
        Odd::Current => "another thread was current there, according to the preceding events",
        Odd::Nested => "an interrupt ends before other interrupts nested in it have ended",
        Odd::Exit => "an interrupt or softirq ends although none had begun",
        Odd::Entry => "a thread runs there although an earlier interrupt has not ended",
        Odd::Switch => "according to the flags, a thread is switched in an interrupt",
        Odd::Calm => {
            "according to the flags, neither interrupts nor preemption were off and no reschedule was requested, though the thread waited for the CPU"
        }
    };
    let place = odd.line.map(|line| format!("line {line}, ")).unwrap_or_default();
    format!("inconsistent events ({place}CPU {cpu}): {what}")
}

/// Describes how a cycle spent its time, and the largest delay in it.
pub(super) fn cycle(cycle: &Cycle) -> String {
    format!("CPU{} cycle of {}: {}", cycle.cpu, Nanos(cycle.length_ns), spent(cycle))
}

/// Names the cycle with which a backlog began, for the sentence of a cycle that began late because of it.
pub(super) fn backlog(first: &Cycle) -> String {
    format!("; the backlog began with a cycle of {}: {}", Nanos(first.length_ns), spent(first))
}

/// Says how the time of a cycle was spent. What took less than 1 % of it does not explain its length.
fn spent(cycle: &Cycle) -> String {
    let percent = |ns: u64| ns as f64 * 100.0 / cycle.length_ns.max(1) as f64;
    let mut text = match cycle.behind_ns {
        0 => String::new(),
        ns => {
            let part = percent(ns);
            format!("began {} late ({part:.0} %), because the previous cycle had not ended; ", Nanos(ns))
        }
    };
    text += &format!("ran {} ({:.0} %)", Nanos(cycle.ran_ns), percent(cycle.ran_ns));
    if let Some(cause) = cycle.delays.first().filter(|cause| cause.share >= 0.01) {
        let part = format!("{} ({:.0} %)", Nanos(cause.ns), cause.share * 100.0);
        text += &format!("; {}", happened(cause, &part));
    }
    let longest = cycle.blocked.iter().max_by_key(|blocked| blocked.ns);
    if let Some(blocked) = longest.filter(|blocked| percent(blocked.ns) >= 1.0) {
        let who = match blocked.woken_by {
            Some(tid) => Scheduled::default().thread(blocked.comm.as_deref(), Some(tid)),
            None => "an interrupt".to_owned(),
        };
        text += &match &blocked.lock {
            Some(lock) => format!("; waited {} for {lock}", Nanos(blocked.ns)),
            None => format!("; blocked {} until {who} woke it", Nanos(blocked.ns)),
        };
        if blocked.inverted == Some(true) {
            text += match blocked.lock {
                Some(_) => ", a thread of lower priority: a priority inversion",
                None => ", a thread of lower priority: if that thread held a lock, a priority inversion",
            };
        }
    }
    text
}

pub(super) fn evidence(why: Why) -> &'static str {
    match why {
        Why::Ran => "it was current, with this priority",
        Why::Around => "it was current before and after the part of the trace that is missing",
        Why::Changed => "it was current; its priority changed in the meantime, and this is the more urgent of the two",
        Why::Boosted => "it was current, with a priority from sched_pi_setprio",
        Why::Nested => "entry and exit events",
        Why::ByFlags => "the events before and after it were recorded in one interrupt, according to their flags",
        Why::RestOfInterrupt => "it was current; an interrupt had begun there, and no event shows its end",
        Why::WayOut => "it was current from the end of an interrupt to the switch; the trace has no flags",
        Why::Entered => "it was current, and had entered schedule() by then",
        Why::TracerLines => "lines are missing; by their number, the function tracer took that time",
        Why::Tracer => "the tracer recorded a stack meanwhile",
        Why::AtEnd => "it had the CPU at the end; what ran there before is not in the trace",
        Why::Pulled => {
            "its last line, with need-resched set, comes before the gap, and then another CPU took the thread over"
        }
        Why::IdleAtEnd => "the idle task had the CPU at the end; what ran there before is not in the trace",
        Why::WithoutCpu => "the lines do not say on which CPU events were",
        Why::Unseen => "it was current at the last line, which comes before most of the delay",
        Why::Cut => "the lines end in a softirq, before the thread ran",
        Why::LeftOut => "lines are left out there, and a softirq ran before and after them",
        Why::SilentInside => {
            "nothing was recorded there for 0.5 ms or more: a hypervisor or firmware may have stopped the CPU"
        }
        Why::Late => "the interrupt of a due timer did not arrive; nothing shows whether interrupts were off",
        Why::LateOthersRan => {
            "the interrupt of a due timer did not arrive, the task was charged for that time, and other CPUs continued"
        }
        Why::OffEvents => "irq_disable or preempt_disable events",
        Why::Released => "the timer's interrupt arrived late, right after an instruction there that enables interrupts",
        Why::UserCode => "the timer's interrupt arrived late while user code ran, which cannot disable interrupts",
        Why::Preempted => "it lost the CPU where preemption was enabled again, according to the stack at sched_switch",
        Why::OffFlags => "the flags of the functions before and after show interrupts off",
        Why::Edf => "it was current and uses SCHED_DEADLINE too; deadlines are not in the trace",
        Why::Replenished => "its budget's timer (dl_task_timer) expired, and then it ran",
        Why::NeedResched => "a thread of lower priority stayed current with need-resched set",
        Why::NoFlags => "a thread of lower priority stayed current; the trace has no need-resched flag for it",
        Why::NotPicked => "the scheduler ran and chose a thread of lower priority",
        Why::TicksOnly => "a thread of lower priority ran on through interrupts; the trace has no flags",
        Why::AllSilent => "all CPUs were silent although timers were due on several",
        Why::RuntimeShort => "sched_stat_runtime charged much less than the time that passed",
        Why::Idle => "the idle task was current",
        Why::IdleState => "the CPU was in an idle state, according to cpu_idle events",
        Why::IdleAwake => "the idle task was current on a CPU that was awake: its delay is not traced",
        Why::IdleWoken => "the idle task was current after this CPU had woken the thread: its delay is not traced",
        Why::StoodOff => "the idle task was current; the flags of the functions before and after show interrupts off",
        Why::LeftInterrupt => {
            "the idle task was current; an interrupt or softirq ended in between, according to the flags"
        }
        Why::Preemptible => {
            "it was current; according to the flags of most of its lines, preemption is on and no reschedule is requested"
        }
        Why::IdleRunnable => "the idle task was current while the thread was runnable; nothing shows why",
        Why::Moved => "sched_migrate_task after the thread was queued",
        Why::Ipi => "another CPU woke it, and the interrupt that it sent arrived only at the end of this time",
        Why::Pending => "the timer's softirq was pending",
        Why::Itself => "the thread itself was still running",
        Why::Returning => "it was current between sched_switch and its own clock reading",
        Why::InCall => "sched_waking and sched_wakeup on the waker's CPU: until then its own CPU was not told",
        Why::Waking => "it was current, in the call that woke the thread",
        Why::OnItsWay => "released, but sched_waking had not occurred; nothing shows what delayed it",
        Why::BeforeWaker => "it was current, and the thread that did the waking has a lower priority",
        Why::NoPrio => "it was current, and its priority at that time is unknown",
        Why::Learned => "it was current; its priority is known from a later event",
        Why::NotTraced => "the trace does not show what the CPU did",
    }
}

pub(super) fn group(group: &Group) -> String {
    let name = match (&group.comm, &group.what, group.tid) {
        (Some(comm), _, Some(tid)) => format!("{comm} (pid {tid})"),
        (_, Some(what), _) => what.clone(),
        (None, None, Some(tid)) => format!("pid {tid}"),
        _ => plain(group.class).to_owned(),
    };
    let every = group.every_ns.map(|ns| format!(", every ~{}", rough(ns))).unwrap_or_default();
    let times = if group.wakeups == 1 { "once" } else { &format!("{} times", group.wakeups) };
    format!("{name}: {times}{every}, worst {}", Nanos(group.worst_ns))
}

/// Rounds a period to two digits.
fn rough(ns: u64) -> String {
    match ns {
        0..10_000_000 => Nanos(ns).to_string(),
        10_000_000..950_000_000 => format!("{} ms", (ns as f64 / 1e7).round() * 10.0),
        _ => format!("{} s", (ns as f64 / 1e8).round() / 10.0),
    }
}

pub(super) fn plain(class: Class) -> &'static str {
    match class {
        Class::HigherPriority => "a thread of higher priority",
        Class::SamePriority => "a thread of the same priority",
        Class::FairServer => "the fair server",
        Class::RtThrottling => "real-time throttling",
        Class::DeadlineBudget => "its own SCHED_DEADLINE budget",
        Class::Irq => "interrupts",
        Class::Softirq => "softirqs",
        Class::IrqsDisabled => "interrupts off",
        Class::PreemptionDisabled => "preemption off",
        Class::Steal => "the hypervisor",
        Class::MachineStall => "a stall of the whole machine",
        Class::IdleExit => "leaving idle",
        Class::Migration => "migration",
        Class::PriorityInversion => "priority inversion",
        Class::ReturnToUser => "its return to user space",
        Class::Waker => "what wakes it",
        Class::BeforeWaker => "threads that ran before its waker",
        Class::Unaccounted => "no known cause",
    }
}

pub(super) fn busy(machine: &Machine, what: What) -> String {
    match what {
        What::Interrupt(index) => machine.name(index).to_owned(),
        What::Softirq(vec) => softirq(vec),
        What::Nmi => "NMI".to_owned(),
    }
}

/// Names a softirq by number, include/linux/interrupt.h.
pub(super) fn softirq(vec: u32) -> String {
    const NAMES: [&str; 10] =
        ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
    if vec == super::inside::SOFTIRQ {
        return UNNAMED.to_owned();
    }
    NAMES.get(vec as usize).map_or_else(|| format!("softirq {vec}"), |name| (*name).to_owned())
}
