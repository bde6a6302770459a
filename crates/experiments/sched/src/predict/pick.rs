//! Determines which thread a CPU runs next: __schedule() and wakeup_preempt() in kernel/sched/core.c.

use super::cpu::Class;
use super::sim::{RELEASE, Sim};
use super::thread::At;

impl Sim<'_> {
    pub fn schedule(&mut self, c: usize) {
        self.update_current(c);
        self.cpus[c].resched = false;
        let previous = self.cpus[c].current;
        let foreign = self.cpus[c].foreign;
        let class = self.class(c);
        let gone = previous.is_some_and(|n| !self.on(c, n));
        if gone && class == Class::Deadline {
            self.pull_deadline(c);
        }
        // balance_rt(): the CPU is about to run something of lower priority.
        let before = match class {
            Class::Deadline if self.first_deadline(c).is_none() => Some(100),
            Class::RealTime => previous.and_then(|n| self.threads[n].priority()),
            _ => None,
        };
        let pulls = gone && before.is_some_and(|before| self.level(c) < before);
        let mut next = match foreign {
            None => self.pick(c),
            Some(Class::Ordinary) => self.first_urgent(c),
            Some(_) => None,
        };
        if next.is_none() && foreign.is_none() && self.pull_newly_idle(c) {
            next = self.pick(c);
        }
        if next != previous {
            self.switch(c, next);
        }
        if pulls {
            self.pull_real_time(c);
        }
    }

    fn switch(&mut self, c: usize, next: Option<usize>) {
        if self.class(c) == Class::Idle {
            self.cpus[c].leave_idle(self.now);
        }
        (self.cpus[c].current, self.cpus[c].idle_since) = (next, self.now);
        let Some(n) = next else { return };
        match self.class(c) {
            Class::Deadline => while self.push_deadline(c) {},
            Class::RealTime => {
                let now = self.now;
                self.cpus.iter_mut().filter_map(|cpu| cpu.throttle.as_mut()).for_each(|throttle| throttle.start(now));
                while self.push_real_time(c) {}
            }
            Class::Ordinary | Class::Idle => {
                self.threads[n].fair.pick();
                self.threads[n].place = self.tail();
            }
        }
    }

    fn pick(&mut self, c: usize) -> Option<usize> {
        let own = self.first_deadline(c);
        if let Some(server) = self.cpus[c].server.and_then(|server| server.deadline())
            && own.is_none_or(|(deadline, _)| server < deadline)
        {
            match self.pick_ordinary(c) {
                Some(n) => return Some(n),
                None => self.cpus[c].server.iter_mut().for_each(|server| server.stop()),
            }
        }
        self.first_urgent(c).or_else(|| self.pick_ordinary(c))
    }

    /// Returns the deadline or real-time thread that runs next.
    fn first_urgent(&self, c: usize) -> Option<usize> {
        let throttled = self.cpus[c].throttle.is_some_and(|throttle| throttle.throttled);
        let real_time = || self.first_real_time(c).filter(|_| !throttled);
        self.first_deadline(c).map(|(_, n)| n).or_else(real_time)
    }

    /// Returns the earliest deadline on a CPU's queue, and the thread that has it.
    pub fn first_deadline(&self, c: usize) -> Option<(u64, usize)> {
        let queued = (0..self.threads.len()).filter(|n| self.on(c, *n));
        let all = queued.filter_map(|n| Some((self.threads[n].deadline()?, n)));
        all.min_by_key(|(deadline, n)| (*deadline, self.threads[*n].place))
    }

    fn first_real_time(&self, c: usize) -> Option<usize> {
        let queued = (0..self.threads.len()).filter(|n| self.on(c, *n) && self.threads[*n].priority().is_some());
        queued.min_by_key(|n| (std::cmp::Reverse(self.threads[*n].priority()), self.threads[*n].place))
    }

    /// Returns the highest priority on a CPU's queue as other CPUs see it: 0 without real-time threads, 100 with a
    /// deadline thread or the fair server (cpupri_set()).
    pub fn level(&self, c: usize) -> u8 {
        if self.earliest(c).is_some() {
            return 100;
        }
        self.first_real_time(c).and_then(|n| self.threads[n].priority()).unwrap_or(0)
    }

    /// Returns the earliest deadline on a CPU's queue, including the deadline of the fair server.
    pub fn earliest(&self, c: usize) -> Option<u64> {
        let server = self.cpus[c].server.and_then(|server| server.deadline());
        self.first_deadline(c).map(|(deadline, _)| deadline).into_iter().chain(server).min()
    }

    /// Wakes a thread. `waker` is the CPU on which that happens.
    pub fn wake(&mut self, n: usize, waker: usize) {
        match Some(n) == self.releaser {
            true => self.threads[n].at = At::Ready(RELEASE),
            false => self.threads[n].wake(self.now),
        }
        if !self.threads[n].is_ready() {
            return;
        }
        let now = self.now;
        self.threads[n].woken = now;
        let to = self.select(n, waker);
        // The thread's server decides first whether the thread is queued.
        if let Some(server) = &mut self.threads[n].server {
            server.wake(now);
        }
        self.threads[n].cpu = usize::MAX;
        self.enter_queue(n, to);
        if self.on(to, n) {
            self.preempt(to, n);
            self.push_woken(to, n);
        }
    }

    /// Lets a throttled thread continue when its runtime has been replenished: dl_task_timer().
    pub fn replenished(&mut self, n: usize) {
        let c = self.threads[n].cpu;
        self.threads[n].place = self.tail();
        self.preempt(c, n);
        self.push_deadline(c);
    }

    /// Makes a CPU choose again if a thread that was added to its queue precedes the running one.
    fn preempt(&mut self, c: usize, n: usize) {
        let Some(current) = self.cpus[c].current else {
            self.cpus[c].resched = true;
            return;
        };
        let (new, old) = (&self.threads[n], &self.threads[current]);
        let class = if new.is_deadline() {
            Class::Deadline
        } else if new.priority().is_some() {
            Class::RealTime
        } else {
            Class::Ordinary
        };
        let running = self.class(c);
        let before = match class {
            _ if class != running => class > running,
            Class::Deadline => new.deadline() < old.deadline(),
            Class::RealTime => new.priority() > old.priority(),
            _ if old.is_idle_policy() != new.is_idle_policy() => old.is_idle_policy(),
            _ => !new.is_patient() && self.pick_ordinary(c) == Some(n),
        };
        if class == Class::RealTime && running == class && new.priority() == old.priority() {
            self.make_room(c, n, current);
        }
        self.cpus[c].resched |= before;
    }

    /// Puts a pinned thread before a running one of the same priority that can move to another CPU:
    /// check_preempt_equal_prio().
    fn make_room(&mut self, c: usize, n: usize, current: usize) {
        if !self.cpus[c].resched && self.lowest(current).is_some() && self.lowest(n).is_none() {
            self.threads[n].place = self.head();
            self.cpus[c].resched = true;
        }
    }
}
