//! Limits a lane's size by merging spans too short to be visible with their neighbours.

use punctual_model::{Class, Lane, Span, SpanKind};
use punctual_units::CpuId;
use std::collections::HashMap;

/// Maximum number of spans of the first lane, which is the victim's; `OTHER` is the maximum of every other lane. Eight
/// lanes have at most 620.
const FIRST: usize = 200;
const OTHER: usize = 60;
/// At first, only spans of up to 1/`FINEST` of the picture may be merged; the limit doubles until the lane fits.
const FINEST: u64 = 2_000;

pub(super) fn budget(n: usize) -> usize {
    if n == 0 { FIRST } else { OTHER }
}

pub(super) fn lane(cpu: CpuId, mut spans: Vec<Span>, length: u64, most: usize) -> Lane {
    let before = spans.len();
    let mut limit = (length / FINEST).max(1);
    while spans.len() > most {
        spans = joined(spans, limit);
        if limit > length {
            break;
        }
        limit = limit.saturating_mul(2);
    }
    Lane { cpu, joined: (before - spans.len()) as u64, spans }
}

/// Merges neighbours of a row that are all shorter than `limit`.
fn joined(spans: Vec<Span>, limit: u64) -> Vec<Span> {
    let mut rows: [Vec<Span>; 4] = Default::default();
    for span in spans {
        let [below, softirq, irq, nmi] = &mut rows;
        match span.kind {
            SpanKind::Unknown | SpanKind::Idle | SpanKind::Task => below.push(span),
            SpanKind::Softirq => softirq.push(span),
            SpanKind::Irq => irq.push(span),
            SpanKind::Nmi => nmi.push(span),
        }
    }
    let mut all: Vec<Span> = rows.into_iter().flat_map(|row| row_joined(row, limit)).collect();
    all.sort_by_key(|span| (span.start_ns, span.kind));
    all
}

fn row_joined(row: Vec<Span>, limit: u64) -> Vec<Span> {
    let mut out = Vec::new();
    let mut group: Vec<Span> = Vec::new();
    for span in row {
        let is_short = |s: &Span| s.end_ns - s.start_ns < limit;
        let near = group
            .last()
            .is_some_and(|last| is_short(last) && is_short(&span) && span.start_ns.saturating_sub(last.end_ns) < limit);
        if !near {
            out.extend(one(std::mem::take(&mut group)));
        }
        group.push(span);
    }
    out.extend(one(group));
    out
}

/// Returns a group as one span, named after the activity that took most of its time.
fn one(group: Vec<Span>) -> Option<Span> {
    let (start_ns, end_ns) = (group.first()?.start_ns, group.last()?.end_ns);
    if group.len() == 1 {
        return group.into_iter().next();
    }
    let mut by_name: HashMap<(SpanKind, Option<i32>, &str), u64> = HashMap::new();
    let mut by_cause: HashMap<Class, u64> = HashMap::new();
    for span in &group {
        let ns = span.end_ns - span.start_ns;
        *by_name.entry((span.kind, span.tid, span.label.as_str())).or_default() += ns;
        if let Some(cause) = span.cause {
            *by_cause.entry(cause).or_default() += ns;
        }
    }
    // Ties are resolved deterministically.
    let (name, _) = by_name.into_iter().max_by_key(|(name, ns)| (*ns, *name))?;
    let cause = by_cause.into_iter().max_by_key(|(class, ns)| (*ns, *class)).map(|(class, _)| class);
    let like = group.iter().find(|span| (span.kind, span.tid, span.label.as_str()) == name)?;
    Some(Span { start_ns, end_ns, cause, ..like.clone() })
}
