//! A simulated CPU: what runs on it, its averages, and the state of its load balancing.

use super::Scheduler;
use super::fair_server::FairServer;
use super::throttle::Throttle;

/// Half-life of the scheduler's averages, ns (kernel/sched/pelt.c).
const HALF_LIFE: f64 = 32e6;
/// Intervals between two attempts of a busy CPU to balance, in ms (get_sd_balance_interval() in kernel/sched/fair.c, for a
/// domain of two CPUs). The last one is used after an attempt that found pinned threads only, until one finds unequal loads.
const INTERVALS: [u64; 3] = [32, 64, 104];

/// The same for an idle CPU at the start. While an experiment is being prepared, threads that are pinned to its CPUs
/// wait there for each other, and each attempt to move them doubles the interval, up to 512 ms (MAX_PINNED_INTERVAL).
const IDLE_INTERVALS: [u64; 4] = [4, 128, 256, 512];

/// Scheduling class of what runs on a CPU. The order is that of the kernel's classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Idle,
    Ordinary,
    RealTime,
    Deadline,
}

#[derive(Clone, Debug)]
pub(super) struct Cpu {
    pub current: Option<usize>,
    /// Class of a task outside the experiment that has the CPU.
    pub foreign: Option<Class>,
    /// True if the CPU has to choose its next thread.
    pub resched: bool,
    pub server: Option<FairServer>,
    pub throttle: Option<Throttle>,
    pub idle_since: u64,
    /// Share of the recent time in which real-time and deadline threads ran (avg_rt and avg_dl).
    real_time: f64,
    /// Share of the recent time in which ordinary threads ran.
    pub ordinary: f64,
    pub balance: Balance,
    /// Time from which the CPU takes threads from other CPUs while it is idle.
    pub idle_balance: u64,
    /// Time at which the averages of the ordinary threads were last updated.
    pub averaged: u64,
    /// Capacity when the CPU last tried to balance; later decisions use this value.
    pub known_capacity: f64,
}

/// State of a busy CPU's periodic balancing of ordinary threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Balance {
    /// Number of the tick at which the next attempt is due.
    next: u64,
    interval: u64,
    /// Number of attempts that moved no thread though the load was unequal.
    pub failed: u32,
}

impl Cpu {
    /// Creates a CPU. `lot` is a random number that determines at which tick it first balances, and how often.
    pub fn new(scheduler: &Scheduler<'_>, lot: u64) -> Cpu {
        let limit = scheduler.limit.as_ref().filter(|limit| limit.runtime_ns < limit.period_ns);
        let server = limit.filter(|limit| !limit.always || limit.fair_server);
        let server = server.map(|limit| FairServer::new(limit.period_ns.0 - limit.runtime_ns.0, limit.period_ns.0));
        let throttle = limit.filter(|limit| limit.always);
        Cpu {
            current: None,
            foreign: None,
            resched: false,
            server,
            throttle: throttle.map(|limit| Throttle::new(limit, scheduler.phase.map(|phase| phase.0))),
            idle_since: 0,
            real_time: 0.0,
            ordinary: 0.0,
            balance: Balance::new(lot, scheduler.tick.0.max(1)),
            idle_balance: IDLE_INTERVALS[usize::try_from(lot >> 62).unwrap_or(0)] * 1_000_000,
            averaged: 0,
            known_capacity: 1.0,
        }
    }

    /// Accounts for `time` in which a thread of this class ran.
    pub fn charge(&mut self, class: Class, time: u64) {
        let decay = 0.5f64.powf(time as f64 / HALF_LIFE);
        let is = |wanted: bool| if wanted { 1.0 - decay } else { 0.0 };
        self.real_time = self.real_time * decay + is(class >= Class::RealTime);
        self.ordinary = self.ordinary * decay + is(class == Class::Ordinary);
        if class == Class::Ordinary
            && let Some(server) = &mut self.server
        {
            server.charge(time);
        }
        if class >= Class::RealTime
            && let Some(throttle) = &mut self.throttle
        {
            throttle.charge(time);
        }
    }

    /// Returns the share of the CPU that real-time threads leave to ordinary threads: scale_rt_capacity().
    pub fn capacity(&self) -> f64 {
        (1.0 - self.real_time).max(1.0 / 1024.0)
    }

    /// Returns true if nothing runs on the CPU and nothing is about to.
    pub fn is_idle(&self) -> bool {
        self.current.is_none() && self.foreign.is_none() && !self.resched
    }

    /// Ends an idle interval: accounts for the idle time until now.
    pub fn leave_idle(&mut self, now: u64) {
        let time = now - self.idle_since;
        self.idle_since = now;
        if let Some(server) = &mut self.server {
            server.idle(time);
        }
    }
}

impl Balance {
    fn new(lot: u64, tick: u64) -> Balance {
        let interval = INTERVALS[usize::try_from(lot % 3).unwrap_or(0)];
        Balance { next: lot / 3 % ticks(interval, tick), interval, failed: 0 }
    }

    pub fn is_due(&self, ticks: u64) -> bool {
        self.next <= ticks
    }

    /// Plans the next attempt. `unequal` says whether threads should have been moved, `moved` whether one was.
    pub fn plan(&mut self, now: u64, tick: u64, unequal: bool, moved: bool) {
        self.failed = if unequal && !moved { self.failed + 1 } else { 0 };
        self.interval = if unequal { INTERVALS[0] } else { self.interval.max(INTERVALS[1]) };
        self.next = now + ticks(self.interval, tick);
    }
}

/// Returns the number of ticks in an interval (ms) minus one, as the kernel does; at least 1.
fn ticks(interval: u64, tick: u64) -> u64 {
    (interval * 1_000_000).div_ceil(tick).saturating_sub(1).max(1)
}

/// Returns the share of a thread's weight that counts as its load after it has been runnable for this time.
pub(super) fn ramp(time: u64) -> f64 {
    1.0 - 0.5f64.powf(time as f64 / HALF_LIFE)
}
