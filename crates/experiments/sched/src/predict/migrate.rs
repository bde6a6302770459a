//! Determines which CPU a real-time or deadline thread runs on (kernel/sched/rt.c and kernel/sched/deadline.c). Every
//! CPU has its own queues. A thread moves when it wakes, when a CPU is about to run something of lower priority, and
//! when a thread of higher priority comes to its CPU.

use super::cpu::Class;
use super::sim::Sim;

impl Sim<'_> {
    /// Returns the CPU to whose queue a woken thread goes: select_task_rq().
    pub fn select(&mut self, n: usize, waker: usize) -> usize {
        let thread = &self.threads[n];
        let (home, current) = (thread.cpu, self.cpus[thread.cpu].current);
        if thread.is_pinned() {
            return thread.allowed.iter().position(|allowed| *allowed).unwrap_or(home);
        }
        if thread.is_ordinary() {
            return self.select_ordinary(n, waker);
        }
        let Some(running) = current.map(|current| &self.threads[current]) else { return home };
        if let Some(server) = thread.server {
            let woken = {
                let mut server = server;
                server.wake(self.now);
                server.runnable()
            };
            let stays = running.deadline().is_none() || (!running.is_pinned() && woken < running.deadline());
            let free =
                || self.latest(n, woken).filter(|to| self.earliest(*to).is_none_or(|d| woken.is_some_and(|w| w < d)));
            return if stays { home } else { free().unwrap_or(home) };
        }
        let priority = thread.priority();
        let others = running.priority().is_some_and(|other| running.is_pinned() || Some(other) >= priority);
        if others { self.lowest(n).unwrap_or(home) } else { home }
    }

    /// Returns the CPU that runs at the lowest priority, if that is below the priority of the real-time thread:
    /// find_lowest_rq().
    pub fn lowest(&self, n: usize) -> Option<usize> {
        let thread = &self.threads[n];
        let priority = thread.priority()?;
        let below = |c: &usize| thread.allowed[*c] && self.level(*c) < priority;
        let least = (0..self.cpus.len()).filter(below).map(|c| self.level(c)).min()?;
        let mut all = (0..self.cpus.len()).filter(|c| below(c) && self.level(*c) == least);
        let first = all.clone().next();
        all.find(|c| *c == thread.cpu).or(first).filter(|_| !thread.is_pinned())
    }

    /// Returns a CPU without a deadline if there is one, otherwise the CPU with the latest deadline if that is after
    /// `deadline`: find_later_rq().
    fn latest(&self, n: usize, deadline: Option<u64>) -> Option<usize> {
        let thread = &self.threads[n];
        if thread.is_pinned() {
            return None;
        }
        let allowed = || (0..self.cpus.len()).filter(|c| thread.allowed[*c]);
        let mut free = allowed().filter(|c| self.earliest(*c).is_none());
        let first = free.clone().next();
        if let Some(c) = free.find(|c| *c == thread.cpu).or(first) {
            return Some(c);
        }
        let last = allowed().max_by_key(|c| self.earliest(*c))?;
        (deadline < self.earliest(last)).then_some(last)
    }

    /// Returns the threads that wait on a CPU's queue and may move to another CPU.
    fn pushable(&self, c: usize) -> impl Iterator<Item = usize> {
        let waits =
            move |n: &usize| self.on(c, *n) && self.cpus[c].current != Some(*n) && !self.threads[*n].is_pinned();
        (0..self.threads.len()).filter(waits)
    }

    /// Moves the first waiting real-time thread to a CPU that runs something of lower priority: push_rt_task(). Returns
    /// true if it moved.
    pub fn push_real_time(&mut self, c: usize) -> bool {
        let order = |n: &usize| (std::cmp::Reverse(self.threads[*n].priority()), self.threads[*n].place);
        let waiting = self.pushable(c).filter(|n| self.threads[*n].priority().is_some()).min_by_key(order);
        let Some(n) = waiting else { return false };
        let running = self.cpus[c].current.map(|current| &self.threads[current]);
        if self.class(c) < Class::RealTime
            || running.and_then(|r| r.priority()).is_some_and(|p| self.threads[n].priority() > Some(p))
        {
            self.cpus[c].resched = true;
            return false;
        }
        let Some(to) = self.lowest(n).filter(|to| *to != c) else { return false };
        self.migrate(n, to);
        self.cpus[to].resched = true;
        true
    }

    /// Makes the other CPUs move their waiting real-time threads: tell_cpu_to_push().
    pub fn pull_real_time(&mut self, c: usize) {
        for other in (0..self.cpus.len()).filter(|other| *other != c) {
            while self.push_real_time(other) {}
        }
    }

    /// Returns the earliest deadline among the waiting deadline threads that may move, and the thread that has it.
    fn pushable_deadline(&self, c: usize) -> Option<(u64, usize)> {
        let all = self.pushable(c).filter_map(|n| Some((self.threads[n].deadline()?, n)));
        all.min_by_key(|(deadline, n)| (*deadline, self.threads[*n].place))
    }

    /// Moves the waiting deadline thread with the earliest deadline to a CPU with a later deadline or none:
    /// push_dl_task(). Returns true if it moved.
    pub fn push_deadline(&mut self, c: usize) -> bool {
        let Some((deadline, n)) = self.pushable_deadline(c) else { return false };
        let running = self.cpus[c].current.map(|current| &self.threads[current]);
        let movable =
            running.is_some_and(|thread| !thread.is_pinned() && thread.deadline().is_some_and(|d| deadline < d));
        if movable {
            self.cpus[c].resched = true;
            return false;
        }
        let fits = |to: &usize| *to != c && self.earliest(*to).is_none_or(|other| deadline < other);
        let Some(to) = self.latest(n, Some(deadline)).filter(fits) else { return false };
        self.migrate(n, to);
        self.cpus[to].resched = true;
        true
    }

    /// Takes waiting deadline threads from other CPUs: pull_dl_task().
    pub fn pull_deadline(&mut self, c: usize) {
        for other in (0..self.cpus.len()).filter(|other| *other != c) {
            let Some((deadline, n)) = self.pushable_deadline(other).filter(|(_, n)| self.threads[*n].allowed[c]) else {
                continue;
            };
            let running = self.cpus[other].current.and_then(|current| self.threads[current].deadline());
            let first = self.earliest(c).is_none_or(|own| deadline < own);
            if first && running.is_some_and(|running| running <= deadline) {
                self.migrate(n, c);
            }
        }
    }

    /// Moves a woken thread that does not run at once to another CPU if possible: task_woken_rt(), task_woken_dl().
    pub fn push_woken(&mut self, c: usize, n: usize) {
        let Some(current) = self.cpus[c].current.filter(|_| !self.cpus[c].resched) else { return };
        let (woken, running) = (&self.threads[n], &self.threads[current]);
        let waits = current != n && !woken.is_pinned();
        if woken.is_deadline() && running.is_deadline() && waits {
            while self.push_deadline(c) {}
        } else if woken.priority().is_some() && !running.is_ordinary() && waits {
            while self.push_real_time(c) {}
        }
    }
}
