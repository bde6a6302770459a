//! Tracks which threads are woken, by whom, and where they wait.

use super::cpu::{Odd, Running};
use super::machine::{End, Machine, Window};
use super::tasks::{Known, MOVES, Waking};
use super::view::thread_class;
use punctual_model::Class;
use punctual_trace::{Context, Event, Format, Kind, LatencyHeader, Task};

/// Lines of one wakeup are closer together than this, ns.
const AGAIN: u64 = 1_000_000;

impl Machine {
    /// Returns the wakeup, until now, of the thread that has waited longest among those that were woken and have not
    /// run yet. In a trace.dat file, and in the text that trace-cmd prints of it, the events of each CPU may end at a
    /// time of their own, after which the thread may have run.
    pub fn waits(&self, format: Format, wanted: impl Fn(i32, &Known) -> bool) -> Option<Window> {
        let is_apart = matches!(format, Format::TraceDat6 | Format::TraceDat7 | Format::TraceCmdReport);
        let waiting =
            self.tasks.iter().filter(|(tid, known)| *tid != 0 && wanted(*tid, known)).filter_map(|(tid, known)| {
                let waking = known.waking.as_ref()?;
                // Without switches, and without events of its CPU, nothing shows that the thread did not run.
                let cpu = waking.path.last().map_or(waking.from_cpu, |(_, cpu)| *cpu);
                let last = self.cpu(cpu)?.last;
                let last = last.filter(|last| *last > waking.t2);
                (!known.is_unseen && (last.is_some() || self.seen.switches > 0)).then_some(())?;
                let t3 = if is_apart { last.unwrap_or(waking.t2) } else { self.now.max(waking.t2) };
                let waking = Waking { t0: waking.t2, t1: None, ..(**waking).clone() };
                Some(Window { tid, comm: known.comm, prio: known.prio, cpu, waking, t3, end: End::Open })
            });
        waiting.max_by_key(|window| (window.t3 - window.waking.t2, window.tid))
    }

    /// Completes the wakeup of a wakeup tracer's header whose switch is missing.
    pub fn cut(&mut self, header: &LatencyHeader) -> Option<Window> {
        let tid = header.tid.filter(|_| header.is_wakeup() != Some(false))?;
        let known = self.tasks.get(tid);
        let waking = known.waking.as_ref()?;
        let t3 = waking.t2.checked_add(header.latency_us?.checked_mul(1000)?)?;
        let cpu = waking.path.last().map_or(waking.from_cpu, |(_, cpu)| *cpu);
        // If the lines of an idle CPU end soon, they do not show why it stayed idle.
        let t2 = waking.t2;
        let is_idle = self.cpu(cpu).and_then(|cpu| cpu.current).is_some_and(|current| current.tid == 0);
        let is_short = is_idle && self.now.saturating_sub(t2) < t3.saturating_sub(t2) / 2;
        if t3 < self.now || is_short {
            return None;
        }
        let known = self.tasks.get(tid);
        let waking = known.waking.take()?;
        let comm = known.comm.or(header.task);
        Some(Window { tid, comm, prio: known.prio, cpu, waking: *waking, t3, end: End::Header })
    }

    /// Begins the wakeup of a wakeup tracer's header whose start is missing, at the switch to the thread. Times of
    /// these tracers begin with the wakeup.
    pub fn began(&self, event: &Event, header: &LatencyHeader) -> Option<Window> {
        let Kind::SchedSwitch { next, .. } = &event.kind else { return None };
        let latency = header.latency_us?.checked_mul(1000)?;
        let known =
            self.tasks.find(next.tid).filter(|known| Some(next.tid) == header.tid && known.last_out.is_none())?;
        let relative = event.t_ns > 0 && event.t_ns <= latency && latency <= event.t_ns.saturating_mul(2);
        let (comm, waking) = (known.comm.or(header.task), Waking::again(0, event.cpu, event.cpu));
        let rt_prio = header.rt_prio.filter(|prio| *prio > 0).and_then(|prio| 99i32.checked_sub_unsigned(prio));
        let window = Window {
            tid: next.tid,
            comm,
            prio: known.prio.or(rt_prio),
            cpu: event.cpu,
            waking,
            t3: event.t_ns,
            end: End::Switch,
        };
        relative.then_some(window)
    }

    /// Handles the wakeup of a thread that is shown as running: the switch with which it went to sleep is not in the
    /// trace.
    fn left(&mut self, event: &Event, woken: i32) {
        let most = self.most();
        let Some(tid) = event.tid.filter(|tid| *tid != woken) else { return };
        let known = self.tasks.get(tid);
        let (prio, comm, boosted) = (known.prio, known.comm.or(event.comm), known.base.is_some());
        let Some(cpu) = self.cpu_mut(event.cpu) else { return };
        if cpu.before == Some(tid) && cpu.current.is_some_and(|current| current.tid == woken) {
            cpu.current = Some(Running { tid, prio, comm, boosted, changed: false, around: false });
            cpu.before = None;
            cpu.odd(Odd::Current, event.t_ns);
            cpu.turn(event.t_ns, event.flags, false, most);
            self.tasks.get(woken).on_cpu = None;
        }
    }

    pub(super) fn runs(&self, tid: i32) -> bool {
        let cpu = self.tasks.find(tid).and_then(|task| task.on_cpu).and_then(|cpu| self.cpu(cpu));
        cpu.and_then(|cpu| cpu.current).is_some_and(|current| current.tid == tid)
    }

    pub(super) fn waking(&mut self, event: &Event, task: &Task, target: Option<u32>) {
        let t = event.t_ns;
        let cpu = self.cpu(event.cpu);
        let expiring = cpu.and_then(|cpu| cpu.expiring);
        let context = event.flags.and_then(|f| f.context);
        let cpu = cpu.filter(|cpu| !context.is_some_and(Context::is_hard) && cpu.interrupted_since().is_none());
        let waker = cpu.and_then(|cpu| cpu.current).filter(|task| task.tid != 0);
        // A softirq does not belong to the interrupted thread, unless that is a softirq thread.
        let own = |task: &Running| context != Some(Context::Softirq) || thread_class(task.comm).is_some();
        let by = waker.filter(|task| own(task) && cpu.is_some_and(|cpu| cpu.frames.is_empty())).map(|task| task.tid);
        // ksoftirqd and ktimers are woken at the end of an interrupt, where the flags are those of the interrupted
        // thread (kernel/softirq.c, `__irq_exit_rcu`).
        let by = by.filter(|_| thread_class(task.comm) != Some(Class::Softirq));
        self.left(event, task.tid);
        let is_early = self.runs(task.tid);
        // Without flags, an interrupt that has no events looks like the interrupted thread, and sched_wakeup may be
        // recorded on the woken thread's CPU.
        let sure = context.is_some();
        let known = sure || self.seen.interrupts > 0 && matches!(event.kind, Kind::SchedWaking { .. });
        let way = if is_early { Vec::new() } else { self.way(event, task.tid, by.filter(|_| known), sure) };
        let known = self.tasks.see(task);
        known.woken_by = by;
        // A thread cannot be late before it went to sleep.
        let due = expiring.and_then(|e| e.due).map(|due| due.max(known.last_out.unwrap_or(0)).min(t));
        let path = vec![(t, target.unwrap_or(event.cpu))];
        let waking = Some(Box::new(Waking {
            t0: due.unwrap_or(t),
            t1: expiring.filter(|e| e.due.is_some()).map(|e| e.irq.max(due.unwrap_or(0)).min(t)),
            t2: t,
            queued: None,
            in_call: None,
            from_cpu: event.cpu,
            path,
            moved: None,
            by,
            waker,
            way,
            slept: known.last_out,
            due_unknown: expiring.is_some_and(|e| e.due.is_none()),
        }));
        match is_early {
            true => known.early = waking,
            false => {
                // try_to_wake_up() records no wakeup of a thread that is runnable (kernel/sched/core.c).
                known.is_unseen |= known.waking.is_some();
                (known.waking, known.early) = (waking, None);
            }
        }
    }

    pub(super) fn wakeup(&mut self, event: &Event, task: &Task, target: Option<u32>) {
        let t = event.t_ns;
        self.left(event, task.tid);
        if self.runs(task.tid) {
            return;
        }
        let target = target.unwrap_or(event.cpu);
        // A thread that waits for a CPU is not woken again: it must have run meanwhile, and those lines are missing.
        // Some tracers print several lines for one wakeup.
        let before = self.tasks.see(task).waking.as_ref().map(|waking| waking.queued.unwrap_or(u64::MAX));
        if before.is_none_or(|queued| t.saturating_sub(queued) > AGAIN) {
            self.waking(event, task, Some(target));
        }
        let Some(waking) = self.tasks.get(task.tid).waking.as_mut() else { return };
        let arrived = waking.queued.is_none() && target == event.cpu && waking.from_cpu != event.cpu;
        if waking.queued.is_none() && waking.from_cpu == event.cpu && target != event.cpu {
            waking.in_call = Some(t);
        }
        waking.queued.get_or_insert(t);
        if waking.path.last().is_some_and(|(_, cpu)| *cpu != target) && waking.path.len() < MOVES {
            waking.path.push((t, target));
        }
        // Recorded on the CPU where the thread will run: the IPI by which the waker's CPU queues the thread has arrived
        // (kernel/sched/core.c, sched_ttwu_pending).
        if arrived {
            let most = self.most();
            self.each(event, |cpu, t| {
                cpu.arrived(t);
                cpu.turn(t, event.flags, false, most);
            });
        }
    }

    pub(super) fn migrate(&mut self, t: u64, task: &Task, to: u32) {
        let Some(waking) = self.tasks.see(task).waking.as_mut() else { return };
        if waking.path.last().is_some_and(|(_, cpu)| *cpu != to) && waking.path.len() < MOVES {
            waking.path.push((t, to));
            // The CPU chosen by try_to_wake_up() is not a migration.
            if waking.queued.is_some() {
                waking.moved = Some(t);
            }
        }
    }

    pub(super) fn boost(&mut self, event: &Event, task: &Task, new_prio: i32) {
        let by = event.tid.filter(|tid| *tid != task.tid);
        let rises = task.prio.is_some_and(|old| new_prio < old);
        let by = by.filter(|_| rises).map(|by| self.inherits(by, task.tid).unwrap_or(by));
        let known = self.tasks.see(task);
        let before = known.boosted_by;
        known.boosted_by = by.or(before);
        let base = known.base.or(task.prio);
        known.base = base.filter(|base| new_prio < *base);
        known.prio = Some(new_prio);
        let (boosted, on_cpu) = (known.base.is_some(), known.on_cpu);
        if let Some(before) = before.filter(|_| !boosted) {
            self.disinherits(before, task.tid);
        }
        let most = self.most();
        let Some(cpu) = on_cpu.and_then(|cpu| self.cpu_mut(cpu)) else { return };
        if let Some(current) = cpu.current.as_mut().filter(|c| c.tid == task.tid) {
            (current.prio, current.boosted) = (Some(new_prio), boosted);
            cpu.turn(event.t_ns, None, false, most);
        }
    }
}
