//! What one gap is made of.

use super::GapEvidence;
use punctual_model::{Gap, Span, SpanKind};
use punctual_units::Arrange;
use std::cmp::Reverse;

/// Handlers of system vectors take microseconds: one that took this long with nothing happening in it was delayed.
const LONG: u64 = 500_000;
/// System vectors; their handlers are brief.
const BRIEF: [&str; 5] = ["local_timer", "reschedule", "call_function", "call_function_single", "irq_work"];

/// A gap's time by origin; the four sums add up to its length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Parts {
    pub linux_ns: u64,
    pub beyond_ns: u64,
    pub edge_ns: u64,
    pub unknown_ns: u64,
    /// What Linux did, by name, the longest first.
    pub did: Vec<(Span, u64)>,
    /// Of the above, long stays in brief handlers.
    long: Vec<(Span, u64)>,
}

impl Parts {
    /// Of a gap of `threshold` at least; what lies outside of the gap in the evidence does not count.
    pub fn of(gap: Gap, evidence: &GapEvidence, threshold: u64) -> Parts {
        let end = gap.start_ns.saturating_add(gap.length_ns);
        let mut parts = Parts::default();
        let mut at = gap.start_ns;
        for span in &evidence.spans {
            let from = span.start_ns.clamp(at, end);
            let to = span.end_ns.clamp(from, end);
            parts.unknown_ns += from - at;
            parts.add(span, evidence.tid, to - from, threshold);
            at = to.max(at);
        }
        parts.unknown_ns += end - at;
        parts.did.arrange_by_key(|(_, ns)| Reverse(*ns));
        parts
    }

    fn add(&mut self, span: &Span, tid: i32, ns: u64, threshold: u64) {
        match span.kind {
            SpanKind::Unknown => self.unknown_ns += ns,
            SpanKind::Task if span.tid == Some(tid) && ns >= threshold => self.beyond_ns += ns,
            SpanKind::Task if span.tid == Some(tid) => self.edge_ns += ns,
            _ if ns > 0 => {
                self.linux_ns += ns;
                match self.did.iter_mut().find(|(other, _)| same(other, span)) {
                    Some((_, sum)) => *sum += ns,
                    None => self.did.push((span.clone(), ns)),
                }
                if ns >= LONG && span.kind == SpanKind::Irq && BRIEF.contains(&span.label.as_str()) {
                    self.long.push((span.clone(), ns));
                }
            }
            _ => {}
        }
    }

    /// Long stays in brief handlers were not Linux's: a hypervisor is known to have taken the CPU.
    pub fn disown_long(&mut self) {
        for (span, ns) in std::mem::take(&mut self.long) {
            self.linux_ns -= ns;
            self.beyond_ns += ns;
            if let Some((_, sum)) = self.did.iter_mut().find(|(other, _)| same(other, &span)) {
                *sum -= ns;
            }
        }
        self.did.retain(|(_, ns)| *ns > 0);
        self.did.arrange_by_key(|(_, ns)| Reverse(*ns));
    }
}

/// Whether both are the same doing of Linux, counted together.
fn same(one: &Span, other: &Span) -> bool {
    (one.kind, one.tid, &one.label) == (other.kind, other.tid, &other.label)
}

/// Time in brief handlers that took long.
pub(super) fn brief_and_long(parts: &Parts) -> u64 {
    parts.long.iter().map(|(_, ns)| ns).sum()
}
