//! RT throttling of a CPU, as in kernel/sched/rt.c before Linux 6.12, and in later versions with CONFIG_RT_GROUP_SCHED.

use punctual_model::RtLimit;

#[derive(Clone, Copy, Debug)]
pub(super) struct Throttle {
    runtime: i64,
    period: i64,
    /// CPU time of real-time threads that has not been deducted at a period boundary yet.
    used: i64,
    pub throttled: bool,
    /// Next expiry of the timer, which serves all CPUs at once. `None` until the first real-time thread runs.
    timer: Option<i64>,
}

impl Throttle {
    /// Creates the throttling of a CPU. `phase` is the time from the start of a period to the start of the simulation.
    pub fn new(limit: &RtLimit, phase: Option<u64>) -> Throttle {
        let period = limit.period_ns.0.max(1).cast_signed();
        let timer = phase.map(|phase| period - phase.cast_signed() % period);
        Throttle { runtime: limit.runtime_ns.0.cast_signed(), period, used: 0, throttled: false, timer }
    }

    pub fn timer(&self) -> Option<u64> {
        self.timer.map(|at| at.max(0).cast_unsigned())
    }

    /// Starts a period when the first real-time thread runs, unless a period is known to have begun.
    pub fn start(&mut self, now: u64) {
        self.timer.get_or_insert(now.cast_signed() + self.period);
    }

    pub fn charge(&mut self, time: u64) {
        self.used += time.cast_signed();
    }

    /// Throttles real-time threads that have exceeded the runtime: sched_rt_runtime_exceeded(). Returns true if it did
    /// so.
    pub fn enforce(&mut self) -> bool {
        let over = self.used > self.runtime && !self.throttled;
        self.throttled |= over;
        over
    }

    /// Handles the timer: do_sched_rt_period_timer(). Returns true if threads are no longer throttled.
    pub fn fire(&mut self, now: u64) -> bool {
        let Some(at) = self.timer.filter(|at| *at <= now.cast_signed()) else { return false };
        self.timer = Some(at + self.period);
        self.used -= self.used.min(self.runtime);
        let over = self.throttled && self.used < self.runtime;
        self.throttled &= !over;
        over
    }
}
