//! From due to running: every nanosecond of a wakeup gets one label.

use super::carrier::{self, thread_class};
use super::cpu::{Cpu, Doing, Running};
use super::machine::{Machine, Window};
use super::{Facts, gap, server};
use punctual_model::{Class, Confidence};

/// What a label rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Ran,
    Boosted,
    Nested,
    SilentInside,
    Late,
    LateOthersRan,
    OffEvents,
    NeedResched,
    NoFlags,
    NotPicked,
    TicksOnly,
    AllSilent,
    RuntimeShort,
    Idle,
    Moved,
    Ipi,
    Pending,
    Changed,
    Itself,
    Returning,
    Waking,
    OnItsWay,
    BeforeWaker,
    NoPrio,
    NotTraced,
}

/// What was busy if no thread is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum What {
    Interrupt(u16),
    Softirq(u32),
    Nmi,
}

/// A label: class, whom or what it names, how sure, why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub class: Class,
    pub task: Option<Running>,
    pub what: Option<What>,
    pub confidence: Confidence,
    pub why: Why,
}

impl Label {
    pub fn new(class: Class, confidence: Confidence, why: Why) -> Label {
        Label { class, task: None, what: None, confidence, why }
    }

    pub fn of(self, task: Running) -> Label {
        Label { task: Some(task), ..self }
    }

    pub fn doing(self, what: What) -> Label {
        Label { what: Some(what), ..self }
    }
}

/// All time with labels that name the same.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub label: Label,
    pub ns: u64,
    /// Of it, by confidence.
    sure: [u64; 3],
    /// Longest piece; its evidence is told.
    longest: u64,
}

/// The labels of one wakeup.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub parts: Vec<Part>,
}

impl Tally {
    /// Adds time under a label.
    pub fn add(&mut self, label: Label, ns: u64) {
        if ns == 0 {
            return;
        }
        let part = self.part(label);
        part.ns += ns;
        if let Some(sum) = part.sure.get_mut(label.confidence as usize) {
            *sum += ns;
        }
        if ns > part.longest {
            (part.longest, part.label) = (ns, label);
        }
    }

    /// Adds all of another wakeup's labels.
    pub fn absorb(&mut self, other: Tally) {
        for theirs in other.parts {
            let part = self.part(theirs.label);
            part.ns += theirs.ns;
            part.sure.iter_mut().zip(theirs.sure).for_each(|(sum, ns)| *sum += ns);
            if theirs.longest > part.longest {
                (part.longest, part.label) = (theirs.longest, theirs.label);
            }
        }
    }

    /// The part that names the same as `label`; a new one if there is none.
    fn part(&mut self, label: Label) -> &mut Part {
        let key = |l: &Label| (l.class, l.task.map(|t| t.tid), l.what);
        let at = self.parts.iter().position(|part| key(&part.label) == key(&label)).unwrap_or(self.parts.len());
        if at == self.parts.len() {
            self.parts.push(Part { label, ns: 0, sure: [0; 3], longest: 0 });
        }
        &mut self.parts[at]
    }
}

impl Part {
    /// The confidence that at least half of it has.
    pub fn confidence(&self) -> Confidence {
        let [suspected, medium, _] = self.sure;
        match self.ns / 2 {
            half if suspected > half => Confidence::Suspected,
            half if suspected + medium > half => Confidence::Medium,
            _ => Confidence::High,
        }
    }
}

/// A stretch of time in which one CPU did one thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub from: u64,
    pub to: u64,
    pub doing: Doing,
    /// It began with a switch.
    pub switched: bool,
    /// A reschedule was wanted at its beginning; at its end, if an interrupt ended it.
    pub resched: Option<bool>,
    pub resched_after: Option<bool>,
    pub preempt_off: bool,
    pub irqs_off: bool,
}

impl Piece {
    /// Nothing is known about it.
    fn unknown(from: u64, to: u64) -> Piece {
        Piece {
            from,
            to,
            doing: Doing::Unknown,
            switched: false,
            resched: None,
            resched_after: None,
            preempt_off: false,
            irqs_off: false,
        }
    }

    /// Its length, ns.
    pub fn ns(&self) -> u64 {
        self.to - self.from
    }
}

/// What `cpu` did from `from` to `to`, without holes.
pub(super) fn pieces(cpu: Option<&Cpu>, from: u64, to: u64) -> Vec<Piece> {
    let mut all = Vec::new();
    let mut at = from;
    if let Some(cpu) = cpu {
        let first = cpu.since(from);
        for (n, segment) in cpu.history.iter().enumerate().skip(first).take_while(|(_, s)| s.t < to) {
            let next = cpu.history.get(n + 1);
            let (start, end) = (segment.t.max(at), next.map_or(to, |s| s.t).min(to));
            if start > at {
                all.push(Piece::unknown(at, start));
            }
            if end > start {
                let resched_after = next.filter(|next| !next.switched && next.t <= to).and_then(|next| next.resched);
                all.push(Piece {
                    from: start,
                    to: end,
                    doing: segment.doing,
                    switched: segment.switched && segment.t >= from,
                    resched: segment.resched,
                    resched_after,
                    preempt_off: segment.preempt_off,
                    irqs_off: segment.irqs_off,
                });
            }
            at = at.max(end);
        }
    }
    if at < to {
        all.push(Piece::unknown(at, to));
    }
    all
}

/// The wakeup as the rules see it.
pub(super) struct Walk<'a> {
    pub machine: &'a Machine,
    pub window: &'a Window,
    pub facts: &'a Facts,
    pub tally: Tally,
    /// Pieces that were looked at.
    pub steps: u64,
    /// Every piece with its label's class, for a picture; `None`: not wanted. Later ones overrule earlier ones.
    pub drawn: Option<Vec<Drawn>>,
}

/// A labelled piece of a CPU's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub cpu: u32,
    pub from: u64,
    pub to: u64,
    pub class: Class,
    /// It is an interrupt or softirq on top of what the CPU did, not the thread below.
    pub nested: bool,
}

/// Where in the wakeup a piece lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub cpu: u32,
    /// Before sched_waking.
    pub early: bool,
    /// What leads to the waking had begun: a sender was in its call, or an interrupt had come.
    pub released: bool,
    /// On the CPU that the victim will want.
    pub wanted: bool,
    /// The scheduler passed the victim over (fair server, throttling).
    pub passed_over: Option<Label>,
}

impl Walk<'_> {
    /// Labels everything from T0 to T3.
    pub fn run(&mut self) {
        let waking = &self.window.waking;
        let (t0, t2, t3) = (waking.t0, waking.t2, self.window.t3);
        let first = waking.path.first().map_or(self.window.cpu, |(_, cpu)| *cpu);
        let from_cpu = waking.from_cpu;
        let early = pieces(self.machine.cpu(from_cpu), t0, t2);
        let wanted = first == from_cpu;
        let mut place = Place { cpu: from_cpu, early: true, released: self.facts.sent, wanted, passed_over: None };
        for piece in &early {
            place.released |= matches!(piece.doing, Doing::Hard(_));
            self.label(piece, place);
        }
        for (from, to, cpu) in self.stays(t2, t3) {
            let late = pieces(self.machine.cpu(cpu), from, to);
            let passed_over = server::passed_over(self, &late);
            for piece in &late {
                self.label(piece, Place { cpu, early: false, released: true, wanted: true, passed_over });
            }
        }
    }

    /// Labels nothing.
    pub fn give_up(&mut self) {
        let label = Label::new(Class::Unaccounted, Confidence::Suspected, Why::NotTraced);
        self.tally.add(label, self.window.t3 - self.window.waking.t0);
    }

    /// On which CPU the victim waited when.
    fn stays(&self, t2: u64, t3: u64) -> Vec<(u64, u64, u32)> {
        let path = &self.window.waking.path;
        let mut stays = Vec::new();
        for (n, (from, cpu)) in path.iter().enumerate() {
            let to = path.get(n + 1).map_or(t3, |(next, _)| *next);
            // The last one must be the CPU it got; if not, a move is missing in the trace.
            let cpu = if n + 1 == path.len() { self.window.cpu } else { *cpu };
            stays.push(((*from).clamp(t2, t3), to.clamp(t2, t3), cpu));
        }
        stays
    }

    fn label(&mut self, piece: &Piece, place: Place) {
        use Confidence::{High, Medium};
        self.steps += 1;
        if carrier::label(self, piece, place) {
            return;
        }
        let early = place.early && self.window.waking.t1.is_none_or(|t1| piece.from < t1);
        let label = match piece.doing {
            Doing::Unknown => Label::new(Class::Unaccounted, High, Why::NotTraced),
            Doing::Hard(name) => {
                let label = Label::new(Class::Irq, High, Why::Nested).doing(What::Interrupt(name));
                let brief = self.machine.name(name) == "local_timer";
                return gap::whole(self, piece, place, label, brief);
            }
            Doing::Nmi => Label::new(Class::Irq, High, Why::Nested).doing(What::Nmi),
            Doing::Soft(_, Some(task)) if self.passes_softirq(task, early) => {
                return gap::low(self, piece, place, Some(task));
            }
            Doing::Soft(vec, task) => {
                let sure = if early { Medium } else { High };
                let label = Label::new(Class::Softirq, sure, Why::Nested).doing(What::Softirq(vec));
                let thread = task.filter(|task| thread_class(task.comm).is_some());
                match (thread, place.passed_over) {
                    (Some(task), Some(passed_over)) if self.is_low(Doing::Task(task)) => passed_over.of(task),
                    (Some(task), _) => Label { what: None, ..label.of(task) },
                    (None, _) => label,
                }
            }
            Doing::Idle => return gap::low(self, piece, place, None),
            Doing::Task(task) => match self.task(task, place.wanted) {
                Some(label) => return gap::ran(self, piece, place, label),
                None => return gap::low(self, piece, place, Some(task)),
            },
        };
        gap::without_stalls(self, piece, place, label);
    }

    /// Labels a piece after sched_switch to the victim.
    pub fn after(&mut self, piece: &Piece, place: Place) {
        match piece.doing {
            Doing::Task(task) if task.tid == self.window.tid => {
                self.steps += 1;
                let label = Label::new(Class::ReturnToUser, Confidence::High, Why::Returning);
                gap::whole(self, piece, place, label, true);
            }
            _ => self.label(piece, place),
        }
    }

    /// The label of a task that runs by its priority; `None`: the victim should have run instead.
    pub fn task(&self, task: Running, wanted: bool) -> Option<Label> {
        use Confidence::High;
        if task.tid == self.window.tid {
            return Some(Label::new(Class::Unaccounted, High, Why::Itself));
        }
        if !wanted {
            return None;
        }
        let Some((prio, own)) = self.prio(task).zip(self.window.prio) else {
            return Some(Label::new(Class::Unaccounted, High, Why::NoPrio));
        };
        let ordinary = prio >= 100 && own >= 100;
        let class = match prio {
            _ if ordinary || prio == own => Class::SamePriority,
            _ if prio < own => Class::HigherPriority,
            _ => return None,
        };
        let (class, why) = match thread_class(task.comm) {
            Some(class) => (class, Why::Ran),
            None if task.boosted => (Class::PriorityInversion, Why::Boosted),
            None => (class, Why::Ran),
        };
        let (sure, why) = if task.changed { (Confidence::Medium, Why::Changed) } else { (High, why) };
        Some(Label::new(class, sure, why).of(Running { prio: Some(prio), ..task }))
    }

    /// Keeps a label for the picture.
    pub fn draw(&mut self, (cpu, doing): (u32, Doing), (from, to): (u64, u64), class: Class) {
        if let Some(drawn) = &mut self.drawn {
            // The softirq of a thread is that thread's span.
            let nested = matches!(doing, Doing::Hard(_) | Doing::Nmi | Doing::Soft(_, None));
            drawn.push(Drawn { cpu, from, to, class, nested });
        }
    }

    /// Raw kernel priority, as the trace last told it.
    pub fn prio(&self, task: Running) -> Option<i32> {
        task.prio.or_else(|| self.machine.tasks.find(task.tid).and_then(|known| known.prio))
    }

    /// The task has a worse priority than the victim, or is idle.
    pub fn is_low(&self, doing: Doing) -> bool {
        match doing {
            Doing::Idle => true,
            Doing::Task(task) => self.task(task, true).is_none(),
            _ => false,
        }
    }
}
