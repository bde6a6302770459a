//! Determines which CPU an ordinary thread runs on (kernel/sched/fair.c). The CPU is chosen when the thread wakes.
//! Later, a CPU that becomes idle takes a waiting thread from another one, and a busy CPU does so from time to time if
//! the loads are unequal.

use super::cpu::{Class, ramp};
use super::sim::Sim;

/// Factor by which loads may differ before they are balanced (imbalance_pct).
const IMBALANCE: f64 = 1.17;
/// Load that remains on a CPU from the kernel's own tasks when none of them runs: a few hundredths of the load of a
/// thread with nice value 0.
const REST: f64 = 20.0;
/// Weight of a thread with nice value 0.
const UNIT: f64 = 1024.0;

/// Load of a CPU, as seen by load balancing.
struct Load {
    /// Number of runnable threads of all classes.
    running: usize,
    load: f64,
    capacity: f64,
    overloaded: bool,
    /// True if the CPU could run another thread without delay.
    spare: bool,
}

impl Load {
    fn average(&self) -> f64 {
        self.load / self.capacity
    }
}

impl Sim<'_> {
    /// Returns the CPU for a woken ordinary thread, like select_task_rq_fair(): its last CPU if it is idle, otherwise
    /// an idle one, otherwise the last CPU or `waker`, whichever has less load.
    pub fn select_ordinary(&mut self, n: usize, waker: usize) -> usize {
        let thread = &self.threads[n];
        let home = thread.cpu;
        let idle = |c: &usize| thread.allowed[*c] && self.cpus[*c].is_idle();
        if idle(&home) {
            return home;
        }
        if let Some(c) = (0..self.cpus.len()).find(idle) {
            return c;
        }
        if waker == home || !thread.allowed[waker] {
            return home;
        }
        // wake_affine_weight()
        let (this, previous) = (self.load(waker), self.load(home));
        let own = self.woken_load(n);
        let with = (this.load + REST + own) * previous.capacity;
        let without = (previous.load + REST - own) * this.capacity * (1.0 + (IMBALANCE - 1.0) / 2.0);
        let nearer = (with < without) != self.lots.misjudges();
        if nearer { waker } else { home }
    }

    /// task_h_load(): a thread that wakes has the load with which it fell asleep. In a group it has its share of the load of
    /// the group on that CPU, which decays while no thread of the group runs there.
    fn woken_load(&self, n: usize) -> f64 {
        let thread = &self.threads[n];
        match self.scheduler.grouped && self.queue(thread.cpu).is_empty() {
            true => 0.0,
            false => thread.fair.weight * thread.asleep,
        }
    }

    fn load(&self, c: usize) -> Load {
        let running =
            (0..self.threads.len()).filter(|n| self.on(c, *n)).count() + usize::from(self.cpus[c].foreign.is_some());
        let queue = self.queue(c);
        let averaged = self.cpus[c].averaged;
        let ramped = |n: usize, weight: f64| weight * ramp(averaged.saturating_sub(self.threads[n].woken));
        let load = queue.iter().map(|(n, entity)| ramped(*n, entity.weight)).sum();
        let capacity = self.cpus[c].known_capacity;
        let wanted: f64 = queue.iter().map(|(n, _)| ramped(*n, 1.0)).sum();
        let running = running + usize::from(self.balancing == Some(c));
        let overloaded = running > 1 && capacity < wanted.max(self.cpus[c].ordinary) * IMBALANCE;
        let spare = running == 0 || (running == 1 && self.cpus[c].ordinary * IMBALANCE < capacity);
        Load { running, load, capacity, overloaded, spare }
    }

    /// Returns the thread that has waited longest among those that may move from one CPU to the other and whose load is
    /// at most `most`. Each failed attempt doubles this limit.
    fn movable(&self, from: usize, to: usize, most: f64) -> Option<usize> {
        let failed = 2f64.powi(self.cpus[to].balance.failed.cast_signed());
        let fits = |n: &usize| self.threads[*n].fair.weight * ramp(self.now - self.threads[*n].woken) / failed <= most;
        let queue = self.queue(from).into_iter().map(|(n, _)| n);
        let waits = queue.filter(|n| self.cpus[from].current != Some(*n) && self.threads[*n].allowed[to]).filter(fits);
        waits.min_by_key(|n| self.threads[*n].place)
    }

    /// Lets a CPU that becomes idle take a waiting thread with a certain probability: sched_balance_newidle(). Returns
    /// true if it took one.
    pub fn pull_newly_idle(&mut self, c: usize) -> bool {
        self.cpus.len() > 1 && self.lots.looks() && self.pull_ordinary(c)
    }

    fn pull_ordinary(&mut self, c: usize) -> bool {
        let others = (0..self.cpus.len()).filter(|other| *other != c && self.load(*other).running > 1);
        let found = others.filter_map(|other| Some((other, self.movable(other, c, f64::INFINITY)?)));
        let busiest = found.max_by(|a, b| self.load(a.0).average().total_cmp(&self.load(b.0).average()));
        let Some((_, n)) = busiest else { return false };
        self.migrate(n, c);
        self.threads[n].place = self.tail();
        true
    }

    /// Balances at a tick of a busy CPU: an idle CPU is told to take a thread, and the CPU itself takes one from time
    /// to time (sched_balance_domains()). On PREEMPT_RT the thread ksoftirqd does this: it makes an idle CPU count as
    /// busy, so that an idle CPU takes no thread (_nohz_idle_balance()), and a CPU on which a real-time thread runs
    /// updates neither its averages nor its capacity, so other CPUs do not see which threads wait there.
    pub fn balance(&mut self, c: usize) {
        if !self.scheduler.realtime {
            self.kick_idle(c);
        }
        let class = self.class(c);
        if class == Class::Ordinary {
            self.cpus[c].averaged = self.now;
        }
        let runs = class == Class::Ordinary || (class > Class::Ordinary && !self.scheduler.realtime);
        if !runs || !self.cpus[c].balance.is_due(self.ticks) {
            return;
        }
        self.cpus[c].averaged = self.now;
        self.cpus[c].known_capacity = self.cpus[c].capacity();
        self.balancing = Some(c).filter(|_| self.scheduler.realtime);
        let surplus = self.surplus(c);
        self.balancing = None;
        let moved = surplus.is_some_and(|(from, surplus)| self.relieve(c, from, surplus));
        let (ticks, tick) = (self.ticks, self.scheduler.tick.0.max(1));
        self.cpus[c].balance.plan(ticks, tick, surplus.is_some(), moved);
    }

    /// Idle CPUs take a waiting thread, or the only thread of a CPU whose capacity is reduced by real-time threads:
    /// nohz_balancer_kick(), need_active_balance().
    fn kick_idle(&mut self, c: usize) {
        for idle in (0..self.cpus.len()).filter(|other| *other != c) {
            if !self.cpus[idle].is_idle() || self.cpus[idle].idle_balance > self.now {
                continue;
            }
            // Every attempt that finds unequal loads resets the interval to less than a tick.
            if self.load(c).running > 1 {
                self.cpus[idle].idle_balance = 0;
                self.cpus[idle].resched |= self.pull_ordinary(idle);
                continue;
            }
            self.cpus[idle].known_capacity = self.cpus[idle].capacity();
            let (own, free) = (self.cpus[c].known_capacity, self.cpus[idle].known_capacity);
            let alone =
                self.cpus[c].current.filter(|n| self.threads[*n].is_ordinary() && self.threads[*n].allowed[idle]);
            if let Some(n) = alone.filter(|_| own * IMBALANCE < free) {
                self.migrate(n, idle);
                (self.cpus[c].resched, self.cpus[idle].resched) = (true, true);
            }
        }
    }

    /// Returns the CPU from which a busy CPU should pull load, and how much, as in sched_balance_find_src_group() and
    /// calculate_imbalance().
    fn surplus(&self, c: usize) -> Option<(usize, f64)> {
        let own = self.load(c);
        if own.spare {
            return None;
        }
        let others = (0..self.cpus.len()).filter(|other| *other != c).map(|other| (other, self.load(other)));
        let overloaded = others.filter(|(_, load)| load.overloaded);
        let (from, other) = overloaded.max_by(|a, b| a.1.average().total_cmp(&b.1.average()))?;
        let all: Vec<Load> = (0..self.cpus.len()).map(|c| self.load(c)).collect();
        let average = all.iter().map(|load| load.load).sum::<f64>() / all.iter().map(|load| load.capacity).sum::<f64>();
        let unequal = own.average() < other.average() && own.average() < average;
        let enough = !own.overloaded || other.average() > IMBALANCE * own.average();
        let surplus = ((other.average() - average) * other.capacity).min((average - own.average()) * own.capacity);
        (unequal && enough && surplus >= 1.0 / UNIT).then_some((from, surplus))
    }

    fn relieve(&mut self, c: usize, from: usize, surplus: f64) -> bool {
        let Some(n) = self.movable(from, c, surplus) else { return false };
        self.migrate(n, c);
        true
    }
}
