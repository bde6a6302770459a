use super::super::cpu::{Cpu, Doing, Running};
use super::super::machine::Machine;
use super::super::piece::{Piece, pieces};
use super::super::walk::Drawn;
use super::super::{Facts, choose, sentences};
use super::Pending;
use punctual_model::{Class, Scheduled, Span, SpanKind};

/// Returns the time in which the CPU was not idle, ns.
pub(super) fn busy(cpu: &Cpu, start: u64, end: u64) -> u64 {
    let idle = |doing: Doing| matches!(doing, Doing::Idle | Doing::Unknown);
    pieces(Some(cpu), start, end).iter().filter(|piece| !idle(piece.doing)).map(Piece::ns).sum()
}

pub(super) fn spans(
    machine: &Machine,
    facts: &Facts,
    pending: &Pending,
    cpu: u32,
    (start, end): (u64, u64),
) -> Vec<Span> {
    let pieces = pieces(machine.cpu(cpu), start, end);
    let writer = Writer { machine, facts, labels: Labels::new(pending, cpu) };
    let before = machine.cpu(cpu).and_then(|cpu| below_at(cpu, start));
    let mut spans = writer.below(&pieces, before);
    spans.extend(writer.softirqs(&pieces));
    spans.extend(writer.interrupts(&pieces));
    spans.sort_by_key(|span| (span.start_ns, span.kind));
    spans
}

/// Returns the task, or idle, below the CPU's activity at `at`.
fn below_at(cpu: &Cpu, at: u64) -> Option<Doing> {
    let known = cpu.history.partition_point(|segment| segment.t <= at);
    cpu.history.iter().take(known).rev().find_map(|segment| below(segment.doing))
}

/// Returns the activity below interrupts and softirqs: a task, idle or unknown. `None` if only the activity on top is
/// known.
fn below(doing: Doing) -> Option<Doing> {
    match doing {
        Doing::Idle | Doing::Task(_) | Doing::Unknown => Some(doing),
        Doing::Soft(_, Some(task)) => Some(if task.tid == 0 { Doing::Idle } else { Doing::Task(task) }),
        Doing::Soft(_, None) | Doing::Hard(_) | Doing::Nmi => None,
    }
}

struct Writer<'a> {
    machine: &'a Machine,
    facts: &'a Facts,
    labels: Labels,
}

/// A CPU's labels without overlap in time: labels of interrupts and softirqs, of threads, and of stalls, which override
/// the labels of threads.
struct Labels {
    on_top: Vec<Drawn>,
    below: Vec<Drawn>,
    stalls: Vec<Drawn>,
    delay: (u64, u64),
}

impl Labels {
    fn new(pending: &Pending, cpu: u32) -> Labels {
        let of = |wanted: fn(&Drawn) -> bool| {
            let mut list: Vec<Drawn> = pending.drawn.iter().filter(|d| d.cpu == cpu && wanted(d)).copied().collect();
            list.sort_by_key(|d| d.from);
            list
        };
        Labels {
            on_top: of(|d| d.nested && !d.stall),
            below: of(|d| !d.nested && !d.stall),
            stalls: of(|d| d.stall),
            delay: (pending.window.waking.t0, pending.window.t3),
        }
    }

    /// Returns the contribution of an interrupt to the delay; an interrupt that began before the delay may contribute.
    fn on_top(&self, piece: &Piece) -> Option<Class> {
        let first = |list: &[Drawn]| {
            let after = list.partition_point(|d| d.to <= piece.from);
            list.get(after).filter(|d| d.from < piece.to).map(|d| d.class)
        };
        first(&self.stalls).or_else(|| first(&self.on_top))
    }

    /// Returns the contribution of a thread from `from` to `to`, split where it changes.
    fn cut(&self, from: u64, to: u64) -> Vec<(u64, u64, Option<Class>)> {
        let mut edges = vec![from, to];
        edges.extend([self.delay.0, self.delay.1].into_iter().filter(|t| from < *t && *t < to));
        for list in [&self.below, &self.stalls] {
            let first = list.partition_point(|d| d.to <= from);
            let near = list.iter().skip(first).take_while(|d| d.from < to);
            edges.extend(near.flat_map(|d| [d.from, d.to]).filter(|t| from < *t && *t < to));
        }
        edges.sort_unstable();
        edges.dedup();
        let class = |at: u64| find(&self.stalls, at).or_else(|| find(&self.below, at));
        let pairs = edges.iter().zip(edges.iter().skip(1));
        pairs.map(|(from, to)| (*from, *to, class(*from))).collect()
    }
}

fn find(list: &[Drawn], at: u64) -> Option<Class> {
    let after = list.partition_point(|d| d.from <= at);
    list.get(after.checked_sub(1)?).filter(|d| at < d.to).map(|d| d.class)
}

impl Writer<'_> {
    /// Returns tasks, idle and unknown time, contiguously.
    fn below(&self, pieces: &[Piece], before: Option<Doing>) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut now = before.unwrap_or(Doing::Unknown);
        for piece in pieces {
            let on_top = matches!(piece.doing, Doing::Hard(_) | Doing::Soft(_, None) | Doing::Nmi);
            now = below(piece.doing).unwrap_or(now);
            for (from, to, class) in self.labels.cut(piece.from, piece.to) {
                let inside = self.labels.delay.0 <= from && to <= self.labels.delay.1;
                let mut span = self.span(now, (from, to), class);
                match spans.last().filter(|last| same_thread(last, &span)) {
                    // An interrupt on top of a culprit does not split the culprit's span.
                    Some(last) if on_top && inside && class.is_none() => span.cause = last.cause,
                    _ => {}
                }
                match spans.last_mut().filter(|last| same(last, &span)) {
                    Some(last) => last.end_ns = to,
                    None => spans.push(span),
                }
            }
        }
        spans
    }

    /// Returns softirqs; an interrupt on top of a softirq does not end it.
    fn softirqs(&self, pieces: &[Piece]) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut open = false;
        for piece in pieces {
            match piece.doing {
                Doing::Soft(..) => {
                    let cause = self.labels.on_top(piece);
                    let span = Span { cause, ..span(self.machine, self.facts, piece.doing, (piece.from, piece.to)) };
                    match spans.last_mut().filter(|last| open && same(last, &span)) {
                        Some(last) => last.end_ns = piece.to,
                        None => spans.push(span),
                    }
                    open = true;
                }
                Doing::Hard(_) | Doing::Nmi => {}
                _ => open = false,
            }
        }
        spans
    }

    fn interrupts(&self, pieces: &[Piece]) -> Vec<Span> {
        let on_top = |piece: &&Piece| matches!(piece.doing, Doing::Hard(_) | Doing::Nmi);
        let mut spans: Vec<Span> = Vec::new();
        for piece in pieces.iter().filter(on_top) {
            let cause = self.labels.on_top(piece);
            let span = Span { cause, ..span(self.machine, self.facts, piece.doing, (piece.from, piece.to)) };
            match spans.last_mut().filter(|last| last.end_ns == span.start_ns && same(last, &span)) {
                Some(last) => last.end_ns = span.end_ns,
                None => spans.push(span),
            }
        }
        spans
    }

    fn span(&self, doing: Doing, times: (u64, u64), cause: Option<Class>) -> Span {
        Span { cause, ..span(self.machine, self.facts, doing, times) }
    }
}

pub(in super::super) fn span(machine: &Machine, facts: &Facts, doing: Doing, (from, to): (u64, u64)) -> Span {
    let named = |kind, label| Span { kind, label, ..blank(from, to) };
    match doing {
        Doing::Task(task) => Span {
            tid: Some(task.tid),
            scheduled: choose::scheduled(facts, task.tid, prio(machine, task)),
            ..named(SpanKind::Task, comm(machine, task))
        },
        Doing::Hard(name) => named(SpanKind::Irq, machine.name(name).to_owned()),
        Doing::Soft(vec, _) => named(SpanKind::Softirq, sentences::softirq(vec)),
        Doing::Nmi => named(SpanKind::Nmi, String::new()),
        Doing::Idle => named(SpanKind::Idle, String::new()),
        Doing::Unknown => blank(from, to),
    }
}

fn comm(machine: &Machine, task: Running) -> String {
    let known = || machine.tasks.find(task.tid).and_then(|known| known.comm);
    task.comm.or_else(known).map(|comm| comm.to_string()).unwrap_or_default()
}

fn prio(machine: &Machine, task: Running) -> Option<i32> {
    task.prio.or_else(|| machine.tasks.find(task.tid).and_then(|known| known.prio))
}

fn blank(start_ns: u64, end_ns: u64) -> Span {
    Span {
        start_ns,
        end_ns,
        kind: SpanKind::Unknown,
        label: String::new(),
        tid: None,
        scheduled: Scheduled::default(),
        cause: None,
    }
}

/// True if both spans show the same activity.
fn same(a: &Span, b: &Span) -> bool {
    same_thread(a, b) && a.cause == b.cause
}

fn same_thread(a: &Span, b: &Span) -> bool {
    (a.kind, a.tid, &a.label) == (b.kind, b.tid, &b.label)
}
