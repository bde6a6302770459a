//! A simulated thread: what it does, and its place in the queues of its policy.

use super::Task;
use super::fair::Entity;
use super::server::Server;
use crate::body::Action;
use punctual_model::Prediction;
use punctual_units::{CpuList, Nanos, Scheduling};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum At {
    /// Before its release.
    Unreleased,
    /// Asleep until this time.
    Asleep(u64),
    /// Runnable, with this much work left.
    Ready(u64),
    Ended,
}

pub(super) struct Thread<'a> {
    task: &'a Task,
    pub at: At,
    /// The CPU on whose queue the thread is or last was.
    pub cpu: usize,
    /// For each CPU, true if the thread may run on it.
    pub allowed: Vec<bool>,
    /// Position in the queue of its priority. Lower values run earlier.
    pub place: i64,
    /// Number of ticks left of the thread's SCHED_RR time slice.
    pub slice: u64,
    /// Server of a SCHED_DEADLINE thread.
    pub server: Option<Server>,
    pub fair: Entity,
    /// Time at which the thread last woke.
    pub woken: u64,
    /// Load, as a share of its weight, with which it fell asleep. It is 1 for a new thread
    /// (init_entity_runnable_average()).
    pub asleep: f64,
    released: u64,
    begun: Option<u64>,
    ended: Option<u64>,
    action: usize,
    loops: u64,
    timer: u64,
}

impl<'a> Thread<'a> {
    /// Creates a thread that waits for its release on the CPU with index `cpu` in `cpus`.
    pub fn new(task: &'a Task, cpu: usize, cpus: &CpuList, slice: u64) -> Thread<'a> {
        Thread {
            task,
            at: At::Unreleased,
            cpu,
            allowed: cpus.iter().map(|id| task.cpus.contains(id)).collect(),
            place: 0,
            slice,
            server: Server::of(task.scheduling),
            fair: Entity::new(weight(task.scheduling)),
            woken: 0,
            asleep: 1.0,
            released: task.release.0,
            begun: None,
            ended: None,
            action: 0,
            loops: 0,
            timer: task.release.0,
        }
    }

    /// Returns the time of the thread's next wakeup by a timer.
    pub fn wakes(&self) -> Option<u64> {
        match self.at {
            At::Unreleased => Some(self.released),
            At::Asleep(until) => Some(until),
            At::Ready(_) | At::Ended => None,
        }
    }

    /// Continues the thread after a sleep, or starts its first action.
    pub fn wake(&mut self, now: u64) {
        if self.at == At::Unreleased {
            (self.released, self.timer) = (now, now);
        }
        self.at = self.next(now);
    }

    /// Begins the thread's next action and returns the new state. A loop without work or sleep ends the thread, because
    /// it would run forever without taking any time.
    fn next(&mut self, now: u64) -> At {
        for _ in 0..=self.task.body.actions.len() {
            if self.action >= self.task.body.actions.len() {
                self.action = 0;
                self.loops += 1;
            }
            if self.task.body.loops.is_some_and(|loops| self.loops >= loops) {
                break;
            }
            let Some(action) = self.task.body.actions.get(self.action) else { break };
            self.action += 1;
            match *action {
                Action::Run(Nanos(0)) | Action::Sleep(Nanos(0)) => {}
                Action::Run(work) => return At::Ready(work.0),
                Action::Sleep(length) => return At::Asleep(now + length.0),
                Action::Timer(period) => {
                    self.timer += period.0;
                    if self.timer > now {
                        return At::Asleep(self.timer);
                    }
                    self.timer = now;
                }
            }
        }
        self.ended = Some(now);
        At::Ended
    }

    /// Runs for `length`, at most until its work is done. Returns the time charged to it.
    pub fn run(&mut self, now: u64, length: u64) -> u64 {
        let At::Ready(left) = self.at else { return 0 };
        self.begun.get_or_insert(now);
        self.at = At::Ready(left.saturating_sub(length));
        let charged = (length as f64 * self.task.charged).round() as u64;
        self.fair.charge(charged);
        if let Some(server) = &mut self.server {
            server.charge(charged);
        }
        charged
    }

    /// Continues with its next action if its work is done.
    pub fn finish(&mut self, now: u64) {
        if self.at == At::Ready(0) {
            self.at = self.next(now);
        }
    }

    pub fn is_ready(&self) -> bool {
        matches!(self.at, At::Ready(_))
    }

    /// Returns true if the thread is on its CPU's queue: runnable and not throttled.
    pub fn is_queued(&self) -> bool {
        self.is_ready() && self.server.is_none_or(|server| server.runnable().is_some())
    }

    /// Returns the absolute deadline of a SCHED_DEADLINE thread that is queued.
    pub fn deadline(&self) -> Option<u64> {
        self.server.filter(|_| self.is_ready())?.runnable()
    }

    /// Returns the priority of a SCHED_FIFO or SCHED_RR thread.
    pub fn priority(&self) -> Option<u8> {
        self.task.scheduling.priority().map(|priority| priority.get())
    }

    pub fn is_deadline(&self) -> bool {
        self.server.is_some()
    }

    pub fn is_ordinary(&self) -> bool {
        !self.is_deadline() && self.priority().is_none()
    }

    pub fn takes_turns(&self) -> bool {
        matches!(self.task.scheduling, Scheduling::Rr { .. })
    }

    /// Returns true for policies whose threads do not preempt others when they wake: SCHED_BATCH and SCHED_IDLE.
    pub fn is_patient(&self) -> bool {
        matches!(self.task.scheduling, Scheduling::Batch { .. } | Scheduling::Idle)
    }

    pub fn is_idle_policy(&self) -> bool {
        self.task.scheduling == Scheduling::Idle
    }

    pub fn is_pinned(&self) -> bool {
        self.allowed.iter().filter(|allowed| **allowed).count() < 2
    }

    pub fn prediction(&self, horizon: u64) -> Prediction {
        let since = |t: u64| Nanos(t.saturating_sub(self.released));
        let begins = self.begun.or(self.ended).map_or(Nanos::ZERO, since);
        // A thread that does not end earlier ends with the experiment.
        let ended = self.ended.or_else(|| self.task.body.loops.is_none().then_some(horizon));
        Prediction { begins_ns: begins, ends_ns: ended.map(since), ..Prediction::default() }
    }
}

/// Returns the weight among ordinary threads: a factor of 1.25 per nice level (sched_prio_to_weight in
/// kernel/sched/core.c).
pub(super) fn weight(scheduling: Scheduling) -> f64 {
    match scheduling {
        Scheduling::Other { nice } | Scheduling::Batch { nice } => 1024.0 / 1.25f64.powi(nice.into()),
        _ => 3.0,
    }
}
