//! Wakeups in the recording of threads that have the highest priority on their CPU, from sched_waking to the end of the
//! scheduler: none may be longer than the bound.

use punctual_model::BoundSeen;
use punctual_trace::{Event, Kind, Task};
use punctual_units::Nanos;
use std::collections::HashMap;

/// Limit on the number of threads that are waking at a time.
const WAKING: usize = 1 << 16;
/// Raw priorities from here on are those of ordinary threads (include/linux/sched/prio.h, MAX_RT_PRIO).
const ORDINARY: i32 = 100;

#[derive(Clone, Copy, Debug)]
struct Waking {
    at: u64,
    cpu: u32,
    prio: i32,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    task: Task,
    waking: Waking,
}

#[derive(Clone, Debug, Default)]
struct OfCpu {
    /// Raw priority of the current thread, if known.
    current: Option<i32>,
    /// The thread to which the CPU switched, until the scheduler returns.
    taken: Option<Taken>,
    latest: Option<BoundSeen>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    waking: HashMap<i32, Waking>,
    cpus: HashMap<u32, OfCpu>,
}

impl Seen {
    pub(crate) fn event(&mut self, event: &Event) {
        match &event.kind {
            Kind::SchedWaking { task, target_cpu: Some(cpu) } => self.wake(event.t_ns, task, *cpu),
            // A wakeup may choose another CPU than the thread's last one.
            Kind::SchedWakeup { task, target_cpu: Some(cpu), .. }
                if self.waking.get(&task.tid).is_some_and(|waking| waking.cpu != *cpu) =>
            {
                self.waking.remove(&task.tid);
            }
            Kind::SchedMigrate { task, .. } | Kind::PiSetprio { task, .. } => {
                self.waking.remove(&task.tid);
            }
            Kind::SchedSwitch { next, .. } => self.switch(event.cpu, next),
            _ => {}
        }
    }

    fn wake(&mut self, at: u64, task: &Task, cpu: u32) {
        let Some(prio) = task.prio.filter(|prio| *prio < ORDINARY) else { return };
        let below = self.cpus.get(&cpu).and_then(|of_cpu| of_cpu.current).is_some_and(|current| current > prio);
        if below && self.waking.len() < WAKING {
            self.waking.entry(task.tid).or_insert(Waking { at, cpu, prio });
        }
    }

    fn switch(&mut self, cpu: u32, next: &Task) {
        let of_cpu = self.cpus.entry(cpu).or_default();
        of_cpu.current = next.prio;
        of_cpu.taken = None;
        if let Some(waking) = self.waking.remove(&next.tid)
            && waking.cpu == cpu
        {
            of_cpu.taken = Some(Taken { task: *next, waking });
        }
        // A thread that waits behind another one of its priority or above does not have the highest priority.
        self.waking.retain(|_, waking| waking.cpu != cpu || next.prio.is_some_and(|prio| prio > waking.prio));
    }

    /// The scheduler has returned on this CPU.
    pub(crate) fn returned(&mut self, cpu: u32, at: u64) {
        let Some(of_cpu) = self.cpus.get_mut(&cpu) else { return };
        let Some(Taken { task, waking }) = of_cpu.taken.take() else { return };
        let latency_ns = Nanos(at.saturating_sub(waking.at));
        if of_cpu.latest.as_ref().is_none_or(|latest| latest.latency_ns < latency_ns) {
            let thread = task.comm.map(|comm| comm.to_string());
            of_cpu.latest = Some(BoundSeen { latency_ns, at_ns: Nanos(at), thread, tid: task.tid });
        }
    }

    pub(crate) fn latest(&self, cpu: u32) -> Option<BoundSeen> {
        self.cpus.get(&cpu)?.latest.clone()
    }

    /// Forgets what is under way, since events are missing.
    pub(crate) fn reset(&mut self) {
        self.waking.clear();
        for of_cpu in self.cpus.values_mut() {
            (of_cpu.current, of_cpu.taken) = (None, None);
        }
    }
}
