//! The constant bandwidth server of a SCHED_DEADLINE thread, as implemented in kernel/sched/deadline.c.

use punctual_units::{Nanos, Scheduling};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Server {
    runtime: i64,
    deadline: u64,
    period: u64,
    /// Remaining runtime of the server; negative after an overrun.
    budget: i64,
    /// Absolute deadline of the server; 0 before the first activation.
    until: u64,
    /// Time until which the thread is throttled.
    wait: Option<u64>,
}

impl Server {
    pub fn of(scheduling: Scheduling) -> Option<Server> {
        let Scheduling::Deadline { runtime_ns, deadline_ns, period_ns } = scheduling else { return None };
        let or = |time: Nanos, other: Nanos| if time.0 == 0 { other.0 } else { time.0 };
        let period = or(period_ns, deadline_ns).max(1);
        let deadline = or(deadline_ns, period_ns).clamp(1, period);
        Some(Server { runtime: runtime_ns.0.max(1).cast_signed(), deadline, period, budget: 0, until: 0, wait: None })
    }

    /// Handles a wakeup: update_dl_entity() and dl_check_constrained_dl().
    pub fn wake(&mut self, now: u64) {
        let next = self.next_period();
        if self.wait.is_some() {
            return;
        }
        if self.deadline < self.period && self.until > 0 && self.until < now && now < next {
            (self.wait, self.budget) = (Some(next), self.budget.min(0));
            return;
        }
        if self.until == 0 || self.until < now {
            self.renew(now);
        } else if self.overflows(now) {
            match self.deadline < self.period {
                // The revised wakeup rule (update_dl_revised_wakeup()).
                true => self.budget = (self.density() * (self.until - now) as f64) as i64,
                false => self.renew(now),
            }
        }
    }

    /// Ends the throttling if its time has elapsed: dl_task_timer(), replenish_dl_entity(). Returns true if it has.
    pub fn tick(&mut self, now: u64) -> bool {
        if self.wait.is_none_or(|until| until > now) {
            return false;
        }
        self.wait = None;
        while self.budget <= 0 {
            self.until += self.period;
            self.budget += self.runtime;
        }
        if self.until < now {
            self.renew(now);
        }
        true
    }

    pub fn charge(&mut self, time: u64) {
        self.budget -= time.cast_signed();
    }

    /// Throttles the thread if its runtime is used up, which the kernel finds out at ticks and when the thread leaves
    /// the CPU: update_curr_dl_se(). Returns true if the runtime was used up.
    pub fn enforce(&mut self, now: u64) -> bool {
        let over = self.budget <= 0 && self.wait.is_none();
        if over {
            self.wait = Some(self.next_period());
            self.tick(now);
        }
        over
    }

    /// Returns the time at which a throttled thread continues.
    pub fn timer(&self) -> Option<u64> {
        self.wait
    }

    /// Returns the absolute deadline if the thread may run; `None` if it is throttled.
    pub fn runnable(&self) -> Option<u64> {
        self.wait.is_none().then_some(self.until)
    }

    fn renew(&mut self, now: u64) {
        (self.until, self.budget) = (now + self.deadline, self.runtime);
    }

    fn next_period(&self) -> u64 {
        (self.until + self.period).saturating_sub(self.deadline)
    }

    fn density(&self) -> f64 {
        self.runtime as f64 / self.deadline as f64
    }

    /// Returns true if the remaining runtime exceeds the reserved share of the time until the deadline:
    /// dl_entity_overflow().
    fn overflows(&self, now: u64) -> bool {
        self.budget as f64 > self.density() * (self.until - now) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn server(runtime: u64, deadline: u64, period: u64) -> Server {
        let scheduling = Scheduling::Deadline {
            runtime_ns: Nanos::from_millis(runtime),
            deadline_ns: Nanos::from_millis(deadline),
            period_ns: Nanos::from_millis(period),
        };
        Server::of(scheduling).unwrap()
    }

    #[test]
    fn a_wakeup_after_the_deadline_and_before_the_next_period_waits() {
        let mut constrained = server(1, 3, 10);
        constrained.wake(2 * MS);
        assert_eq!(constrained.runnable(), Some(5 * MS));
        constrained.charge(MS / 2);
        constrained.wake(10 * MS);
        assert_eq!(constrained.runnable(), None);
        constrained.tick(12 * MS - 1);
        assert_eq!(constrained.runnable(), None);
        constrained.tick(12 * MS);
        assert_eq!((constrained.runnable(), constrained.budget), (Some(15 * MS), 1_000_000));
        // If the deadline equals the period, no wakeup is delayed.
        let mut implicit = server(1, 10, 10);
        implicit.wake(2 * MS);
        implicit.charge(MS / 2);
        implicit.wake(12 * MS + 1);
        assert_eq!(implicit.runnable(), Some(22 * MS + 1));
    }

    #[test]
    fn a_wakeup_before_the_deadline_keeps_what_does_not_exceed_the_reservation() {
        let mut server = server(4, 10, 10);
        server.wake(0);
        server.wake(0);
        server.charge(3 * MS);
        // 1 ms within 10 ms is below the reservation of 4 in 10.
        server.wake(4 * MS);
        assert_eq!((server.runnable(), server.budget), (Some(10 * MS), 1_000_000));
        // 1 ms within 1 ms exceeds it, so a new period begins.
        server.wake(9 * MS);
        assert_eq!((server.runnable(), server.budget), (Some(19 * MS), 4_000_000));
    }

    #[test]
    fn the_revised_rule_cuts_the_runtime_of_a_constrained_server() {
        let mut server = server(4, 8, 20);
        server.wake(0);
        server.charge(MS);
        server.wake(6 * MS);
        assert_eq!((server.runnable(), server.budget), (Some(8 * MS), 1_000_000));
    }

    #[test]
    fn a_used_up_runtime_waits_for_the_period_and_an_overrun_is_paid() {
        let mut server = server(2, 10, 10);
        server.wake(0);
        server.charge(3 * MS);
        assert!(server.enforce(3 * MS) && !server.enforce(3 * MS));
        assert_eq!(server.runnable(), None);
        server.tick(10 * MS);
        assert_eq!((server.runnable(), server.budget), (Some(20 * MS), 1_000_000));
    }
}
