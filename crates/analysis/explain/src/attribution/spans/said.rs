//! Sentences of [`super::Spans`].

use super::{Actor, FRAMES, On, Out, Who};
use crate::attribution::options::ExplainOptions;
use crate::attribution::{choose, section, sentences};
use punctual_model::Scheduled;
use punctual_trace::{Comm, Context, Event, Symbol, Task};
use punctual_units::Nanos;

pub(super) fn comm_of(comm: Option<Comm>) -> Option<String> {
    comm.map(|comm| comm.to_string())
}

pub(super) fn named((comm, tid): Who) -> String {
    match tid {
        Some(0) => "the idle task".to_owned(),
        _ => Scheduled::default().thread(comm_of(comm).as_deref(), tid),
    }
}

/// Formats who acts at an event: the thread, or an interrupt or softirq on top of it, which does not act on behalf of
/// the thread.
pub(super) fn acting((who, context): Actor) -> String {
    let upon = match context {
        Some(Context::Softirq) => "a softirq upon ",
        Some(context) if context.is_hard() => "an interrupt upon ",
        _ => "",
    };
    format!("{upon}{}", named(who))
}

pub(super) fn who(options: &ExplainOptions, task: &Task) -> String {
    match task.tid {
        0 => "the idle task".to_owned(),
        tid => choose::scheduled(&options.facts, tid, task.prio).thread(comm_of(task.comm).as_deref(), Some(tid)),
    }
}

pub(super) fn held(who: &str, ns: u64, on: On) -> String {
    format!(
        "{who} got a CPU and left it {} later{on}: the lines show no switch in between, but some are missing",
        Nanos(ns)
    )
}

pub(super) fn raised(vec: u32, ns: u64, by: Who, begun: Who, on: On) -> String {
    let vec = sentences::softirq(vec);
    let thread = match begun.1 {
        Some(0) => "upon the idle task".to_owned(),
        _ => format!("in {}", named(begun)),
    };
    format!("softirq {vec}, raised{on} while {} was current, began {} later, {thread}", named(by), Nanos(ns))
}

/// Returns the stack frames of a sleeping thread, without the frames of the scheduler.
pub(super) fn slept(frames: &[Symbol]) -> Vec<String> {
    let names = frames.iter().filter_map(section::name).map(section::bare);
    let scheduler = |name: &String| name.contains("schedule") || name.contains("slowlock") || name.contains("trace");
    names.skip_while(scheduler).take(FRAMES).collect()
}

pub(super) fn blocked(out: &Out, until: Option<u64>, options: &ExplainOptions, on: On) -> String {
    let place = if out.frames.is_empty() { String::new() } else { format!(", in {}", out.frames.join(" ← ")) };
    let who = who(options, &out.task);
    let woken = out.woken.map(|(t, by)| (t.saturating_sub(out.t), acting(by)));
    match (until, woken) {
        (Some(t), Some((after, by))) => format!(
            "{who} slept uninterruptibly (D) for {}{place}: {by} woke it after {}",
            Nanos(t.saturating_sub(out.t)),
            Nanos(after)
        ),
        (Some(t), None) => format!("{who} was off its CPU, blocked (D), for {}{place}", Nanos(t.saturating_sub(out.t))),
        (None, Some((after, by))) => {
            format!("{who} slept uninterruptibly (D){on}{place}, until {by} woke it after {}", Nanos(after))
        }
        (None, None) => {
            format!("{who} went to sleep uninterruptibly (D){on}{place}; no line shows when it was woken")
        }
    }
}

pub(super) fn preempted(
    out: &Out,
    event: &Event,
    next: &Task,
    meanwhile: &[(Task, u64)],
    options: &ExplainOptions,
    on: On,
) -> String {
    const MOST: usize = 3;
    let ns = event.t_ns.saturating_sub(out.t);
    let lost = Nanos(ns);
    if let Some(owner) = &out.owner {
        // The lock's owner may lose the boosted priority before the waiter runs again.
        return format!(
            "{} waited{on} for {lost} for a lock that {} held (boosted by it: sched_pi_setprio)",
            who(options, &Task { prio: out.task.prio, ..*next }),
            named((owner.comm, Some(owner.tid)))
        );
    }
    let stopper = out.by.comm.is_some_and(|comm| sentences::is_stopper(&comm.to_string()));
    let stopper = if stopper { ", the stopper of its CPU, which runs what others queue" } else { "" };
    // The idle task does not preempt any thread.
    let idle = out.by.tid == 0;
    let was = match out.state.letter {
        b'?' => "was off the CPU",
        _ if idle => "was runnable and did not run",
        _ => "was preempted",
    };
    // The switch back may lack the priority that the switch away has.
    let task = Task { prio: next.prio.or(out.task.prio), ..*next };
    let at = On(on.0.map(|_| out.cpu).filter(|_| out.state.letter != b'?'));
    let by = match meanwhile {
        [] | [_] if idle => {
            " while the idle task ran there: it was throttled (CFS bandwidth, RT throttling), or its wakeup was under way"
                .to_owned()
        }
        [] | [_] => format!(" by {}{stopper}", who(options, &out.by)),
        many => {
            let ran: Vec<String> =
                many.iter().take(MOST).map(|(task, ns)| format!("{} ran {}", who(options, task), Nanos(*ns))).collect();
            format!(": {}", ran.join(", "))
        }
    };
    let moved = if out.cpu == event.cpu { String::new() } else { format!(", and ran again{on}") };
    let interrupted = out
        .interrupted
        .as_ref()
        .map(|(began, name)| format!(" ({} with {name} before it)", Nanos(event.t_ns.saturating_sub(*began))));
    format!("{} {was}{at} for {}{}{by}{moved}", who(options, &task), Nanos(ns), interrupted.unwrap_or_default())
}
