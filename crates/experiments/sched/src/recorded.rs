//! Tasks outside an experiment, from the trace of a run: when they woke, and the CPU time that they used then.

use crate::predict::{Burst, Foreign};
use punctual_trace::{Event, Kind, Task};
use punctual_units::{Arrange, CpuId, Nanos, Priority, Scheduling};
use std::collections::{BTreeMap, BTreeSet};

/// Collects them in one pass over a trace.
pub(crate) struct Recorder {
    /// The beginning of the experiment, CLOCK_MONOTONIC.
    start: u64,
    /// Threads that the simulation has anyway.
    known: BTreeSet<i32>,
    tasks: BTreeMap<i32, Seen>,
    /// What runs on each CPU, and since when.
    current: BTreeMap<u32, (i32, u64)>,
}

struct Seen {
    scheduling: Scheduling,
    pinned: Option<CpuId>,
    bursts: Vec<Burst>,
    /// The burst that has begun and not yet ended.
    open: Option<Burst>,
}

impl Recorder {
    pub fn new(start: u64, known: impl Iterator<Item = i32>) -> Recorder {
        // 0 is the idle task of each CPU.
        let known = known.chain([0]).collect();
        Recorder { start, known, tasks: BTreeMap::new(), current: BTreeMap::new() }
    }

    pub fn take(&mut self, event: &Event) {
        match &event.kind {
            Kind::SchedSwitch { prev, prev_state, next } => {
                self.left(event, prev, prev_state.runnable());
                self.current.insert(event.cpu, (next.tid, event.t_ns));
                self.begin(next, event.cpu, event.t_ns);
            }
            Kind::SchedWaking { task, target_cpu } | Kind::SchedWakeupNew { task, target_cpu } => {
                self.begin(task, target_cpu.unwrap_or(event.cpu), event.t_ns);
            }
            _ => {}
        }
    }

    fn begin(&mut self, task: &Task, cpu: u32, t: u64) {
        if self.known.contains(&task.tid) {
            return;
        }
        let at = Nanos(t.saturating_sub(self.start));
        let seen = self.tasks.entry(task.tid).or_insert_with(|| Seen::new(task));
        seen.open.get_or_insert(Burst { at, cpu: CpuId(cpu), work: Nanos::ZERO });
    }

    fn left(&mut self, event: &Event, prev: &Task, is_runnable: bool) {
        let Some(seen) = self.tasks.get_mut(&prev.tid) else { return };
        let Some(open) = &mut seen.open else { return };
        let since = match self.current.get(&event.cpu) {
            Some((tid, since)) if *tid == prev.tid => *since,
            // The switch to it is not recorded. An idle CPU runs what wakes at once.
            Some((0, since)) => (*since).max(self.start.saturating_add(open.at.0)),
            _ => event.t_ns,
        };
        open.work.0 += event.t_ns.saturating_sub(since.max(self.start));
        if !is_runnable {
            seen.close();
        }
    }

    /// The tasks that used one of these CPUs.
    pub fn finish(mut self, end: u64) -> Vec<Foreign> {
        for (tid, since) in self.current.values() {
            if let Some(open) = self.tasks.get_mut(tid).and_then(|seen| seen.open.as_mut()) {
                open.work.0 += end.saturating_sub((*since).max(self.start));
            }
        }
        let mut all: Vec<Foreign> = self.tasks.into_values().filter_map(Seen::finish).collect();
        all.arrange_by_key(|one| one.bursts.first().map(|burst| burst.at));
        all
    }
}

impl Seen {
    fn new(task: &Task) -> Seen {
        let scheduling = match task.prio {
            // The parameters of SCHED_DEADLINE are not recorded.
            Some(prio) if prio < 100 => {
                let priority = u8::try_from(99 - prio.max(0)).ok().and_then(|p| p.try_into().ok());
                Scheduling::Fifo { priority: priority.unwrap_or(Priority::MAX) }
            }
            prio => Scheduling::Other { nice: i8::try_from(prio.map_or(0, |prio| prio - 120)).unwrap_or(0) },
        };
        let pinned = task.comm.and_then(|comm| own_cpu(&comm.to_string()));
        Seen { scheduling, pinned, bursts: Vec::new(), open: None }
    }

    fn close(&mut self) {
        self.bursts.extend(self.open.take().filter(|burst| burst.work.0 > 0));
    }

    fn finish(mut self) -> Option<Foreign> {
        self.close();
        let Seen { scheduling, pinned, bursts, .. } = self;
        (!bursts.is_empty()).then_some(Foreign { scheduling, pinned, bursts })
    }
}

/// The CPU of a kernel thread that is bound to one, which is in its name: `ksoftirqd/1`, `kworker/1:0H`. A worker of
/// `kworker/u8:1` is not bound.
fn own_cpu(name: &str) -> Option<CpuId> {
    let after = name.rsplit_once('/')?.1;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    let rest = &after[digits.len()..];
    (rest.is_empty() || rest.starts_with(':')).then(|| digits.parse().ok().map(CpuId))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_trace::{Comm, TaskState};

    const MS: u64 = 1_000_000;

    fn task(tid: i32, name: &str, prio: i32) -> Task {
        Task { tid, comm: Some(Comm::new(name.as_bytes())), prio: Some(prio) }
    }

    fn event(ms: u64, cpu: u32, kind: Kind) -> Event {
        Event { t_ns: ms * MS, cpu, tid: None, comm: None, flags: None, kind }
    }

    fn switch(ms: u64, cpu: u32, prev: Task, state: u8, next: Task) -> Event {
        event(ms, cpu, Kind::SchedSwitch { prev, prev_state: TaskState { letter: state, preempted: false }, next })
    }

    fn wake(ms: u64, task: Task, cpu: u32) -> Event {
        event(ms, 0, Kind::SchedWaking { task, target_cpu: Some(cpu) })
    }

    fn recorded(events: &[Event], end: u64) -> Vec<Foreign> {
        let mut recorder = Recorder::new(100 * MS, [10].into_iter());
        events.iter().for_each(|event| recorder.take(event));
        recorder.finish(end * MS)
    }

    fn burst(at: u64, cpu: u32, work: u64) -> Burst {
        Burst { at: Nanos(at * MS), cpu: CpuId(cpu), work: Nanos(work * MS) }
    }

    #[test]
    fn a_burst_lasts_from_a_wakeup_to_a_sleep_without_what_others_ran() {
        let (idle, ours) = (task(0, "swapper/1", 120), task(10, "ours", 50));
        let (shell, worker) = (task(20, "sh", 125), task(30, "kworker/1:0H", 100));
        let irq = task(40, "irq/9-acpi", 49);
        let found = recorded(
            &[
                wake(90, shell, 1),
                switch(95, 1, idle, b'R', shell),
                switch(110, 1, shell, b'R', ours),
                wake(112, worker, 1),
                switch(120, 1, ours, b'R', shell),
                switch(125, 1, shell, b'S', worker),
                switch(126, 1, worker, b'I', idle),
                wake(140, irq, 1),
                switch(143, 1, irq, b'S', idle),
                wake(150, shell, 1),
                switch(150, 1, idle, b'R', shell),
            ],
            160,
        );
        let nice = |nice| Scheduling::Other { nice };
        let fifo = Scheduling::Fifo { priority: 50.try_into().unwrap() };
        assert_eq!(
            found,
            [
                Foreign { scheduling: nice(5), pinned: None, bursts: vec![burst(0, 1, 15), burst(50, 1, 10)] },
                Foreign { scheduling: nice(-20), pinned: Some(CpuId(1)), bursts: vec![burst(12, 1, 1)] },
                Foreign { scheduling: fifo, pinned: None, bursts: vec![burst(40, 1, 3)] },
            ]
        );
    }

    #[test]
    fn the_cpu_of_a_kernel_thread_is_in_its_name() {
        let cpus = ["ksoftirqd/12", "kworker/3:1H", "kworker/u8:1", "irq/24-nvme0", "bash", "a/"].map(own_cpu);
        assert_eq!(cpus, [Some(CpuId(12)), Some(CpuId(3)), None, None, None, None]);
    }
}
