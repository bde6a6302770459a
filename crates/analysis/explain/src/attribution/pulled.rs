//! A thread that waited on one CPU until another CPU took it over.

use super::label::Why;
use super::machine::{Machine, Window};
use super::section::{Traced, name};
use super::{Facts, choose, functions, sentences};
use punctual_model::{Cause, Class, Confidence, Scheduled};

/// Parts of the names of functions that move a thread to another CPU (kernel/sched/fair.c and rt.c; kernel/sched.c up to
/// Linux 3.2).
const MOVERS: [&str; 7] =
    ["change_sched_cpu", "move_task", "pull_task", "pull_rt_task", "load_balance", "detach_task", "attach_task"];

/// Handles a wakeup whose CPU has no lines for most of the time, because the thread waited on another CPU until it was
/// moved: the last line of that CPU shows the thread that most likely kept it.
pub(super) fn pulled(machine: &Machine, facts: &Facts, window: &Window, causes: &mut [Cause]) {
    let unknown = [Why::AtEnd, Why::NotTraced].map(sentences::evidence);
    let Some(cause) = causes.first_mut().filter(|cause| unknown.contains(&cause.evidence.as_str())) else { return };
    let Some(own) = machine.cpu(window.cpu) else { return };
    let before = machine.cpus().filter(|(n, _)| *n != window.cpu).filter_map(|(n, cpu)| {
        let line = cpu.traced.back().filter(|line| cpu.last == Some(line.t))?;
        let inside = line.t >= window.waking.t0 && (window.t3.saturating_sub(line.t)) * 2 > cause.ns;
        (inside && !line.last && line.tid.is_some_and(|tid| tid != 0)).then_some((n, line))
    });
    let Some((n, line)) = before.max_by_key(|(_, line)| line.t) else { return };
    let Some(flags) = line.flags.filter(|flags| flags.wants_resched() == Some(true)) else { return };
    let class = match (flags.irqs_off, flags.preempt_depth) {
        (Some(true), _) => Class::IrqsDisabled,
        (_, Some(1..)) => Class::PreemptionDisabled,
        _ => return,
    };
    let moves = |line: &&Traced| {
        let names = [Some(&line.function), line.parent.as_ref()].into_iter().flatten().filter_map(name);
        line.t <= window.t3 && names.into_iter().any(|name| MOVERS.iter().any(|part| name.contains(part)))
    };
    let Some(mover) = own.traced.iter().rev().find(moves).filter(|mover| mover.t >= line.t) else { return };
    let known = |tid: Option<i32>| tid.and_then(|tid| machine.tasks.find(tid));
    let comm = |tid: Option<i32>| known(tid).and_then(|known| known.comm).map(|comm| comm.to_string());
    let by = Scheduled::default().thread(comm(mover.tid).as_deref(), mover.tid);
    cause.scheduled = line
        .tid
        .map(|tid| choose::scheduled(facts, tid, known(line.tid).and_then(|known| known.prio)))
        .unwrap_or_default();
    (cause.class, cause.confidence) = (class, Confidence::Suspected);
    (cause.tid, cause.comm) = (line.tid, comm(line.tid));
    let last = functions::last(line).unwrap_or_default();
    cause.place = Some(format!("{last} on CPU {n}; then {by} took it over to CPU {}", window.cpu));
    sentences::evidence(Why::Pulled).clone_into(&mut cause.evidence);
}
