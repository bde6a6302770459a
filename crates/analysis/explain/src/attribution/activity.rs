//! Reports the activity of CPUs at given times, for another measurement.

use super::Facts;
use super::cpu::Cpu;
use super::machine::Machine;
use super::piece::pieces;
use super::timeline::lane;
use punctual_model::{Span, SpanKind};
use punctual_trace::Event;
use punctual_units::CpuId;

/// The activity of every CPU, recorded event by event in bounded memory: the last quarter million changes of all CPUs.
#[derive(Debug, Default)]
pub struct Activity {
    machine: Machine,
    facts: Facts,
}

impl Activity {
    pub fn new() -> Activity {
        Activity::default()
    }

    pub fn facts(&mut self) -> &mut Facts {
        &mut self.facts
    }

    pub fn event(&mut self, event: &Event) {
        self.machine.apply(event);
    }

    /// Returns the activity of `cpu` from `from` to `to` (ns of the trace's clock): contiguous spans, ordered by start;
    /// an interrupt hides what it interrupts. Times that the trace does not cover are of kind `Unknown`, including lost
    /// events and dropped history.
    ///
    /// Must be called after the events up to `to` were read.
    pub fn between(&self, cpu: CpuId, from: u64, to: u64) -> Vec<Span> {
        let cpu = self.machine.cpu(cpu.0);
        let mut spans: Vec<Span> = Vec::new();
        for piece in pieces(cpu, from, to) {
            let span = lane::span(&self.machine, &self.facts, piece.doing, (piece.from, piece.to));
            match spans
                .last_mut()
                .filter(|last| (last.kind, last.tid, &last.label) == (span.kind, span.tid, &span.label))
            {
                Some(last) => last.end_ns = span.end_ns,
                None => spans.push(span),
            }
        }
        spans
    }

    /// True if `cpu` switched to another activity between `from` and `to`; `false` may also mean that it continued the
    /// same activity.
    pub fn turned(&self, cpu: CpuId, from: u64, to: u64) -> bool {
        let after = |cpu: &Cpu| {
            let first = cpu.history.partition_point(|segment| segment.t <= from);
            cpu.history.get(first).is_some_and(|segment| segment.t < to)
        };
        self.machine.cpu(cpu.0).is_some_and(after)
    }

    /// Returns the time that the scheduler did not charge to the threads of `cpu` (sched_stat_runtime), in the charges
    /// that overlap `from` to `to`, ns. In a guest that accounts for steal this is what its hypervisor took; with
    /// CONFIG_IRQ_TIME_ACCOUNTING interrupts are not charged either. `None` if nothing was charged.
    pub fn uncharged(&self, cpu: CpuId, from: u64, to: u64) -> Option<u64> {
        let charges = self.machine.cpu(cpu.0)?.charges.iter().rev();
        let overlapping = charges.take_while(|charge| charge.to > from).filter(|charge| charge.from < to);
        let short = |sum: Option<u64>, charge: &super::cpu::Charge| {
            let short = (charge.to - charge.from).saturating_sub(charge.runtime);
            Some(sum.unwrap_or(0).saturating_add(short))
        };
        overlapping.fold(None, short)
    }
}

/// Formats a span for display: `local_timer`, `NET_RX`, `NMI`, `stress-ng (FIFO 99, pid 712)`.
pub(crate) fn name(span: &Span) -> String {
    match span.kind {
        SpanKind::Task => span.scheduled.thread(Some(&span.label), span.tid),
        SpanKind::Nmi => "NMI".to_owned(),
        SpanKind::Idle => "idle: the reading thread was stopped".to_owned(),
        SpanKind::Unknown => "not covered by the trace".to_owned(),
        SpanKind::Irq | SpanKind::Softirq => span.label.clone(),
    }
}
