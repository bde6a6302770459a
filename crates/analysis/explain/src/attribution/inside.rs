//! Detects interrupts without an entry event: by flags, by the functions of a function trace, and by an exit whose
//! entry precedes the trace.

use super::cpu::{Cpu, Doing, Frame};
use super::functions::is_entry;
use super::machine::Machine;
use super::vectors::{key_of, vector_name};
use punctual_trace::{Context, Event, Kind, Symbol};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A softirq that is known by flags only.
pub(super) const SOFTIRQ: u32 = u32::MAX;
/// Name of an interrupt that is known by flags only.
pub(super) const UNNAMED: &str = "not named";
const TIMER: &str = "timer";
/// Bit that marks the keys of interrupts known by flags only.
const BY_FLAGS: u64 = 1 << 62;
/// Maximum time between two events in the same interrupt, unless a handler spans them, ns.
const ONE: u64 = 50_000;

/// The interrupt that contains the last events of a CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Inside {
    /// Context of the last event.
    context: Option<Context>,
    /// Time of the first of the events in the same interrupt.
    pub since: Option<u64>,
    handler: Option<u16>,
    timer: bool,
    /// The name of the interrupt, once its functions or a stack show it.
    name: Option<u16>,
    /// True after `irq_exit`: the next handler or timer belongs to another interrupt.
    exited: bool,
    /// True from `schedule` on: no thread is switched in an interrupt, although the flags of the -rt patches of 2.6 say so.
    schedules: bool,
    /// True if the last event is a function of the handler of NMIs.
    nmi: bool,
    /// True if the last event comes from a wakeup tracer, whose next lines follow in the same call
    /// (kernel/trace/trace_sched_wakeup.c, probe_wakeup).
    probe: bool,
    /// Start of the CPU's trace, kept until an event shows that no interrupt was in progress at that time.
    cut: Cut,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cut {
    #[default]
    NoEvent,
    Perhaps(u64),
    No,
}

impl Inside {
    /// Handles the stack of an event in the interrupt.
    pub fn stack(&mut self, frames: &[Symbol]) {
        self.timer |= self.since.is_some() && frames.iter().any(is_timer);
    }

    /// Handles a function of a function trace; `starts` is set if this function is the handler of an interrupt.
    fn function(&mut self, event: &Event, starts: Option<u16>) {
        if let Kind::HrtimerExpireEntry { .. } = event.kind {
            self.timer = true;
        }
        let Kind::Function { function, parent } = &event.kind else { return };
        let timer = is_timer(function) || parent.as_ref().is_some_and(is_timer);
        let exits = named(function).contains("irq_exit");
        // What precedes the first handler shown may be another interrupt if the entry precedes the trace.
        let is_first = self.since.is_some_and(|since| self.cut == Cut::Perhaps(since)) && self.handler.is_none();
        let begins = is_first && !self.timer && (is_timer(function) || starts.is_some());
        if self.exited && !exits && (timer || starts.is_some()) || begins || is_entry(function) {
            (self.since, self.name, self.exited) = (Some(event.t_ns), None, false);
        }
        self.timer |= timer;
        if exits || parent.as_ref().is_some_and(dispatches) {
            self.exited |= exits;
            self.timer &= !exits;
            self.handler = None;
        }
        self.handler = starts.or(self.handler);
    }
}

impl Machine {
    /// Determines the activity since the last event of this CPU, which is known only now.
    pub(super) fn interrupted(&mut self, event: &Event) {
        let most = self.most();
        let exit = match &event.kind {
            Kind::IrqExit { irq, .. } => Some((1 << 32 | u64::from(*irq), format!("irq {irq}"))),
            Kind::VectorExit { vector, .. } => Some((key_of(vector), vector_name(vector))),
            _ => None,
        };
        let context = event.flags.and_then(|flags| flags.context);
        let context = context.filter(|_| !self.schedules(event));
        let starts = match &event.kind {
            Kind::Function { function, parent: Some(parent) } if is_hardirq(context) => {
                handler(function, parent).map(|name| self.named_by_flags(name))
            }
            _ => None,
        };
        let first = self.cpu(event.cpu).is_none_or(|cpu| !cpu.entered && !in_frame(cpu));
        let of_exit = exit.filter(|_| first).map(|(key, text)| self.named(key, || text));
        let pair = self.cpu(event.cpu).filter(|cpu| is_hardirq(cpu.inside.context) && is_hardirq(context));
        let timer = pair.map(|cpu| cpu.inside.timer);
        let unnamed = timer.map(|timer| self.named_by_flags(if timer { TIMER } else { UNNAMED }));
        let Some(cpu) = self.cpu_mut(event.cpu) else { return };
        let before = std::mem::replace(&mut cpu.inside.context, context);
        let since = cpu.last.filter(|last| *last < event.t_ns);
        let gap = since.map_or(0, |since| event.t_ns - since);
        match before {
            Some(Context::Softirq) => cpu.in_soft += gap,
            Some(hard) if hard.is_hard() => cpu.in_hard += gap,
            _ => {}
        }
        if let Some(name) = of_exit
            && let Some(from) = cpu.inside.begun().or(since)
        {
            cpu.rewrite(from, Doing::Hard(name), most);
            cpu.turn(event.t_ns, event.flags, false, most);
        } else if let Some(since) = since {
            let one = gap <= ONE || cpu.inside.probe || cpu.inside.handler.is_some() && starts.is_none();
            // The time before its handler is part of the interrupt too.
            let known = cpu.inside.handler.or(unnamed.filter(|_| timer == Some(true)));
            let since = match (known, cpu.inside.name, cpu.inside.since) {
                (Some(_), None, Some(began)) if one => began.min(since),
                _ => since,
            };
            cpu.inside.name = known.or(cpu.inside.name).filter(|_| one);
            let doing = match (before, context) {
                _ if in_frame(cpu) => None,
                (Some(Context::Nmi | Context::NmiInHardirq), Some(Context::Nmi | Context::NmiInHardirq)) => {
                    cpu.frames.is_empty().then_some(Doing::Nmi)
                }
                (Some(Context::Softirq), Some(Context::Softirq)) => {
                    cpu.frames.is_empty().then_some(Doing::Soft(SOFTIRQ, cpu.current))
                }
                _ if cpu.inside.nmi && is_nmi(&event.kind) => cpu.frames.is_empty().then_some(Doing::Nmi),
                _ if one => cpu.inside.name.or(unnamed).filter(|_| unnamed.is_some()).map(Doing::Hard),
                _ => {
                    cpu.inside.since = None;
                    None
                }
            };
            if let Some(doing) = doing {
                cpu.rewrite(since, doing, most);
                cpu.turn(event.t_ns, event.flags, false, most);
            }
        }
        cpu.inside.see(event, context, starts);
        let wakes = matches!(event.kind, Kind::SchedWaking { .. } | Kind::SchedWakeup { .. });
        if wakes && cpu.inside.since == Some(event.t_ns) && !cpu.entered && cpu.frames.is_empty() {
            cpu.turn(event.t_ns, event.flags, false, most);
        }
    }

    /// True if the event belongs to the scheduler, which has been entered since the last interrupt.
    fn schedules(&mut self, event: &Event) -> bool {
        const SCHEDULERS: [&str; 2] = ["schedule", "__schedule"];
        let is_hard = is_hardirq(event.flags.and_then(|flags| flags.context));
        let Some(cpu) = self.cpu_mut(event.cpu) else { return false };
        let inside = &mut cpu.inside;
        match &event.kind {
            _ if !is_hard => inside.schedules = false,
            Kind::Function { function, .. } if is_entry(function) => inside.schedules = false,
            Kind::Function { function, .. } => inside.schedules |= SCHEDULERS.contains(&named(function)),
            Kind::IrqEntry { .. } | Kind::VectorEntry { .. } => inside.schedules = false,
            _ => {}
        }
        inside.schedules
    }

    /// Returns the index of the name of an interrupt that is known by flags.
    fn named_by_flags(&mut self, name: &str) -> u16 {
        self.named(BY_FLAGS | hash(name), || name.to_owned())
    }
}

impl Inside {
    /// Returns the start of an interrupt whose entry precedes the trace.
    fn begun(&self) -> Option<u64> {
        match self.cut {
            Cut::Perhaps(since) => Some(since),
            _ => None,
        }
    }

    fn ends(&mut self) {
        (self.handler, self.timer, self.name, self.exited) = (None, false, None, false);
    }

    fn see(&mut self, event: &Event, context: Option<Context>, starts: Option<u16>) {
        self.nmi = is_nmi(&event.kind);
        self.probe = matches!(event.kind, Kind::SchedWakeup { by: Some(_), .. });
        if matches!(event.kind, Kind::IrqExit { .. } | Kind::VectorExit { .. }) {
            (self.context, self.since) = (None, None);
            self.ends();
        } else if is_hardirq(context) {
            self.since = self.since.or(Some(event.t_ns));
            self.function(event, starts);
        } else {
            self.since = None;
            self.ends();
        }
        let outside = context.is_some_and(|context| !context.is_hard())
            || matches!(
                event.kind,
                Kind::SchedSwitch { .. }
                    | Kind::SoftirqEntry { .. }
                    | Kind::SoftirqExit { .. }
                    | Kind::CpuIdle { .. }
                    | Kind::SysEnter { .. }
                    | Kind::SysExit { .. }
                    | Kind::IrqEntry { .. }
                    | Kind::IrqExit { .. }
                    | Kind::VectorEntry { .. }
                    | Kind::VectorExit { .. }
            );
        self.cut = match self.cut {
            _ if outside => Cut::No,
            Cut::NoEvent => Cut::Perhaps(event.t_ns),
            known => known,
        };
    }
}

/// True if an interrupt is in progress according to its entry event.
fn in_frame(cpu: &Cpu) -> bool {
    cpu.frames.iter().any(|frame| matches!(frame, Frame::Hard { .. }))
}

fn is_hardirq(context: Option<Context>) -> bool {
    matches!(context, Some(Context::Hardirq | Context::HardirqInSoftirq))
}

fn named(symbol: &Symbol) -> &str {
    match symbol {
        Symbol::Name(name) => name,
        Symbol::Address(_) => "",
    }
}

/// True for `hrtimer_interrupt`, `sysvec_apic_timer_interrupt`, `riscv_timer_interrupt`; `arch_timer_handler_virt`.
fn is_timer(symbol: &Symbol) -> bool {
    let name = named(symbol);
    name.contains("timer_interrupt") || name.starts_with("arch_timer_handler")
}

/// True for `do_nmi`, `nmi_watchdog_tick`, `default_do_nmi`, `exc_nmi`.
fn is_nmi(kind: &Kind) -> bool {
    let of_nmi = |symbol: &Symbol| named(symbol).split(['_', '+']).any(|part| part == "nmi");
    matches!(kind, Kind::Function { function, parent } if of_nmi(function) || parent.as_ref().is_some_and(of_nmi))
}

/// True for functions that call handlers of devices (kernel/irq/handle.c); before Linux 4.6, their names lack the
/// underscores.
fn dispatches(parent: &Symbol) -> bool {
    let name = named(parent).split('+').next().unwrap_or_default();
    name.ends_with("handle_irq_event_percpu") || name.starts_with("handle_") && name.ends_with("_irq")
}

/// Returns the handler that begins, if `function` is one.
fn handler<'s>(function: &'s Symbol, parent: &Symbol) -> Option<&'s str> {
    const OWN: [&str; 5] = [
        "__handle_irq_event_percpu",
        "note_interrupt",
        "add_interrupt_randomness",
        "__irq_wake_thread",
        "irq_wake_thread",
    ];
    let name = named(function).split('+').next().filter(|name| !name.is_empty() && !OWN.contains(name))?;
    let of_device = named(parent).split('+').next().is_some_and(|parent| parent.ends_with("handle_irq_event_percpu"));
    (of_device && !name.starts_with("_raw_spin") && !name.starts_with("preempt_count")).then_some(name)
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish() >> 4
}

/// True if the interrupt with this key is known by flags only.
pub(super) fn by_flags(key: u64) -> bool {
    key & BY_FLAGS != 0
}
