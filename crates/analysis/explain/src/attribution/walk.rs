//! Gives one label to every nanosecond of a wakeup, from its due time until the thread runs.

use super::cpu::{Doing, OVERDUE, SILENCE};
use super::label::{Label, Ruling, Tally, What, Why};
use super::piece::{Piece, Place, pieces};
use super::view::{View, thread_class};
use super::{carrier, gap, server, stall};
use Confidence::{High, Medium, Suspected};
use punctual_model::{Class, Confidence};

pub(super) struct Walk<'a> {
    pub view: View<'a>,
    pub tally: Tally,
    pub steps: u64,
    /// All pieces with the class of their labels, for drawing a timeline; `None` if none is drawn. Where pieces overlap, the
    /// later one counts.
    pub drawn: Option<Vec<Drawn>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub cpu: u32,
    pub from: u64,
    pub to: u64,
    pub class: Class,
    /// True for an interrupt or softirq on top of the CPU's activity, but not for the thread below.
    pub nested: bool,
    /// True if all CPUs stalled, whatever each had been doing.
    pub stall: bool,
}

impl<'a> Walk<'a> {
    pub fn new(view: View<'a>) -> Walk<'a> {
        Walk { view, tally: Tally::default(), steps: 0, drawn: None }
    }

    /// Labels all time from T0 to T3.
    pub fn run(&mut self) {
        let View { machine, window, facts } = self.view;
        let waking = &window.waking;
        let (t0, t2, t3) = (waking.t0, waking.t2, window.t3);
        let first = waking.path.first().map_or(window.cpu, |(_, cpu)| *cpu);
        let from_cpu = waking.from_cpu;
        let early = pieces(machine.cpu(from_cpu), t0, t2);
        let wanted = first == from_cpu;
        let mut place = Place { cpu: from_cpu, early: true, released: facts.sent, wanted, passed_over: None };
        for piece in &early {
            place.released |= matches!(piece.doing, Doing::Hard(_));
            self.label(piece, place);
        }
        let budget = self.budget(t2, t3);
        let told = self.in_call(t3);
        for (from, to, cpu) in self.stays(told.unwrap_or(t2), t3) {
            let late = pieces(machine.cpu(cpu), from, to);
            let passed_over = server::passed_over(&self.view, &late).or(budget);
            for piece in &late {
                self.label(piece, Place { cpu, early: false, released: true, wanted: true, passed_over });
            }
        }
    }

    /// Labels the time that a waker on another CPU spent in its call before it queued the thread, if that is more than
    /// usual. Returns the end of that time.
    fn in_call(&mut self, t3: u64) -> Option<u64> {
        /// Usual time from sched_waking to sched_wakeup on one CPU, ns.
        const USUAL: u64 = 5_000;
        let View { machine, window, .. } = self.view;
        let waking = &window.waking;
        let told = waking.in_call.filter(|told| *told <= t3 && told.saturating_sub(waking.t2) >= USUAL)?;
        for piece in pieces(machine.cpu(waking.from_cpu), waking.t2, told) {
            // The kernel needs much less: a hypervisor or firmware may have stopped the CPU.
            let sure = if piece.ns() >= SILENCE { Suspected } else { Medium };
            let label = Label::new(Class::Waker, sure, Why::InCall);
            let label = match piece.doing {
                Doing::Task(task) => label.of(task),
                _ => label,
            };
            let place = Place { cpu: waking.from_cpu, early: false, released: true, wanted: false, passed_over: None };
            self.steps += 1;
            self.add(&piece, place, label.without_stalls());
        }
        Some(told)
    }

    /// True if a less urgent thread, or none, was chosen after the thread was queued: the thread had run before, or is
    /// kept from running.
    pub fn passed_over(&self) -> bool {
        let View { machine, window, .. } = self.view;
        let queued = window.waking.queued.unwrap_or(window.waking.t2);
        let Some(cpu) = machine.cpu(window.cpu) else { return false };
        let later = cpu.history.iter().rev().take_while(|segment| segment.t > queued);
        later.filter(|segment| segment.switched).any(|segment| self.view.is_low(segment.doing))
    }

    pub fn give_up(&mut self) {
        let label = Label::new(Class::Unaccounted, Confidence::Suspected, Why::NotTraced);
        self.tally.add(label, self.view.window.t3 - self.view.window.waking.t0);
    }

    /// Labels the wait of a SCHED_DEADLINE thread that runs after its budget's timer, if the CPU had nothing more
    /// urgent, or that runs right after a timer of an unknown thread.
    fn budget(&self, t2: u64, t3: u64) -> Option<Label> {
        const SOON: u64 = 200_000;
        let waits = self.view.window.prio.is_some_and(|prio| prio < 0);
        let View { machine, window, .. } = self.view;
        let own = machine.tasks.find(window.tid).and_then(|known| known.replenished);
        let at = |at: &u64| waits && (t2..=t3).contains(at) && at - t2 > t3 - at;
        let soon = machine.replenished.filter(|at| t3.saturating_sub(*at) <= SOON);
        own.filter(at).or(soon.filter(at)).map(|_| Label::new(Class::DeadlineBudget, Medium, Why::Replenished))
    }

    fn stays(&self, t2: u64, t3: u64) -> Vec<(u64, u64, u32)> {
        let path = &self.view.window.waking.path;
        let mut stays = Vec::new();
        for (n, (from, cpu)) in path.iter().enumerate() {
            let to = path.get(n + 1).map_or(t3, |(next, _)| *next);
            // The last CPU is the one on which the thread ran. If the path differs, a migration is missing from the
            // trace.
            let cpu = if n + 1 == path.len() { self.view.window.cpu } else { *cpu };
            stays.push(((*from).clamp(t2, t3), to.clamp(t2, t3), cpu));
        }
        stays
    }

    fn label(&mut self, piece: &Piece, place: Place) {
        self.steps += 1;
        self.add(piece, place, rule(&self.view, piece, place));
    }

    pub fn after(&mut self, piece: &Piece, place: Place) {
        match piece.doing {
            Doing::Task(task) if task.tid == self.view.window.tid => {
                self.steps += 1;
                let label = Label::new(Class::ReturnToUser, High, Why::Returning);
                let label = gap::whole(&self.view, piece, place, label, true);
                self.add(piece, place, label.without_stalls());
            }
            _ => self.label(piece, place),
        }
    }

    fn add(&mut self, piece: &Piece, place: Place, Ruling { label, keeps_stalls }: Ruling) {
        let mut rest = piece.ns();
        self.draw((place.cpu, piece.doing), (piece.from, piece.to), label.class, false);
        if rest >= OVERDUE && (!keeps_stalls || label.confidence > Medium) {
            for (from, to) in stall::stalls(self.view.machine, place, piece.from, piece.to, &mut self.steps) {
                let ns = (to - from).min(rest);
                rest -= ns;
                if keeps_stalls {
                    self.tally.add(Label { confidence: Medium, ..label }, ns);
                } else {
                    // In a guest only the host stops all CPUs.
                    let class = if self.view.facts.guest == Some(true) { Class::Steal } else { Class::MachineStall };
                    self.draw((place.cpu, piece.doing), (from, to), class, true);
                    self.tally.add(Label::new(class, Medium, Why::AllSilent), ns);
                }
            }
        }
        self.tally.add(label, rest);
    }

    fn draw(&mut self, (cpu, doing): (u32, Doing), (from, to): (u64, u64), class: Class, stall: bool) {
        if let Some(drawn) = &mut self.drawn {
            // A softirq that runs in a thread is part of that thread's span.
            let nested = matches!(doing, Doing::Hard(_) | Doing::Nmi | Doing::Soft(_, None));
            drawn.push(Drawn { cpu, from, to, class, nested, stall });
        }
    }
}

fn rule(view: &View, piece: &Piece, place: Place) -> Ruling {
    if let Some(ruling) = carrier::rule(view, piece, place) {
        return ruling;
    }
    let early = place.early && view.window.waking.t1.is_none_or(|t1| piece.from < t1);
    let label = match piece.doing {
        Doing::Unknown => Label::new(Class::Unaccounted, High, Why::NotTraced),
        Doing::Hard(name) => {
            let at = Some((place.cpu, piece.from));
            let (sure, why) = if view.machine.by_flags(name) { (Medium, Why::ByFlags) } else { (High, Why::Nested) };
            let label = Label { at, ..Label::new(Class::Irq, sure, why).doing(What::Interrupt(name)) };
            let brief = view.machine.name(name) == "local_timer";
            gap::whole(view, piece, place, label, brief)
        }
        Doing::Nmi => {
            // Without NMI events, two NMIs look like one, both by their functions and by flags.
            let (sure, why) = if view.machine.seen.nmis > 0 { (High, Why::Nested) } else { (Medium, Why::ByFlags) };
            Label::new(Class::Irq, sure, why).doing(What::Nmi)
        }
        Doing::Soft(_, Some(task)) if carrier::passes_softirq(view, task, early) => {
            return gap::low(view, piece, place, Some(task));
        }
        Doing::Soft(vec, task) => {
            let by_flags = vec == super::inside::SOFTIRQ;
            let sure = if early || by_flags { Medium } else { High };
            let why = if by_flags { Why::ByFlags } else { Why::Nested };
            let label = Label::new(Class::Softirq, sure, why).doing(What::Softirq(vec));
            let thread = task.filter(|task| thread_class(task.comm).is_some());
            match (thread, place.passed_over) {
                (Some(task), Some(passed_over)) if view.is_low(Doing::Task(task)) => passed_over.of(task),
                (Some(task), _) => Label { what: None, ..label.of(task) },
                (None, _) => label,
            }
        }
        Doing::Idle => return gap::low(view, piece, place, None),
        Doing::Task(task) => match view.task(task, place.wanted).filter(|label| !kept(view, piece, label)) {
            Some(label) if label.class == Class::SamePriority && gap::is_way_out(view, piece) => {
                Label::new(Class::Unaccounted, Medium, Why::WayOut).of(task)
            }
            Some(label) => return label.with_stalls(),
            None => return gap::low(view, piece, place, Some(task)),
        },
    };
    label.without_stalls()
}

/// True for a thread that kept the CPU although a reschedule was requested all the time, and that does not certainly
/// outrank the late thread.
fn kept(view: &View, piece: &Piece, label: &Label) -> bool {
    let ordinary = view.window.prio.is_some_and(|prio| prio >= 100) && label.class == Class::SamePriority;
    (ordinary || label.why == Why::NoPrio) && piece.resched == Some(true)
}
