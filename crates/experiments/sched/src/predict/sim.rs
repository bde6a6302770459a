//! Simulates Linux's scheduler on several CPUs, event by event: the ends of work, timers, and ticks.

use super::cpu::{Class, Cpu, ramp};
use super::fair::{self, Queue};
use super::lots::Lots;
use super::thread::{At, Thread};
use super::{Foreign, Scheduler, Task, releasing};
use punctual_model::Prediction;
use punctual_units::{Arrange, CpuId, CpuList};

/// A tick is handled up to 1 / JITTER of a tick late.
const JITTER: u64 = 16;
/// CPU time that the releasing thread uses before a release, and again after it. During the latter, other CPUs switch
/// to the released threads.
pub(super) const RELEASE: u64 = 10_000;
const AFTER_RELEASE: u64 = 20_000;

pub(super) struct Sim<'a> {
    pub scheduler: &'a Scheduler<'a>,
    pub now: u64,
    pub threads: Vec<Thread<'a>>,
    pub cpus: Vec<Cpu>,
    /// The thread that releases the others.
    pub releaser: Option<usize>,
    /// True after a release, until the releasing thread sleeps.
    has_released: bool,
    next_tick: u64,
    pub ticks: u64,
    /// Times at which tasks outside the experiment take or leave a CPU (its index), in order; `past` is the number of
    /// those that have passed.
    foreign: Vec<(u64, usize, Option<Class>)>,
    past: usize,
    pub lots: Lots,
    /// The CPU whose ksoftirqd is balancing at the moment, if any.
    pub balancing: Option<usize>,
    /// The last places assigned at the head and at the tail of the queues.
    places: (i64, i64),
}

/// Computes when each thread begins and ends, relative to its own release.
///
/// Follows kernel/sched of Linux 6.12: SCHED_DEADLINE by earliest deadline with a constant bandwidth server for each
/// thread; SCHED_FIFO and SCHED_RR by priority; ordinary threads by earliest eligible virtual deadline; one queue for
/// each CPU, between which threads are moved when they wake, when a CPU becomes idle or is about to run something of
/// lower priority, and periodically.
pub fn simulate(tasks: &[Task], scheduler: &Scheduler<'_>) -> Vec<Prediction> {
    let cpus: CpuList = tasks.iter().flat_map(|task| task.cpus.iter()).collect();
    let ids: Vec<CpuId> = cpus.iter().collect();
    let slice = (scheduler.quantum.0 / scheduler.tick.0.max(1)).max(1);
    let index = |id: CpuId| ids.iter().position(|other| *other == id).unwrap_or(0);
    let first = tasks.iter().map(|task| task.release).min().unwrap_or_default();
    let policy = releasing(tasks.iter().map(|task| task.scheduling));
    let on_ours = scheduler.releaser.filter(|id| cpus.contains(*id));
    let releaser = on_ours.map(|id| Task::releasing(id, first, policy));
    let all = tasks.iter().chain(&releaser);
    let threads = all.map(|task| Thread::new(task, index(task.home), &cpus, slice)).collect();
    let mut lots = Lots::new(scheduler.seed);
    let jitter = scheduler.tick.0 / JITTER;
    let mut sim = Sim {
        scheduler,
        now: 0,
        threads,
        cpus: ids.iter().map(|_| Cpu::new(scheduler, lots.next())).collect(),
        releaser: releaser.is_some().then_some(tasks.len()),
        has_released: false,
        next_tick: (scheduler.first_tick.0 + lots.below(jitter)).saturating_sub(jitter / 4),
        ticks: 0,
        foreign: changes(scheduler.foreign, &ids),
        past: 0,
        lots,
        balancing: None,
        places: (0, 0),
    };
    sim.run(tasks.len());
    sim.threads[..tasks.len()].iter().map(|thread| thread.prediction(scheduler.horizon.0)).collect()
}

/// Converts the intervals of other tasks to changes on the CPUs with these numbers. If one interval ends when another
/// begins, the end comes first.
fn changes(foreign: &[Foreign], ids: &[CpuId]) -> Vec<(u64, usize, Option<Class>)> {
    let of = |one: &Foreign| {
        let cpu = ids.iter().position(|id| *id == one.cpu)?;
        let class = if one.is_ordinary { Class::Ordinary } else { Class::RealTime };
        Some([(one.from.0, cpu, Some(class)), (one.to.0, cpu, None)])
    };
    let mut all: Vec<_> = foreign.iter().filter_map(of).flatten().collect();
    all.arrange_by_key(|(t, _, class)| (*t, class.is_some()));
    all
}

impl Sim<'_> {
    fn run(&mut self, count: usize) {
        while self.now < self.scheduler.horizon.0 && self.threads[..count].iter().any(|thread| thread.at != At::Ended) {
            self.advance(self.next_event().min(self.scheduler.horizon.0));
            self.finish_work();
            self.others();
            self.timers();
            if self.now >= self.next_tick {
                self.tick();
            }
            while let Some(cpu) = self.cpus.iter().position(|cpu| cpu.resched) {
                self.schedule(cpu);
            }
        }
    }

    fn next_event(&self) -> u64 {
        let work = self.cpus.iter().filter_map(|cpu| match self.threads[cpu.current?].at {
            At::Ready(left) => Some(self.now + left),
            _ => None,
        });
        let held =
            |n: usize| self.releaser.is_some() && self.threads[n].at == At::Unreleased && Some(n) != self.releaser;
        let woken = (0..self.threads.len()).filter(|n| !held(*n)).filter_map(|n| self.threads[n].wakes());
        let servers = self.threads.iter().filter_map(|thread| thread.server?.timer());
        let fair = self.cpus.iter().filter_map(|cpu| cpu.server?.timer());
        let throttles = self.cpus.iter().filter_map(|cpu| cpu.throttle?.timer());
        let others = self.foreign.get(self.past).map(|(t, ..)| *t);
        let all = work.chain(woken).chain(servers).chain(fair).chain(throttles).chain(others);
        all.fold(self.next_tick, u64::min).max(self.now)
    }

    fn advance(&mut self, to: u64) {
        let time = to - self.now;
        for c in 0..self.cpus.len() {
            let class = self.class(c);
            let charged = self.cpus[c].current.map_or(time, |n| self.threads[n].run(self.now, time));
            self.cpus[c].charge(class, charged);
        }
        self.now = to;
    }

    /// Returns the class of what runs on a CPU.
    pub fn class(&self, c: usize) -> Class {
        match self.cpus[c].current.map(|n| &self.threads[n]) {
            None => self.cpus[c].foreign.unwrap_or(Class::Idle),
            Some(thread) if thread.is_deadline() => Class::Deadline,
            Some(thread) if thread.priority().is_some() => Class::RealTime,
            Some(_) => Class::Ordinary,
        }
    }

    /// Lets threads whose work is done continue with their next action.
    fn finish_work(&mut self) {
        for c in 0..self.cpus.len() {
            let Some(n) = self.cpus[c].current.filter(|n| self.threads[*n].at == At::Ready(0)) else { continue };
            match Some(n) == self.releaser {
                true => self.release(c),
                false => self.threads[n].finish(self.now),
            }
            if !self.threads[n].is_ready() {
                self.cpus[c].resched = true;
                self.threads[n].asleep = ramp(self.now - self.threads[n].woken);
                self.leave_queue(n);
            }
        }
    }

    /// The releasing thread releases the threads whose time has come, and then sleeps until the next release.
    fn release(&mut self, c: usize) {
        let Some(releaser) = self.releaser else { return };
        if std::mem::take(&mut self.has_released) {
            let waiting = self.threads[..releaser].iter().filter(|thread| thread.at == At::Unreleased);
            let next = waiting.filter_map(Thread::wakes).min();
            self.threads[releaser].at = next.map_or(At::Ended, At::Asleep);
            return;
        }
        for n in 0..releaser {
            if self.threads[n].at == At::Unreleased && self.threads[n].wakes() <= Some(self.now) {
                self.wake(n, c);
            }
        }
        (self.has_released, self.threads[releaser].at) = (true, At::Ready(AFTER_RELEASE));
    }

    /// Lets tasks outside the experiment take and leave CPUs.
    fn others(&mut self) {
        while let Some((_, c, class)) = self.foreign.get(self.past).copied().filter(|(t, ..)| *t <= self.now) {
            self.past += 1;
            if self.cpus[c].is_idle() {
                self.cpus[c].leave_idle(self.now);
            }
            (self.cpus[c].foreign, self.cpus[c].resched) = (class, true);
        }
    }

    fn timers(&mut self) {
        for n in 0..self.threads.len() {
            if self.threads[n].wakes().is_some_and(|at| at <= self.now) {
                match (self.releaser, self.threads[n].at) {
                    (Some(releaser), At::Unreleased) if n != releaser => {}
                    _ => self.wake(n, self.threads[n].cpu),
                }
            }
            let over = self.threads[n].server.as_mut().is_some_and(|server| server.tick(self.now));
            if over && self.threads[n].is_ready() {
                self.replenished(n);
            }
        }
        for c in 0..self.cpus.len() {
            let now = self.now;
            let cpu = &mut self.cpus[c];
            let served = cpu.server.as_mut().is_some_and(|server| server.fire(now));
            let freed = cpu.throttle.as_mut().is_some_and(|throttle| throttle.fire(now));
            cpu.resched |= served || freed;
        }
    }

    fn tick(&mut self) {
        self.next_tick += self.scheduler.tick.0.max(1);
        self.ticks += 1;
        for c in 0..self.cpus.len() {
            if self.scheduler.realtime && self.class(c) < Class::RealTime && self.lots.kthreads() {
                self.pull_real_time(c);
                // When those threads are done, the CPU becomes idle again.
                self.cpus[c].resched |= self.cpus[c].is_idle();
            }
            let Some(n) = self.cpus[c].current else { continue };
            self.update_current(c);
            self.turn(c, n);
            self.balance(c);
        }
    }

    /// Counts a tick of a SCHED_RR thread's time slice: task_tick_rt().
    fn turn(&mut self, c: usize, n: usize) {
        let quantum = (self.scheduler.quantum.0 / self.scheduler.tick.0.max(1)).max(1);
        let thread = &mut self.threads[n];
        if !thread.takes_turns() || !thread.is_ready() {
            return;
        }
        thread.slice = thread.slice.saturating_sub(1);
        if thread.slice > 0 {
            return;
        }
        thread.slice = quantum;
        let priority = thread.priority();
        if (0..self.threads.len())
            .any(|other| other != n && self.on(c, other) && self.threads[other].priority() == priority)
        {
            self.threads[n].place = self.tail();
            self.cpus[c].resched = true;
        }
    }

    /// Checks the limits of the running thread, as the kernel does at ticks and when it switches: update_curr().
    pub fn update_current(&mut self, c: usize) {
        let (now, Some(n)) = (self.now, self.cpus[c].current) else { return };
        let (class, slice) = (self.class(c), self.scheduler.slice.0);
        let mut resched = self.threads[n].server.as_mut().is_some_and(|server| server.enforce(now));
        if class == Class::Ordinary {
            let over = self.threads[n].is_ready() && self.threads[n].fair.renew(slice);
            resched |= over && self.queue(c).len() > 1;
            resched |= self.cpus[c].server.as_mut().is_some_and(|server| server.enforce(now));
        } else {
            resched |= self.cpus[c].throttle.as_mut().is_some_and(|throttle| throttle.enforce());
        }
        self.cpus[c].resched |= resched;
    }

    /// Returns the ordinary threads that are on a CPU's queue or run there.
    pub fn queue(&self, c: usize) -> Queue {
        let ordinary = |n: &usize| self.on(c, *n) && self.threads[*n].is_ordinary();
        (0..self.threads.len()).filter(ordinary).map(|n| (n, self.threads[n].fair)).collect()
    }

    /// Returns true if the thread is on the CPU's queue or runs there.
    pub fn on(&self, c: usize, n: usize) -> bool {
        self.threads[n].cpu == c && self.threads[n].is_queued()
    }

    /// Returns a place behind all others.
    pub fn tail(&mut self) -> i64 {
        self.places.1 += 1;
        self.places.1
    }

    /// Returns a place before all others.
    pub fn head(&mut self) -> i64 {
        self.places.0 -= 1;
        self.places.0
    }

    /// Puts a runnable thread on a CPU's queue.
    pub fn enter_queue(&mut self, n: usize, c: usize) {
        if self.threads[n].is_ordinary() {
            let queue = self.queue(c);
            if self.class(c) == Class::Idle {
                self.cpus[c].leave_idle(self.now);
            }
            self.update_current(c);
            self.threads[n].fair.place(&queue, self.scheduler.slice.0);
            self.cpus[c].averaged = self.now;
            let now = self.now;
            if let Some(server) = self.cpus[c].server.as_mut().filter(|_| queue.is_empty()) {
                server.start(now);
                self.cpus[c].resched |= server.deadline().is_some();
            }
        }
        self.threads[n].place = self.tail();
        self.threads[n].cpu = c;
    }

    /// Prepares a thread that stops running, or moves to another CPU, for its next queue.
    pub fn leave_queue(&mut self, n: usize) {
        let c = self.threads[n].cpu;
        let mut all = self.queue(c);
        if self.threads[n].is_ordinary() {
            if all.iter().all(|(other, _)| *other != n) {
                all.push((n, self.threads[n].fair));
            }
            self.threads[n].fair.leave(&all, self.scheduler.slice.0, self.scheduler.tick.0);
        }
    }

    /// Moves a waiting thread to another CPU's queue.
    pub fn migrate(&mut self, n: usize, to: usize) {
        self.leave_queue(n);
        // The thread has left the old queue and is not on the new one yet.
        self.threads[n].cpu = usize::MAX;
        self.enter_queue(n, to);
    }

    pub fn pick_ordinary(&self, c: usize) -> Option<usize> {
        fair::pick(&self.queue(c), self.cpus[c].current)
    }
}
