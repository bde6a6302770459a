use super::Task;
use super::server::Server;
use crate::body::Action;
use punctual_model::Prediction;
use punctual_units::{CpuId, Nanos, Scheduling};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum At {
    /// Asleep or not yet released until this time.
    Asleep(u64),
    /// Runnable, with this much work left.
    Ready(f64),
    Ended,
}

pub(super) struct State<'a> {
    pub task: &'a Task,
    pub at: At,
    /// Position in the queue of its priority. Lower values run earlier.
    pub place: u64,
    /// Remaining part of the thread's time slice.
    pub slice: f64,
    /// Server of a SCHED_DEADLINE thread.
    pub server: Option<Server>,
    /// The CPU on which the thread runs or last ran.
    pub cpu: Option<CpuId>,
    begun: Option<u64>,
    ended: Option<u64>,
    action: usize,
    loops: u64,
    timer: u64,
}

impl<'a> State<'a> {
    pub fn new(task: &'a Task, place: u64, quantum: Nanos) -> State<'a> {
        State {
            task,
            at: At::Asleep(task.release.0),
            place,
            slice: quantum.0 as f64,
            server: Server::of(task.scheduling),
            cpu: None,
            begun: None,
            ended: None,
            action: 0,
            loops: 0,
            timer: task.release.0,
        }
    }

    /// Continues if the sleep has ended. Returns true if the thread woke.
    pub fn wake(&mut self, now: u64) -> bool {
        let At::Asleep(until) = self.at else { return false };
        if until > now {
            return false;
        }
        self.at = self.next(until);
        matches!(self.at, At::Ready(_))
    }

    /// The thread's next action from `now` on. A loop without work or sleep ends the thread, since it would never end.
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
                Action::Run(work) => return At::Ready(work.0 as f64),
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

    /// Assigns the CPU to the thread for up to `length`. Returns the time used.
    pub fn run(&mut self, now: u64, length: f64) -> f64 {
        let At::Ready(left) = self.at else { return 0.0 };
        self.begun.get_or_insert(now);
        if left > length {
            self.at = At::Ready(left - length);
            return length;
        }
        self.at = self.next(now + left as u64);
        if let At::Asleep(until) = self.at
            && until <= now
        {
            self.at = At::Asleep(now + 1);
        }
        left
    }

    pub fn is_ready(&self) -> bool {
        matches!(self.at, At::Ready(_))
    }

    /// Real-time priority, with SCHED_DEADLINE above all. `None` for ordinary threads.
    pub fn rank(&self) -> Option<u8> {
        match self.task.scheduling {
            Scheduling::Deadline { .. } => Some(100),
            other => other.priority().map(|priority| priority.get()),
        }
    }

    pub fn is_deadline(&self) -> bool {
        self.server.is_some()
    }

    pub fn weight(&self) -> f64 {
        weight(self.task.scheduling)
    }

    pub fn prediction(&self) -> Prediction {
        let since = |t: u64| Nanos(t.saturating_sub(self.task.release.0));
        let begins = self.begun.or(self.ended).map_or(Nanos::ZERO, since);
        Prediction { begins_ns: begins, ends_ns: self.ended.map(since), earliest_ns: None }
    }
}

/// Weight among ordinary threads: a factor of 1.25 per nice level (sched_prio_to_weight in kernel/sched/core.c).
pub(super) fn weight(scheduling: Scheduling) -> f64 {
    match scheduling {
        Scheduling::Other { nice } | Scheduling::Batch { nice } => 1024.0 / 1.25f64.powi(nice.into()),
        _ => 3.0,
    }
}
