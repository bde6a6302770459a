//! Divides one gap into its parts.

use super::GapEvidence;
use punctual_model::{Gap, Span, SpanKind};
use punctual_units::Arrange;
use std::cmp::Reverse;

/// Handlers of system vectors take microseconds: one without events for this long was delayed, ns.
const LONG: u64 = 500_000;
/// System vectors with brief handlers.
const BRIEF: [&str; 5] = ["local_timer", "reschedule", "call_function", "call_function_single", "irq_work"];

/// A gap's time by origin; the four sums add up to its length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Parts {
    pub linux_ns: u64,
    pub beyond_ns: u64,
    pub edge_ns: u64,
    pub unknown_ns: u64,
    /// Activities of Linux by name, the longest first.
    pub did: Vec<(Span, u64)>,
    /// Activities in `did` that spent a long time in brief handlers.
    long: Vec<(Span, u64)>,
}

impl Parts {
    /// Divides a gap of at least `threshold`; evidence outside of the gap does not count.
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

    /// Removes long stays in brief handlers from Linux's time: a hypervisor is known to have taken the CPU.
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

/// True if both are the same activity of Linux, counted together.
fn same(one: &Span, other: &Span) -> bool {
    (one.kind, one.tid, &one.label) == (other.kind, other.tid, &other.label)
}

/// Returns the time in brief handlers that took long, ns.
pub(super) fn brief_and_long(parts: &Parts) -> u64 {
    parts.long.iter().map(|(_, ns)| ns).sum()
}
