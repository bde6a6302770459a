//! The fair server of a CPU: a deadline server that runs its ordinary threads when they have starved. See
//! dl_server_start() and the functions after it in kernel/sched/deadline.c, Linux 6.12.

/// The timer is postponed only if the delay is at least this long, ns (dl_server_min_res).
const LEAST: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FairServer {
    runtime: i64,
    period: u64,
    budget: i64,
    /// Absolute deadline of the server.
    until: u64,
    active: bool,
    throttled: bool,
    /// True if the server waits until its remaining runtime just fits before its deadline.
    deferred: bool,
    /// True if the server has had to serve starving threads; it then serves them from the beginning of each period.
    running: bool,
    timer: Option<u64>,
}

impl FairServer {
    /// Creates the server of a CPU that ordinary threads have just kept busy for longer than the server's runtime.
    pub fn new(runtime: u64, period: u64) -> FairServer {
        let mut server = FairServer {
            runtime: runtime.cast_signed(),
            period,
            budget: 0,
            until: 0,
            active: true,
            throttled: false,
            deferred: false,
            running: false,
            timer: None,
        };
        server.begin(0);
        server.set_timer(0);
        server
    }

    /// Returns the absolute deadline if the server is queued.
    pub fn deadline(&self) -> Option<u64> {
        (self.active && !self.throttled).then_some(self.until)
    }

    pub fn timer(&self) -> Option<u64> {
        self.timer
    }

    /// Starts the server when the first ordinary thread has been queued: dl_server_start().
    pub fn start(&mut self, now: u64) {
        if self.active {
            return;
        }
        self.active = true;
        let past = self.until < now;
        if past || self.overflows(now) {
            if self.running && !past {
                self.budget = ((self.until - now) as f64 * self.runtime as f64 / self.period as f64) as i64;
            } else {
                self.running = false;
                self.begin(now);
            }
        } else if !self.running {
            (self.deferred, self.throttled) = (true, true);
        }
        self.queue(now);
    }

    /// Stops the server when it was picked but no ordinary thread was runnable: dl_server_stop().
    pub fn stop(&mut self) {
        (self.active, self.throttled, self.deferred, self.timer) = (false, false, false, None);
    }

    /// Charges the server for the time that an ordinary thread ran, even if the server did not run it.
    pub fn charge(&mut self, time: u64) {
        if self.active {
            self.budget -= time.cast_signed();
        }
    }

    /// Charges the server for time in which the CPU was idle: dl_server_update_idle_time().
    pub fn idle(&mut self, time: u64) {
        if self.budget < 0 {
            return;
        }
        self.budget -= time.cast_signed();
        if self.budget < 0 {
            (self.running, self.budget) = (false, 0);
        }
    }

    /// Ends the service if the runtime is used up: update_curr_dl_se(). Returns true if the CPU has to pick again.
    pub fn enforce(&mut self, now: u64) -> bool {
        if !self.active || self.budget > 0 {
            return false;
        }
        if self.throttled {
            // The threads had this time without the server's help.
            (self.running, self.timer) = (false, None);
            self.begin(now);
            self.set_timer(now);
            return false;
        }
        self.throttled = true;
        if !self.set_timer(now) {
            self.replenish(now);
        }
        true
    }

    /// Handles the timer: dl_server_timer(). Returns true if the CPU has to pick again.
    pub fn fire(&mut self, now: u64) -> bool {
        if self.timer.is_none_or(|at| at > now) {
            return false;
        }
        self.timer = None;
        if !self.throttled {
            return false;
        }
        if self.deferred {
            let fits = self.latest();
            if now + LEAST < fits {
                self.timer = Some(fits);
                return false;
            }
            self.running = true;
        }
        self.replenish(now);
        true
    }

    fn replenish(&mut self, now: u64) {
        if self.deferred && self.overflows(now) {
            (self.until, self.budget) = (now + self.period, self.runtime);
        }
        while self.budget <= 0 {
            self.until += self.period;
            self.budget += self.runtime.max(1);
        }
        if self.until < now {
            self.begin(now);
        }
        self.throttled = false;
        if self.deferred {
            self.deferred = false;
        } else if !self.running && now < self.latest() {
            (self.deferred, self.throttled) = (true, true);
        }
        self.queue(now);
    }

    /// Starts a period: replenish_dl_new_period().
    fn begin(&mut self, now: u64) {
        (self.until, self.budget) = (now + self.period, self.runtime);
        if !self.running {
            (self.deferred, self.throttled) = (true, true);
        }
    }

    fn queue(&mut self, now: u64) {
        if self.throttled && !self.set_timer(now) {
            (self.throttled, self.deferred, self.timer) = (false, false, None);
        }
    }

    /// Sets the timer for the next start or replenishment. Returns false if that time has passed.
    fn set_timer(&mut self, now: u64) -> bool {
        let at = if self.deferred { self.latest() } else { self.until };
        if at >= now && self.timer.is_none() {
            self.timer = Some(at);
        }
        at >= now
    }

    /// Returns the time at which the rest of the runtime just fits before the deadline.
    fn latest(&self) -> u64 {
        self.until.saturating_add_signed(-self.budget)
    }

    fn overflows(&self, now: u64) -> bool {
        self.budget as f64 * self.period as f64 > self.until.saturating_sub(now) as f64 * self.runtime as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns the server at 20 ms, when a real-time thread takes the CPU from an ordinary one.
    fn starved() -> FairServer {
        let mut server = FairServer::new(50 * MS, 1000 * MS);
        server.charge(20 * MS);
        server
    }

    #[test]
    fn the_first_service_is_950_ms_after_the_starvation_began() {
        let mut server = starved();
        assert!(!server.fire(950 * MS));
        assert_eq!((server.timer(), server.deadline()), (Some(970 * MS), None));
        assert!(server.fire(970 * MS));
        assert_eq!(server.deadline(), Some(1970 * MS));
    }

    #[test]
    fn after_it_each_period_begins_with_a_service() {
        let mut server = starved();
        server.fire(950 * MS);
        server.fire(970 * MS);
        server.charge(49 * MS);
        assert!(!server.enforce(1019 * MS));
        server.charge(3 * MS);
        assert!(server.enforce(1022 * MS), "2 ms more until the tick");
        assert_eq!((server.deadline(), server.timer()), (None, Some(1970 * MS)));
        assert!(server.fire(1970 * MS));
        assert_eq!((server.deadline(), server.budget), (Some(2970 * MS), 48_000_000));
    }

    #[test]
    fn threads_that_do_not_starve_put_the_service_off() {
        let mut server = starved();
        server.charge(30 * MS);
        assert!(!server.enforce(50 * MS));
        assert_eq!((server.timer(), server.deadline()), (Some(1000 * MS), None));
    }

    /// A server that found no thread to serve serves the next one at once, with a share of its runtime in proportion to
    /// the time left.
    #[test]
    fn a_server_that_was_left_without_threads_does_not_wait_again() {
        let mut server = FairServer::new(50 * MS, 1000 * MS);
        server.idle(60 * MS);
        server.fire(950 * MS);
        assert!(server.fire(1000 * MS));
        server.stop();
        server.start(1500 * MS);
        assert_eq!((server.deadline(), server.budget), (Some(2000 * MS), 25_000_000));
    }
}
