use punctual_model::{Cause, Class, Explained, Recording, Timeline, Victim};
use punctual_units::Nanos;

pub(crate) fn class(class: Class) -> &'static str {
    match class {
        Class::HigherPriority => "higher priority",
        Class::SamePriority => "same priority",
        Class::FairServer => "fair server",
        Class::RtThrottling => "real-time throttling",
        Class::DeadlineBudget => "its own SCHED_DEADLINE budget",
        Class::Irq => "interrupt",
        Class::Softirq => "softirq",
        Class::IrqsDisabled => "interrupts off",
        Class::PreemptionDisabled => "preemption off",
        Class::Steal => "hypervisor",
        Class::MachineStall => "whole machine stalled",
        Class::IdleExit => "leaving idle",
        Class::Migration => "migration",
        Class::PriorityInversion => "priority inversion",
        Class::ReturnToUser => "return to user space",
        Class::Waker => "wakeup in progress",
        Class::BeforeWaker => "ran before its waker",
        Class::Unaccounted => "no known cause",
    }
}

/// Returns the culprit that a cause names; its class if it names none.
pub(crate) fn culprit(cause: &Cause) -> String {
    match (cause.tid, &cause.comm, &cause.what) {
        (None, None, Some(what)) => what.clone(),
        (None, None, None) => class(cause.class).to_owned(),
        (tid, comm, _) => cause.scheduled.thread(comm.as_deref(), tid),
    }
}

pub(crate) fn victim(victim: &Victim) -> String {
    victim.scheduled.thread(victim.comm.as_deref(), victim.tid)
}

/// Returns notes below a picture: what was merged or omitted, and what the trace lacks.
pub(crate) fn picture_notes(timeline: &Timeline) -> Vec<String> {
    let joined = timeline.lanes.iter().filter(|lane| lane.joined > 0);
    let mut notes: Vec<String> = joined
        .map(|lane| {
            let many = crate::number::plural(lane.joined, "span", "spans");
            format!("CPU {}: {many} too short to be visible, merged with the next.", lane.cpu)
        })
        .collect();
    match timeline.cpus_left_out {
        0 => {}
        1 => notes.push("One more CPU is not shown.".to_owned()),
        n => notes.push(format!("{n} more CPUs are not shown.")),
    }
    notes.extend(timeline.notes.iter().map(|note| super::stopped(&super::capital(note))));
    notes
}

pub(crate) fn moments(timeline: &Timeline) -> Vec<(&'static str, u64, &'static str)> {
    let moments = &timeline.moments;
    // A thread that another thread releases has no timer. The timer is also unknown if its start is not in the trace.
    let t0 = match moments.t1_ns {
        Some(_) => "due: its timer expires",
        None if moments.t0_ns == moments.t2_ns => "due: woken",
        None => "due: its release",
    };
    let mut all = vec![("T0", moments.t0_ns, t0)];
    all.extend(moments.t1_ns.map(|t1| ("T1", t1, "its timer is handled")));
    all.push(("T2", moments.t2_ns, "it is woken (sched_waking)"));
    all.push(("T3", moments.t3_ns, "it gets the CPU (sched_switch)"));
    all.extend(moments.t4_ns.map(|t4| ("T4", t4, "it reads its clock, back in user space")));
    all
}

/// Describes the picture in sentences, for those who cannot see it.
pub(crate) fn described(victim: &Victim, timeline: &Timeline) -> String {
    let moments = &timeline.moments;
    let after = |t: u64| Nanos(t.saturating_sub(moments.t0_ns));
    let mut text = format!(
        "{} was due on {} at T0, was woken {} later (T2) and ran {} after T0 (T3).",
        self::victim(victim),
        victim.place(),
        after(moments.t2_ns),
        after(moments.t3_ns)
    );
    let named: Vec<String> = victim.causes.iter().take(4).map(part).collect();
    if !named.is_empty() {
        text += &format!(" Of the delay: {}.", super::and(&named));
    }
    text
}

/// Formats a cause: `multipathd (RR 99, pid 195) 33.2 ms (97 %, higher priority)`.
fn part(cause: &Cause) -> String {
    let (ns, share) = (Nanos(cause.ns), crate::number::percent(cause.share));
    let (who, class) = (culprit(cause), class(cause.class));
    if who == class { format!("{who} {ns} ({share})") } else { format!("{who} {ns} ({share}, {class})") }
}

/// Returns, without a trace, what counters suggest about the worst wakeup, if anything.
pub(crate) fn suspected(recording: &Recording) -> Option<String> {
    let first = recording.worst.first()?.suspicions.first()?;
    Some(format!("suspected, for the worst wakeup: {}", super::stopped(&first.text)))
}

pub(crate) fn explained(recording: &Recording, explained: &Explained) -> String {
    let under = super::capital(&super::under(recording, &explained.phase));
    format!("{under}: {}", super::stopped(&explained.victim.verdict))
}
