//! Time that tracing itself takes.

use super::label::Why;
use super::machine::Machine;
use super::sentences;
use punctual_model::{Class, Confidence, Victim};
use punctual_trace::TraceInfo;
use punctual_units::Nanos;

/// Handles a wakeup whose trace is shown only in part, if the number of its lines, at the interval of those shown,
/// fills the latency: the function tracer took most of it.
pub(super) fn function_tracer(victim: &mut Victim, machine: &Machine, info: &TraceInfo) {
    const FEWEST: u64 = 50;
    const FEWEST_SHOWN: u64 = 4;
    let [header] = info.latency.as_slice() else { return };
    let Some((present, all)) = header.entries.filter(|(present, all)| present == all && *all >= FEWEST) else { return };
    let latency = header.latency_us.unwrap_or(0).saturating_mul(1000);
    let Some(cpu) = victim.cpu.and_then(|cpu| machine.cpu(cpu)).filter(|_| header.tid == victim.tid) else { return };
    let shown = cpu.traced.len() as u64;
    let Some((first, last)) = cpu.traced.front().zip(cpu.traced.back()) else { return };
    if shown < FEWEST_SHOWN || shown >= present / 2 {
        return;
    }
    let (apart, each) = ((last.t - first.t) / (shown - 1), latency / all);
    let alike = each >= 1_000 && each <= apart.saturating_mul(2) && apart <= each.saturating_mul(2);
    let whole = victim.latency_ns;
    let unknown = |class, tid: Option<i32>| class == Class::Unaccounted && tid.is_none();
    let cause = victim.causes.first_mut().filter(|cause| unknown(cause.class, cause.tid) && cause.ns * 2 > whole);
    let Some(cause) = cause.filter(|_| alike) else { return };
    let inside = match (last.context().is_some_and(|context| context.is_hard()), last.tid) {
        (true, Some(0)) => "; the last line shown is in an interrupt upon the idle task",
        (true, _) => "; the last line shown is in an interrupt",
        (false, _) => "",
    };
    cause.confidence = Confidence::Suspected;
    cause.place =
        Some(format!("the trace has {all} lines, and those that are shown are {} apart{inside}", Nanos(apart)));
    sentences::evidence(Why::TracerLines).clone_into(&mut cause.evidence);
}
