//! Tracks the machine's state, event by event: the activity of every CPU, armed timers, threads about to run.

use super::clock::Clock;
use super::cpu::{Cpu, Doing, Doubtful, Frame, IdleState, Odd, Running, Sent, in_task, push};
use super::ids::IdMap;
use super::inside;
use super::section::{self, Before};
use super::tasks::{Tasks, Timers, Waking};
use super::vectors::{key_of, vector_name};
use punctual_trace::{Comm, Context, CpuMask, Event, Flags, Kind, Symbol, Task, TaskState, Vector};

/// Higher CPU numbers are invalid (the kernel's limit is 8192, CONFIG_NR_CPUS).
const CPUS: usize = 8192;
const HISTORY: usize = 1 << 18;
const NAMES: usize = 4096;

#[derive(Clone, Debug)]
pub(super) struct Window {
    pub tid: i32,
    pub comm: Option<Comm>,
    pub prio: Option<i32>,
    pub cpu: u32,
    pub waking: Waking,
    /// Time of the sched_switch to the woken thread.
    pub t3: u64,
    pub end: End,
}

/// The kind of evidence for the end of a wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The sched_switch to the thread.
    Switch,
    /// The thread's first event without a switch: an upper bound.
    Event,
    /// The header of a wakeup tracer whose lines end before the switch.
    Header,
    /// The thread had not run when the trace ended.
    Open,
}

/// Facts that distinguish kernels, or make verdicts doubtful.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Number of sched_waking or sched_wakeup events.
    pub wakings: u64,
    /// Number of timer expiries; `same_clock` counts the expiries on the trace's own clock.
    pub expiries: u64,
    pub same_clock: u64,
    pub interrupts: u64,
    /// Number of nmi_handler events.
    pub nmis: u64,
    pub switches: u64,
    /// True if the trace shows the period timer of RT throttling, which 6.12 removed (except with RT groups).
    pub rt_period_timer: bool,
    /// True if the trace shows the tick's callback under the name that it had up to Linux 6.8; `new_tick`: under its
    /// name since 6.9.
    pub old_tick: bool,
    pub new_tick: bool,
    /// True if the trace shows a timer of SCHED_DEADLINE entities, of which the fair server is one.
    pub deadline_timer: bool,
    pub stacks: u64,
    /// Number of interrupts sent to other CPUs.
    pub sends: u64,
    /// Number of irq_enable and preempt_enable events.
    pub on_again: u64,
}

#[derive(Debug, Default)]
pub(super) struct Machine {
    cpus: Vec<Option<Box<Cpu>>>,
    known_cpus: usize,
    pub tasks: Tasks,
    pub(super) timers: Timers,
    /// Names of interrupts, and true if known by flags only.
    names: Vec<(String, bool)>,
    name_of: IdMap<u64, u16>,
    pub seen: Seen,
    pub clock: Clock,
    /// Time of the last expiry of a SCHED_DEADLINE budget's timer (dl_task_timer).
    pub replenished: Option<u64>,
    /// Time of the last loss of events.
    pub lost: Option<u64>,
    /// True if events had invalid CPU numbers.
    pub strange_cpus: bool,
    pub now: u64,
    /// Line number of the event being applied, if the trace is text.
    pub line: Option<u64>,
    /// True if the last events that are missing were left out of the text.
    pub left_out: bool,
}

impl Machine {
    pub fn cpu(&self, cpu: u32) -> Option<&Cpu> {
        self.cpus.get(cpu as usize)?.as_deref()
    }

    pub fn cpus(&self) -> impl Iterator<Item = (u32, &Cpu)> + Clone {
        self.cpus.iter().enumerate().filter_map(|(n, cpu)| Some((n as u32, cpu.as_deref()?)))
    }

    pub fn name(&self, index: u16) -> &str {
        self.names.get(usize::from(index)).map_or("interrupt", |(name, _)| name.as_str())
    }

    /// True if an interrupt is known by flags only.
    pub fn by_flags(&self, index: u16) -> bool {
        self.names.get(usize::from(index)).is_some_and(|(_, by_flags)| *by_flags)
    }

    /// Applies an event; returns the wakeup that it completes.
    pub fn apply(&mut self, event: &Event) -> Option<Window> {
        if event.kind == Kind::Restart || event.t_ns < self.now {
            self.restart();
        }
        self.now = event.t_ns;
        self.clock.see(event);
        match &event.kind {
            Kind::Restart => {
                self.now = 0;
                return None;
            }
            Kind::LostEvents { .. } => {
                let most = self.most();
                self.lost = Some(event.t_ns);
                let what = if self.left_out { Odd::LeftOut } else { Odd::Lost };
                self.cpu_mut(event.cpu)?.lose(what, event.t_ns, most);
                return None;
            }
            _ => {}
        }
        if let Kind::Stack { frames } = &event.kind {
            self.seen.stacks += 1;
            if let Some((runs, tid)) = section::kthread(frames).zip(event.tid) {
                self.tasks.get(tid).runs = Some(runs);
            }
            let cpu = self.cpu_mut(event.cpu)?;
            cpu.inside.stack(frames);
            if let Some(last) = cpu.last.filter(|last| *last < event.t_ns) {
                push(&mut cpu.stacks, (last, event.t_ns));
            }
            if let Some(section) = section::ended(cpu.before_stack, event, frames) {
                push(&mut cpu.sections, section);
            }
            return None;
        }
        if matches!(event.kind, Kind::SchedWaking { .. } | Kind::SchedWakeup { .. } | Kind::SchedWakeupNew { .. }) {
            self.seen.wakings += 1;
        }
        self.interrupted(event);
        self.cpu_mut(event.cpu)?.before_stack = Before::Other;
        let unseen = self.present(event)?;
        unseen.iter().for_each(|window| self.came(window));
        match &event.kind {
            Kind::SchedSwitch { prev, prev_state, next } => {
                let window = self.switch(event, prev, *prev_state, next);
                window.iter().for_each(|window| self.came(window));
                return unseen.or(window);
            }
            Kind::SchedWaking { task, target_cpu } => self.waking(event, task, *target_cpu),
            Kind::SchedWakeup { task, target_cpu, by } => {
                if let Some(by) = by {
                    self.tasks.see(by);
                }
                self.wakeup(event, task, *target_cpu);
                // In the wakeup tracers, the stack is that of the waking.
                if by.is_some() && event.flags.and_then(|flags| flags.context).is_some_and(Context::is_hard) {
                    self.cpu_mut(event.cpu)?.before_stack = Before::Expiry { due: event.t_ns, irq: event.t_ns };
                }
            }
            Kind::SchedWakeupNew { task, target_cpu } => self.wakeup(event, task, *target_cpu),
            Kind::SchedMigrate { task, to_cpu, .. } => self.migrate(event.t_ns, task, *to_cpu),
            Kind::PiSetprio { task, new_prio } => self.boost(event, task, *new_prio),
            Kind::Fork { child_tid, child_comm, .. } => {
                self.tasks.forget(*child_tid);
                self.tasks.get(*child_tid).comm = *child_comm;
            }
            Kind::Rename { tid, new: Some(new) } => self.tasks.get(*tid).comm = Some(*new),
            Kind::IpiSend { target: Some(target), what } => self.ipi(event, *target, what.as_ref()),
            Kind::ContentionBegin { lock, flags } => self.contends(event, *lock, Some(*flags)),
            Kind::ContentionEnd { lock } => self.contends(event, *lock, None),
            _ => self.on_cpu(event),
        }
        unseen
    }

    pub(super) fn named(&mut self, key: u64, text: impl FnOnce() -> String) -> u16 {
        let next = self.names.len();
        match self.name_of.get(&key) {
            Some(name) => *name,
            None if next < NAMES => {
                self.names.push((text(), inside::by_flags(key)));
                self.name_of.insert(key, next as u16);
                next as u16
            }
            None => u16::MAX,
        }
    }

    fn restart(&mut self) {
        (self.cpus, self.known_cpus, self.now, self.lost) = (Vec::new(), 0, 0, None);
        self.tasks.restart();
        self.timers.restart();
    }

    pub(super) fn most(&self) -> usize {
        HISTORY / self.known_cpus.max(1)
    }

    pub(super) fn cpu_mut(&mut self, cpu: u32) -> Option<&mut Cpu> {
        let at = cpu as usize;
        if at >= CPUS {
            self.strange_cpus = true;
            return None;
        }
        if at >= self.cpus.len() {
            self.cpus.resize_with(at + 1, || None);
        }
        let slot = self.cpus.get_mut(at)?;
        if slot.is_none() {
            self.known_cpus += 1;
        }
        Some(slot.get_or_insert_default())
    }

    /// Records that the CPU is alive, and the current task according to the event's header; `None` if there is no such
    /// CPU. Without a switch in the trace, the woken thread's first event completes the wakeup: the thread is running
    /// by then at the latest. (Linux
    /// 6.18 in a guest omits switches from the idle task on some CPUs.) The CPU is then doubtful, so every cause is at
    /// most suspected.
    fn present(&mut self, event: &Event) -> Option<Option<Window>> {
        let most = self.most();
        let known = event.tid.and_then(|tid| self.tasks.find(tid)).map(|task| (task.prio, task.comm, task.base));
        let line = self.line;
        let leaves = matches!(&event.kind, Kind::SchedSwitch { prev, .. } if event.tid == Some(prev.tid));
        let cpu = self.cpu_mut(event.cpu)?;
        let last = cpu.last;
        cpu.alive(event.t_ns);
        cpu.line = line;
        if is_calm(event.flags) {
            cpu.calm = Some(Doubtful { at: event.t_ns, line, what: Odd::Calm });
        }
        section::function(cpu, event);
        if in_task(event.flags) && cpu.no_hard(event.t_ns) {
            cpu.turn(event.t_ns, event.flags, false, most);
        }
        // In front of an event, perf may print IDs of a PID namespace; the event itself has those of the initial
        // namespace.
        let own = match &event.kind {
            Kind::SchedSwitch { prev, .. } if prev.comm.is_some() && prev.comm == event.comm => Some(prev.tid),
            _ => event.tid,
        };
        let Some(tid) = own else { return Some(None) };
        let current = cpu.current.map(|c| c.tid);
        if current == Some(tid) {
            cpu.wanted(event.t_ns, event.flags, most);
            cpu.before = None;
            if known.is_some_and(|(_, comm, _)| comm.is_none()) && event.comm.is_some() {
                self.tasks.get(tid).comm = event.comm;
            }
        } else if cpu.before != Some(tid) {
            match current {
                Some(_) => {
                    cpu.odd(Odd::Current, event.t_ns);
                    // The switch to the thread that now leaves is missing, so its time is unknown.
                    if let Some(last) = last.filter(|last| leaves && *last < event.t_ns) {
                        cpu.rewrite(last, Doing::Unknown, most);
                    }
                }
                None => cpu.found_again(tid),
            }
            let (prio, comm, base) = known.unwrap_or_default();
            cpu.current = Some(Running {
                tid,
                prio,
                comm: comm.or(event.comm),
                boosted: base.is_some(),
                changed: false,
                around: false,
            });
            cpu.turn(event.t_ns, event.flags, false, most);
            let known = self.tasks.get(tid);
            known.comm = known.comm.or(event.comm);
            known.on_cpu = Some(event.cpu);
            // The thread leaves the CPU. Its arrival there is not in the trace, so its latency is unknown.
            let waking = known.waking.take_if(|_| tid != 0 && current.is_some()).filter(|_| !leaves);
            let (comm, prio) = (known.comm, known.prio);
            let (cpu, t3) = (event.cpu, event.t_ns);
            let window = |waking: Box<Waking>| Window { tid, comm, prio, cpu, waking: *waking, t3, end: End::Event };
            return Some(waking.map(window));
        }
        Some(None)
    }

    fn switch(&mut self, event: &Event, prev: &Task, prev_state: TaskState, next: &Task) -> Option<Window> {
        self.seen.switches += 1;
        let (t, most) = (event.t_ns, self.most());
        let cpu = self.cpu_mut(event.cpu)?;
        cpu.no_hard(t);
        if cpu.current.is_some_and(|c| c.tid != prev.tid) {
            cpu.odd(Odd::Current, t);
        }
        if event.flags.and_then(|flags| flags.context).is_some_and(Context::is_hard) {
            cpu.odd(Odd::Switch, t);
        }
        cpu.leaves(prev);
        if cpu.idle == IdleState::Polling {
            cpu.idle = IdleState::Unknown;
        }
        let soft = match cpu.frames.pop() {
            Some(Frame::Soft { vec }) => Some(vec),
            _ => None,
        };
        cpu.frames.clear();
        let out = self.tasks.see(prev);
        (out.on_cpu, out.last_out, out.soft) = (None, Some(t), soft);
        out.preempted = prev_state.runnable().then_some(event.cpu);
        out.early = out.early.take().filter(|_| !prev_state.runnable()).and_then(|early| early.on_the_way(t));
        if let Some(locks) = out.locks.as_mut().filter(|_| !prev_state.runnable()) {
            locks.sleeps(t);
        }
        if matches!(prev_state.letter, b'X' | b'x' | b'Z') && prev.tid != 0 {
            self.tasks.forget(prev.tid);
        }
        let known = self.tasks.see(next);
        known.on_cpu = Some(event.cpu);
        let soft = known.soft.take();
        let boosted = known.base.is_some_and(|base| known.prio != Some(base));
        let running =
            Running { tid: next.tid, prio: known.prio, comm: known.comm, boosted, changed: false, around: false };
        let early = known.early.take();
        known.is_unseen = false;
        let (waking, comm, prio) = (known.waking.take().or(early), known.comm, known.prio);
        let taken = known.last_out.zip(known.preempted.take());
        if waking.is_none() && next.tid != 0 {
            self.came_back(next.tid, taken, t, event.cpu);
        }
        let cpu = self.cpu_mut(event.cpu)?;
        (cpu.current, cpu.before, cpu.charged_until) = (Some(running), Some(prev.tid), Some(t));
        cpu.frames.extend(soft.map(|vec| Frame::Soft { vec }));
        cpu.turn(t, event.flags, true, most);
        let waking = waking.filter(|_| next.tid != 0)?;
        cpu.before_stack = Before::Switch { woken: waking.t2 };
        Some(Window { tid: next.tid, comm, prio, cpu: event.cpu, waking: *waking, t3: t, end: End::Switch })
    }

    fn ipi(&mut self, event: &Event, target: CpuMask, what: Option<&Symbol>) {
        self.seen.sends += 1;
        let by = self.cpu(event.cpu).and_then(|cpu| cpu.current).filter(|task| Some(task.tid) == event.tid);
        let sent = Sent { t: event.t_ns, cpu: event.cpu, by, what: what.cloned() };
        let mut send = |cpu: u32| {
            if let Some(cpu) = self.cpus.get_mut(cpu as usize).and_then(|c| c.as_deref_mut()) {
                push(&mut cpu.sent, sent.clone());
            }
        };
        match target {
            CpuMask::One(cpu) => send(cpu),
            CpuMask::Low64(mask) => (0..64).filter(|bit| mask >> bit & 1 == 1).for_each(send),
        }
    }

    fn on_cpu(&mut self, event: &Event) {
        match &event.kind {
            Kind::IrqEntry { irq, name } => {
                let key = 1 << 32 | u64::from(*irq);
                let text =
                    || format!("irq {irq}{}{}", if name.is_some() { " " } else { "" }, name.as_deref().unwrap_or(""));
                self.hard(event, key, text);
            }
            Kind::IrqExit { irq, .. } => self.hard_end(event, 1 << 32 | u64::from(*irq)),
            Kind::VectorEntry { vector, .. } => {
                self.hard(event, key_of(vector), || vector_name(vector));
                match vector {
                    Vector::Reschedule | Vector::CallFunctionSingle | Vector::CallFunction => {
                        self.each(event, |cpu, t| cpu.arrived(t));
                    }
                    _ => {}
                }
            }
            Kind::VectorExit { vector, .. } => self.hard_end(event, key_of(vector)),
            Kind::SoftirqEntry { vec } => self.turned(event, |cpu, t| cpu.enter(Frame::Soft { vec: *vec }, t)),
            Kind::SoftirqExit { vec } => {
                self.turned(event, |cpu, t| {
                    cpu.leave(|f| *f == Frame::Soft { vec: *vec }, t);
                    // On PREEMPT_RT, timers expire in a softirq, and the end of a callback may not be recorded.
                    cpu.expiring = None;
                });
            }
            Kind::NmiHandler { delta_ns, .. } => self.nmi(event, u64::try_from(*delta_ns).unwrap_or(0)),
            Kind::PreemptDisable { .. } => self.turned(event, |cpu, _| cpu.preempt_off = true),
            Kind::PreemptEnable { .. } => {
                self.seen.on_again += 1;
                self.turned(event, |cpu, _| cpu.preempt_off = false);
            }
            Kind::IrqDisable { .. } => self.turned(event, |cpu, _| cpu.irqs_off = true),
            Kind::IrqEnable { .. } => {
                self.seen.on_again += 1;
                self.turned(event, |cpu, _| cpu.irqs_off = false);
            }
            Kind::CpuIdle { state, cpu } if *cpu == event.cpu => {
                self.turned(event, |cpu, _| cpu.idle = state.map_or(IdleState::Awake, IdleState::In));
            }
            Kind::Other { name, body: Some(body) } if &**name == "sched_wake_idle_without_ipi" => {
                let polls = body.trim().strip_prefix("cpu=").and_then(|cpu| cpu.parse().ok());
                let most = self.most();
                if let Some(cpu) = polls.and_then(|cpu: u32| self.cpus.get_mut(cpu as usize)?.as_deref_mut())
                    && cpu.current.is_some_and(|current| current.tid == 0)
                {
                    cpu.idle = IdleState::Polling;
                    cpu.turn(event.t_ns, None, false, most);
                }
            }
            Kind::Other { name, body: _ } if !name.is_empty() && in_task(event.flags) => {
                if let Some(tid) = event.tid.filter(|tid| *tid != 0) {
                    let name = name.clone();
                    self.each(event, |cpu, t| push(&mut cpu.others, (t, tid, name)));
                }
            }
            Kind::StatRuntime { tid, runtime_ns, .. } => self.each(event, |cpu, t| {
                if cpu.current.is_some_and(|c| c.tid == *tid) {
                    cpu.charge(t, *runtime_ns);
                }
            }),
            _ => self.timer(event),
        }
    }

    fn hard(&mut self, event: &Event, key: u64, text: impl FnOnce() -> String) {
        self.seen.interrupts += 1;
        let name = self.named(key, text);
        self.turned(event, |cpu, t| cpu.enter(Frame::Hard { name, key, since: t }, t));
    }

    fn hard_end(&mut self, event: &Event, key: u64) {
        self.turned(event, |cpu, t| {
            cpu.leave(|f| matches!(f, Frame::Hard { key: k, .. } if *k == key), t);
            cpu.expiring = None;
        });
    }

    /// Handles an NMI, which is recorded at its end.
    fn nmi(&mut self, event: &Event, length: u64) {
        self.seen.nmis += 1;
        let most = self.most();
        let Some(cpu) = self.cpu_mut(event.cpu) else { return };
        let last = cpu.history.back().map_or(0, |s| s.t);
        cpu.write(event.t_ns.saturating_sub(length).max(last), Doing::Nmi, event.flags, false, most);
        cpu.turn(event.t_ns, event.flags, false, most);
    }

    pub(super) fn each(&mut self, event: &Event, change: impl FnOnce(&mut Cpu, u64)) {
        if let Some(cpu) = self.cpu_mut(event.cpu) {
            change(cpu, event.t_ns);
        }
    }

    fn turned(&mut self, event: &Event, change: impl FnOnce(&mut Cpu, u64)) {
        let most = self.most();
        self.each(event, |cpu, t| {
            change(cpu, t);
            cpu.turn(t, event.flags, false, most);
        });
    }
}

/// Returns true if, by the flags, a thread ran with preemption and interrupts enabled and no reschedule was pending.
fn is_calm(flags: Option<Flags>) -> bool {
    flags.is_some_and(|flags| {
        let off = [flags.irqs_off, flags.need_resched, flags.preempt_resched];
        let on = flags.context == Some(Context::Task) && flags.preempt_depth == Some(0);
        on && off.iter().all(|flag| *flag == Some(false))
    })
}
