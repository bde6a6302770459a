//! Events as the kernel records them, and a source of them.

use punctual_trace::{Comm, Context, Event, Flags, Kind, Name, Source, Symbol, Task, TaskState, TraceInfo, Vector};

pub struct Events {
    events: std::vec::IntoIter<Event>,
    pub info: TraceInfo,
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.events.next()
    }
}

impl Source for Events {
    fn info(&self) -> &TraceInfo {
        &self.info
    }
}

pub fn source(events: &[Event]) -> Events {
    let info = TraceInfo { resolution_ns: Some(1), ..TraceInfo::default() };
    Events { events: Vec::from(events).into_iter(), info }
}

/// What the kernel would record as flags of an event.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    pub irqs_off: bool,
    pub depth: u8,
    pub hard: bool,
    pub nmi: bool,
    pub resched: bool,
    pub tid: i32,
}

impl State {
    pub fn flags(self) -> Flags {
        let context = match (self.nmi, self.hard) {
            (true, true) => Context::NmiInHardirq,
            (true, false) => Context::Nmi,
            (false, true) => Context::Hardirq,
            (false, false) => Context::Task,
        };
        Flags {
            irqs_off: Some(self.irqs_off),
            need_resched: Some(self.resched),
            preempt_resched: Some(self.resched),
            context: Some(context),
            preempt_depth: Some(self.depth),
            ..Flags::default()
        }
    }
}

pub fn event(t_ns: u64, state: State, kind: Kind) -> Event {
    let comm = Some(Comm::new(format!("t{}", state.tid).as_bytes()));
    Event { t_ns, cpu: 0, tid: Some(state.tid), comm, flags: Some(state.flags()), kind }
}

pub fn at(function: &str) -> Option<Symbol> {
    Some(Symbol::Name(Name::from(function)))
}

pub fn task(tid: i32) -> Task {
    let prio = match tid {
        0 => 120,
        99 => 1,
        _ => 120,
    };
    Task { tid, comm: Some(Comm::new(format!("t{tid}").as_bytes())), prio: Some(prio) }
}

pub fn switch(prev: i32, next: i32) -> Kind {
    let prev_state = TaskState { letter: b'S', preempted: false };
    Kind::SchedSwitch { prev: task(prev), prev_state, next: task(next) }
}

pub fn timer() -> Kind {
    Kind::VectorEntry { vector: Vector::LocalTimer, number: Some(236) }
}

pub fn irq_off(function: &str) -> Kind {
    Kind::IrqDisable { caller: at(function), parent: None }
}

pub fn irq_on(function: &str) -> Kind {
    Kind::IrqEnable { caller: at(function), parent: None }
}

pub fn preempt_off(function: &str) -> Kind {
    Kind::PreemptDisable { caller: at(function), parent: None }
}

pub fn preempt_on(function: &str) -> Kind {
    Kind::PreemptEnable { caller: at(function), parent: None }
}
