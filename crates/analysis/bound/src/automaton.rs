//! The automaton of one CPU: from events to sections.
//!
//! The kernel's tracepoints do not say why preemption or interrupts are disabled; the paper patches the kernel so that
//! they do. Here a section is any time in which preemption or interrupts are disabled, without interruption. What cannot
//! be told apart is taken on the safe side:
//!
//! - A section with a context switch to a thread counts as a whole as scheduling (psd), also what precedes the
//!   scheduler. One without a switch counts as poid. In a section with a switch, dst begins where interrupts are
//!   disabled before the switch.
//! - Interrupts are recognised by the context that the kernel records with each event. The time that is taken off the
//!   section is that from the first to the last event in hard interrupt context. The time that is counted as
//!   interference is longer: it ends where interrupts are enabled, and it begins where the section before ended if that
//!   was a moment ago, since the interrupt may have been pending.
//! - paie lasts from the end of a section with a reschedule pending to the beginning of the section that switches,
//!   including sections in between.
//! - If the flags of an event contradict the events so far, the section is lengthened to the neighbouring event.

use crate::interrupts::{Interrupts, Source};
use crate::longest::{Longest, Place, Places};
use punctual_trace::{Context, Event, Flags, Kind, Symbol};

/// An interrupt that begins this soon after interrupts were enabled, ns, and the time that an event takes, is taken to
/// have been pending.
const PENDING: u64 = 2000;
/// Number of functions that enter interrupts; an architecture has a few.
const ENTRIES: usize = 16;

/// What the sections of one CPU amount to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) poid: Places,
    pub(crate) dst: Places,
    pub(crate) paie: Places,
    pub(crate) psd: Places,
    /// From the beginning of a section to its switch, if that leads to the idle task.
    pub(crate) before_idle: Places,
    /// Longest time from a switch to a thread to the end of the section.
    pub(crate) after_switch: u64,
    pub(crate) interrupts: Interrupts,
    pub(crate) sections: u64,
    pub(crate) uncertain: u64,
    /// Functions in which interrupts begin.
    entries: Vec<Option<Symbol>>,
}

#[derive(Clone, Debug)]
struct Section {
    start: u64,
    begins: Place,
    /// Time taken by interrupts so far.
    taken: u64,
    /// When interrupts were last disabled before the switch, and the time taken until then.
    masked: (u64, u64),
    switch: Option<Switch>,
}

/// The first switch of a section.
#[derive(Clone, Copy, Debug)]
struct Switch {
    at: u64,
    taken: u64,
    /// True if any switch of the section leads to a thread.
    is_to_thread: bool,
}

#[derive(Clone, Debug)]
struct Interrupt {
    source: Source,
    /// From here on its time counts as interference.
    counted_from: u64,
    /// From here to `last` its time is taken off the section.
    start: u64,
    last: u64,
}

/// Interrupts were just disabled: by an interrupt, if the next event is in its context.
#[derive(Clone, Debug)]
struct Suspect {
    at: u64,
    counted_from: u64,
    entry: Option<Symbol>,
    in_section: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// Resolution of the times, ns, by which every length may be too short.
    resolution: u64,
    last: Option<u64>,
    /// Smallest distance of two events, ns: about the time that the kernel takes to record one.
    shortest: Option<u64>,
    irqs_off: bool,
    preempt_off: bool,
    /// The idle task waits: preemption is disabled, and delays nothing.
    is_idle: bool,
    /// The time of a cpu_idle event that precedes the waiting.
    idle_from: Option<u64>,
    section: Option<Section>,
    /// End of the last section.
    ended: Option<u64>,
    suspect: Option<Suspect>,
    interrupt: Option<Interrupt>,
    /// Beginning of what may be an interrupt without events.
    untold: Option<u64>,
    /// Time of the event before an NMI whose beginning has no event.
    nmi_from: Option<u64>,
    /// A reschedule is pending since the end of a section: that time, its place, and the time taken by interrupts.
    pending: Option<(u64, Place, u64)>,
}

impl Cpu {
    pub(crate) fn new(resolution: u64) -> Cpu {
        Cpu {
            resolution,
            last: None,
            shortest: None,
            irqs_off: false,
            preempt_off: false,
            is_idle: false,
            idle_from: None,
            section: None,
            ended: None,
            suspect: None,
            interrupt: None,
            untold: None,
            nmi_from: None,
            pending: None,
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// Follows an event of this CPU.
    pub(crate) fn event(&mut self, event: &Event, flags: Flags, found: &mut Found) {
        match self.last {
            None => self.begin(event, flags),
            Some(last) => {
                let distance = event.t_ns.saturating_sub(last);
                self.shortest = Some(self.shortest.map_or(distance, |shortest| shortest.min(distance)));
            }
        }
        if flags.context.is_some_and(|context| matches!(context, Context::Nmi | Context::NmiInHardirq)) {
            self.in_nmi(event, found);
        } else {
            if let Some(from) = self.nmi_from.take() {
                found.interrupts.add(Source::Nmi, from, event.t_ns - from + self.resolution);
            }
            self.tell(event, flags, found);
            self.agree(event, flags, found);
            self.step(event, flags, found);
        }
        self.last = Some(event.t_ns);
    }

    /// Ends the section that is under way at the end of the recording.
    pub(crate) fn finish(&mut self, found: &mut Found) {
        if let (Some(last), None) = (self.last, self.idle_from) {
            let at =
                Longest { ns: 0, at: last, tid: None, comm: None, begins: Place::default(), ends: Place::default() };
            self.end_interrupt(last, found);
            self.close(at, false, found);
        }
    }

    fn begin(&mut self, event: &Event, flags: Flags) {
        let changes_irqs = matches!(event.kind, Kind::IrqDisable { .. });
        let changes_preemption = matches!(event.kind, Kind::PreemptDisable { .. });
        self.irqs_off = flags.irqs_off == Some(true) && !changes_irqs;
        self.preempt_off = flags.preempt_depth.is_some_and(|depth| depth > 0) && !changes_preemption;
        if self.irqs_off || self.preempt_off {
            self.open(event.t_ns, Place::default());
        }
    }

    fn open(&mut self, at: u64, begins: Place) {
        if self.section.is_none() {
            self.section = Some(Section { start: at, begins, taken: 0, masked: (at, 0), switch: None });
        }
    }

    /// Length of a time without what interrupts took of it.
    fn length(&self, from: u64, to: u64, taken: u64) -> u64 {
        to.saturating_sub(from).saturating_sub(taken) + self.resolution
    }

    fn in_nmi(&mut self, event: &Event, found: &mut Found) {
        let t = event.t_ns;
        match &event.kind {
            // The entry and exit of an NMI that interrupts neither a section with interrupts off nor another NMI.
            Kind::IrqDisable { caller, parent } if !self.irqs_off => {
                self.irqs_off = true;
                self.open(t, Place { function: caller.clone(), parent: parent.clone() });
                self.interrupt = Some(Interrupt { source: Source::Nmi, counted_from: t, start: t, last: t });
            }
            Kind::IrqEnable { .. } if self.interrupt.as_ref().is_some_and(|i| i.source == Source::Nmi) => {
                self.end_interrupt(t, found);
                self.irqs_off = false;
                if !self.preempt_off || self.is_idle {
                    self.close(longest(event), false, found);
                }
            }
            _ => match &mut self.interrupt {
                Some(interrupt) if interrupt.source == Source::Nmi => interrupt.last = t,
                _ => self.nmi_from = self.nmi_from.or(self.last),
            },
        }
    }

    /// Tells whether interrupts were disabled by an interrupt, from the first event after.
    fn tell(&mut self, event: &Event, flags: Flags, found: &mut Found) {
        let is_hard = flags.context.is_some_and(Context::is_hard);
        if let Some(suspect) = self.suspect.take() {
            if is_hard {
                let Suspect { at, counted_from, entry, .. } = suspect;
                self.interrupt = Some(Interrupt { source: Source::Unnamed, counted_from, start: at, last: at });
                if found.entries.len() < ENTRIES && !found.entries.contains(&entry) {
                    found.entries.push(entry);
                }
            } else if suspect.in_section && found.entries.contains(&suspect.entry) {
                self.untold = Some(suspect.counted_from);
            }
        }
        if !is_hard {
            return;
        }
        let before = self.last.unwrap_or(event.t_ns);
        let interrupt = self.interrupt.get_or_insert_with(|| {
            found.uncertain += 1;
            Interrupt { source: Source::Unnamed, counted_from: before, start: event.t_ns, last: event.t_ns }
        });
        interrupt.last = event.t_ns;
        if interrupt.source == Source::Unnamed {
            match &event.kind {
                Kind::VectorEntry { vector, .. } => interrupt.source = Source::Vector(vector.clone()),
                Kind::IrqEntry { irq, name } => interrupt.source = Source::Irq(*irq, name.clone()),
                _ => {}
            }
        }
    }

    /// Brings the state into agreement with the flags of an event, before the change that the event reports. Changes
    /// without an event lengthen a section. Those of the idle task around its waiting are no surprise.
    fn agree(&mut self, event: &Event, flags: Flags, found: &mut Found) {
        let (t, before) = (event.t_ns, self.last.unwrap_or(event.t_ns));
        let surprise = u64::from(event.tid != Some(0));
        let irqs_off = match event.kind {
            // The kernel reports changes only (kernel/trace/trace_preemptirq.c).
            Kind::IrqDisable { .. } => false,
            Kind::IrqEnable { .. } => true,
            _ => flags.irqs_off.unwrap_or(self.irqs_off),
        };
        let is_task = flags.context == Some(Context::Task) && flags.bh_off != Some(true);
        let preempt_off = match event.kind {
            Kind::PreemptDisable { .. } => false,
            Kind::PreemptEnable { .. } => true,
            // Some interrupts count themselves without an event.
            _ if flags.context.is_some_and(Context::is_hard) => self.preempt_off,
            _ => match flags.preempt_depth {
                // The depth does not count interrupts and softirqs.
                Some(0) if is_task => false,
                Some(0) | None => self.preempt_off,
                Some(_) => true,
            },
        };
        let waits = self.is_idle || self.idle_from.is_some();
        if (irqs_off && !self.irqs_off || preempt_off && !self.preempt_off) && !waits {
            found.uncertain += surprise;
            self.open(before, Place::default());
        }
        if !irqs_off && self.irqs_off {
            self.end_interrupt(t, found);
        }
        let is_less = !irqs_off && self.irqs_off || !preempt_off && self.preempt_off;
        (self.irqs_off, self.preempt_off) = (irqs_off, preempt_off);
        if is_less {
            found.uncertain += surprise;
            // A section that ended unnoticed and one that begins here count as one.
            let begins = matches!(event.kind, Kind::IrqDisable { .. } | Kind::PreemptDisable { .. });
            if !irqs_off && !preempt_off && !begins {
                self.close(longest(event), resched(flags), found);
            }
        }
    }

    fn step(&mut self, event: &Event, flags: Flags, found: &mut Found) {
        let t = event.t_ns;
        let is_hard = flags.context.is_some_and(Context::is_hard);
        let waits_from = self.idle_from.take();
        if waits_from.is_some() && !matches!(event.kind, Kind::IrqEnable { .. } | Kind::CpuIdle { .. }) {
            self.wait(waits_from.unwrap_or(t), event, found);
        }
        match &event.kind {
            Kind::IrqDisable { caller, parent } if !self.irqs_off => {
                self.irqs_off = true;
                let pending = self.section.is_none() && !self.is_idle;
                let soon = PENDING + self.shortest.unwrap_or(0) + self.resolution;
                let ended = self.ended.filter(|ended| pending && t - ended <= soon);
                let in_section = self.section.is_some();
                self.is_idle = false;
                self.open(t, Place { function: caller.clone(), parent: parent.clone() });
                if let Some(section) = &mut self.section
                    && section.switch.is_none()
                {
                    section.masked = (t, section.taken);
                }
                let counted_from = ended.unwrap_or(t);
                self.suspect = Some(Suspect { at: t, counted_from, entry: caller.clone(), in_section });
            }
            Kind::IrqEnable { .. } => {
                self.end_interrupt(t, found);
                self.irqs_off = false;
                if let Some(from) = self.untold.take() {
                    found.interrupts.add(Source::Untold, from, t - from + self.resolution);
                }
                if waits_from.is_some() {
                    self.wait(t, event, found);
                } else if !self.preempt_off || self.is_idle {
                    self.close(longest(event), resched(flags), found);
                }
            }
            Kind::PreemptDisable { caller, parent } => {
                if !is_hard {
                    self.end_interrupt(t, found);
                }
                self.preempt_off = true;
                self.open(t, Place { function: caller.clone(), parent: parent.clone() });
            }
            Kind::PreemptEnable { .. } => {
                self.preempt_off = false;
                if !self.irqs_off {
                    self.close(longest(event), resched(flags), found);
                }
            }
            Kind::SchedSwitch { next, .. } => {
                self.end_interrupt(t, found);
                self.open(t, Place::default());
                if let Some(section) = &mut self.section {
                    let first = Switch { at: t, taken: section.taken, is_to_thread: false };
                    section.switch.get_or_insert(first).is_to_thread |= next.tid != 0;
                }
            }
            Kind::CpuIdle { state: Some(_), cpu } if *cpu == event.cpu => self.idle_from = Some(t),
            Kind::CpuIdle { state: None, cpu } if *cpu == event.cpu => {
                self.is_idle = false;
                // The idle task disables preemption for as long as it runs.
                self.preempt_off = true;
                self.open(t, Place::default());
            }
            _ => {}
        }
    }

    /// The idle task begins to wait.
    fn wait(&mut self, from: u64, event: &Event, found: &mut Found) {
        self.close(Longest { at: from, ..longest(event) }, false, found);
        self.is_idle = true;
        self.irqs_off = false;
    }

    fn end_interrupt(&mut self, t: u64, found: &mut Found) {
        let Some(interrupt) = self.interrupt.take() else { return };
        let ns = t.saturating_sub(interrupt.counted_from) + self.resolution;
        found.interrupts.add(interrupt.source, interrupt.counted_from, ns);
        if let Some(section) = &mut self.section {
            let inside = interrupt.last.saturating_sub(interrupt.start.max(section.start));
            section.taken += inside.saturating_sub(self.resolution);
        }
    }

    /// Ends the section. `end` has the time, thread and place of its end. `is_pending`: a reschedule is pending.
    fn close(&mut self, end: Longest, is_pending: bool, found: &mut Found) {
        let Some(section) = self.section.take() else { return };
        let t = end.at;
        found.sections += 1;
        self.suspect = None;
        let found_at = |ns: u64| Longest { ns, begins: section.begins.clone(), ..end.clone() };
        let whole = self.length(section.start, t, section.taken);
        match section.switch {
            None => found.poid.offer(whole, || found_at(whole)),
            Some(switch) => {
                let (masked, taken) = section.masked;
                let dst = self.length(masked, t, section.taken - taken);
                found.dst.offer(dst, || found_at(dst));
                if switch.is_to_thread {
                    found.psd.offer(whole, || found_at(whole));
                    let after = self.length(switch.at, t, section.taken - switch.taken);
                    found.after_switch = found.after_switch.max(after);
                } else {
                    let before = self.length(section.start, switch.at, switch.taken);
                    found.before_idle.offer(before, || found_at(before));
                }
            }
        }
        if let Some((since, place, taken)) = self.pending.take() {
            if section.switch.is_some() || !is_pending {
                let paie = self.length(since, section.start, taken);
                let begins = || place.clone();
                found.paie.offer(paie, || Longest {
                    ns: paie,
                    at: section.start,
                    begins: begins(),
                    ends: section.begins.clone(),
                    ..end.clone()
                });
            } else {
                self.pending = Some((since, place, taken + section.taken));
            }
        }
        if is_pending && self.pending.is_none() {
            self.pending = Some((t, end.ends.clone(), 0));
        }
        self.ended = Some(t);
    }
}

/// Returns true if a reschedule is pending. A lazy one does not concern real-time threads.
fn resched(flags: Flags) -> bool {
    flags.need_resched == Some(true) || flags.preempt_resched == Some(true)
}

/// The end of a section at this event.
fn longest(event: &Event) -> Longest {
    let ends = match &event.kind {
        Kind::IrqEnable { caller, parent } | Kind::PreemptEnable { caller, parent } => {
            Place { function: caller.clone(), parent: parent.clone() }
        }
        _ => Place::default(),
    };
    Longest { ns: 0, at: event.t_ns, tid: event.tid, comm: event.comm, begins: Place::default(), ends }
}
