//! Describes a wakeup for most of which no cause is known: what the trace shows of that time, and what to record.

use super::super::label::Why;
use super::{BRIEF, LEFT_OUT, MONO, evidence, parts};
use punctual_model::{Cause, Class, Victim};
use punctual_units::Nanos;

/// `late`: which thread was late, where and by how much. `main`: the longest cause that is known.
pub(super) fn unknown(victim: &Victim, late: &str, main: Option<&Cause>) -> String {
    let idle = [Why::IdleAwake, Why::IdleWoken, Why::StoodOff, Why::LeftInterrupt].map(evidence);
    if let Some(idle) = victim.causes.first().filter(|cause| idle.contains(&cause.evidence.as_str())) {
        let ns = Nanos(idle.ns);
        let place = idle.place.as_ref().map(|place| format!(", most of it {place}")).unwrap_or_default();
        return match idle.ns {
            _ if idle.evidence == evidence(Why::StoodOff) => format!(
                "{late}: for {ns} of it the idle task was current with interrupts off{place}, and no interrupt is recorded there: the cause is what that function does, an NMI, firmware or the host of a guest"
            ),
            _ if idle.evidence == evidence(Why::LeftInterrupt) => format!(
                "{late}: the idle task was current for {ns} of it, and an interrupt ended there{place}: the rest of that interrupt, what \
                 follows it and the way out of the idle loop; no line shows which of them took long"
            ),
            ..BRIEF => format!(
                "{late}: the CPU was awake, and the end of the interrupt that woke the thread and the way out of the idle loop took {ns} of it"
            ),
            _ if idle.evidence == evidence(Why::IdleWoken) => format!(
                "{late}: the idle task stayed current for {ns} of it although this CPU itself had woken the thread{place}, for an unknown reason — \
                 an interrupt that is not recorded, or the idle loop (an idle state entered in spite of it, firmware)"
            ),
            _ => format!(
                "{late}: the idle task was current for {ns} of it on a CPU that was awake{place}, for an unknown reason — an interrupt that is not \
                 recorded, or the idle loop itself"
            ),
        };
    }
    if let Some(thread) = victim.causes.first().filter(|cause| cause.evidence == super::super::rtla::UNNAMED) {
        let ns = Nanos(thread.ns);
        return format!(
            "{late}: a thread ran for {ns} of it, by rtla's \"Blocking thread\" — the next line of rtla names it"
        );
    }
    let current = victim.causes.first().filter(|cause| cause.class == Class::Unaccounted && cause.tid.is_some());
    if let Some(cause) = current {
        let who = cause.scheduled.thread(cause.comm.as_deref(), cause.tid);
        let ns = Nanos(cause.ns);
        if cause.evidence == evidence(Why::RestOfInterrupt) {
            return format!(
                "{late}: {who} was current for {ns} of it, in the interrupt that was running or after it with preemption off: no event shows \
                 where that ended — record irq and irq_vectors"
            );
        }
        if cause.evidence == evidence(Why::Unseen) {
            return format!(
                "{late}: {who} was current at the last line{}; what ran in the rest of that time is not in these lines",
                cause.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default()
            );
        }
        if cause.evidence == evidence(Why::AtEnd) {
            return format!(
                "{late}: {who} had the CPU at the end of it; no line shows since when, or what ran there before{} — record sched_switch of all CPUs",
                cause.place.as_ref().map(|place| format!("; {place}")).unwrap_or_default()
            );
        }
        if cause.evidence == evidence(Why::WayOut) {
            return format!(
                "{late}: {who} was current for {ns} of it, between the end of an interrupt and the switch (the way out of it, softirqs, the \
                 scheduler); the lines have no flags, so whether interrupts or preemption were off there is not known"
            );
        }
        if cause.evidence == evidence(Why::Entered) {
            return format!(
                "{late}: {who} was on its way to give up the CPU for most of it: {}, so preemption was not off that long",
                cause.place.as_deref().unwrap_or_default()
            );
        }
        if cause.evidence == evidence(Why::Preemptible) {
            return format!(
                "{late}: {who} kept the CPU for {ns} of it although it could be preempted and no reschedule was requested, according to the flags of its \
                 lines{}: why the scheduler asked for none is not in the trace",
                cause.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default()
            );
        }
        return match cause.scheduled.policy {
            None => format!(
                "{late}: {who} was current for {ns} of it, with unknown priority — record sched_switch from before it"
            ),
            Some(_) => format!(
                "{late}: {who} was current for {ns} of it, for an unknown reason — record sched_switch from before it"
            ),
        };
    }
    if let Some(cause) = victim.causes.first().filter(|cause| cause.evidence == evidence(Why::Tracer)) {
        return format!(
            "{late}: for {} of it {} — this is the tracer's own time (trace_options stacktrace, or a trigger that records stacks)",
            Nanos(cause.ns),
            cause.place.as_deref().unwrap_or_default()
        );
    }
    if let Some(cause) = victim.causes.first().filter(|cause| cause.evidence == evidence(Why::TracerLines)) {
        return format!(
            "{late}: for {} of it the lines are missing; suspected: the function tracer itself, since {} — supply the complete trace, and measure without it (echo 0 > \
             /sys/kernel/tracing/options/function-trace)",
            Nanos(cause.ns),
            cause.place.as_deref().unwrap_or_default()
        );
    }
    if let Some(cause) = victim.causes.first().filter(|cause| cause.evidence == evidence(Why::IdleAtEnd)) {
        return format!(
            "{late}: the idle task had the CPU at the end of it; no line shows since when, or what ran there before{} — record sched_switch of all CPUs",
            cause.place.as_ref().map(|place| format!("; {place}")).unwrap_or_default()
        );
    }
    if victim.causes.first().is_some_and(|cause| cause.evidence == evidence(Why::WithoutCpu)) {
        return format!(
            "{late}: what ran on its CPU meanwhile is unknown, because the lines do not say on which CPU events were"
        );
    }
    let mut unknown = format!("{late}: for {} of it the trace shows no cause", Nanos(victim.unaccounted_ns));
    if let Some(cause) = main.filter(|cause| cause.share >= 0.1) {
        let (parts, guess) = parts(victim, cause);
        unknown += &format!("; {guess}{parts}");
    }
    let clock = victim.doubts.iter().find(|doubt| doubt.contains("clock has a resolution"));
    let starts = [super::super::tracers::INCOMPLETE, LEFT_OUT];
    let incomplete = victim.doubts.iter().any(|doubt| starts.iter().any(|start| doubt.starts_with(start)));
    match clock {
        Some(clock) => format!("{unknown} — {clock}: {MONO}"),
        None if incomplete => format!("{unknown} — lines are missing here: supply the complete trace"),
        None => format!("{unknown} — record sched_switch, sched_waking, hrtimer and irq events of all CPUs"),
    }
}
