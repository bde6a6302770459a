//! Joins spans that are too short to report or to draw.

use punctual_model::{Doing, GanttSpan, Held};
use punctual_units::{Arrange, Nanos};
use std::collections::BTreeMap;

/// Joins the turns of ordinary threads while a real-time thread is prevented from running. Switching between two of
/// them takes less than 100 µs. A total below that is the latency of a wakeup and is dropped.
pub(crate) fn rounds(held: &[Held]) -> Vec<Held> {
    const SWITCH: u64 = 100_000;
    let mut out: Vec<Held> = Vec::new();
    for one in held {
        match out.last_mut() {
            Some(last) if last.cpu == one.cpu && one.from_ns.0 <= last.from_ns.0 + last.lasted_ns.0 + SWITCH => {
                last.lasted_ns = Nanos(one.from_ns.0 + one.lasted_ns.0 - last.from_ns.0);
                last.ends_at_period = one.ends_at_period;
            }
            _ => out.push(*one),
        }
    }
    out.retain(|one| one.lasted_ns.0 >= SWITCH);
    out
}

/// Joins spans that are too short to draw: in each of `parts` equal parts of the time, a thread has only one state or
/// shares its CPU.
pub fn coarse(spans: &[GanttSpan], parts: u64) -> Vec<GanttSpan> {
    let end = spans.iter().map(|span| span.to_ns.0).max().unwrap_or(0);
    let shortest = end / parts.max(1);
    let mut last: BTreeMap<usize, GanttSpan> = BTreeMap::new();
    let mut out = Vec::new();
    for span in spans {
        let short = |span: &GanttSpan| span.to_ns.0 - span.from_ns.0 < shortest;
        let Some(before) = last.get_mut(&span.thread) else {
            last.insert(span.thread, *span);
            continue;
        };
        let same = before.doing == span.doing && before.cpu == span.cpu;
        let turns = before.doing == Doing::Shares || short(before);
        if same || (turns && short(span) && before.to_ns == span.from_ns) {
            before.doing = if same { before.doing } else { Doing::Shares };
            before.to_ns = span.to_ns;
            before.cpu = before.cpu.or(span.cpu);
        } else {
            out.push(std::mem::replace(before, *span));
        }
    }
    out.extend(last.into_values());
    out.arrange_by_key(|span| (span.from_ns, span.thread));
    out
}
