//! Describes the longest call of the function_graph tracer.

use punctual_model::Scheduled;
use punctual_trace::Call;
use punctual_units::Nanos;

/// Describes the longest call of function_graph, and where the call spent its time.
pub(super) fn graph(call: &Call) -> String {
    let who =
        call.tid.map(|tid| Scheduled::default().thread(call.comm.map(|comm| comm.to_string()).as_deref(), Some(tid)));
    let who = who.map(|who| format!(", in {who}")).unwrap_or_default();
    let wanted = if call.need_resched == Some(true) { ", at whose end a reschedule was requested" } else { "" };
    let mut text =
        format!("function_graph: {}() took {} on CPU {}{who}{wanted}", call.function, Nanos(call.ns), call.cpu);
    let mut at = call;
    let mut inside: Vec<&Call> = Vec::new();
    // Descends while one callee has at least half of the time.
    while let Some(next) = at.longest.as_deref().filter(|next| next.ns * 2 >= at.ns) {
        inside.push(next);
        at = next;
    }
    let (first, last) = (inside.first(), inside.last());
    if let Some(first) = first {
        text += &format!("; of it {}() {}", first.function, Nanos(first.ns));
    }
    if let Some(last) = last.filter(|_| inside.len() > 1) {
        text += &format!(", down to {}() {}", last.function, Nanos(last.ns));
    }
    if at.own_ns * 2 >= at.ns && at.longest.is_some() {
        text += &format!(", {} of which in the function itself", Nanos(at.own_ns));
    }
    text + "; a duration includes what interrupted the function, and the time for which it slept"
}
