//! `timers`: hundreds of periodic timers on every CPU, and a thread on each CPU that repeatedly sleeps for 50 µs to 5
//! ms.

use super::{Builtin, Plan, RunsAs};
use crate::LoadError;
use crate::beat::Beat;
use crate::counter::{Counter, Source};
use crate::message::Unit;
use crate::settings::ChildConfig;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{ClockId, clock_nanosleep_relative, set_current_timer_slack};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::num::NonZeroU64;

pub(super) const LOAD: Builtin = Builtin {
    name: "timers",
    about: "hundreds of timers on every CPU, and sleeps from 50 us to 5 ms",
    comm: "load-timers",
    runs_as: RunsAs::Nobody,
    in_all: true,
    prepare,
};

const EXPIRED: usize = 0;
const SLEEPS: usize = 1;

/// Number of timers per worker. With periods of 4 to 80 ms about 18,000 expire per second.
const TIMERS: usize = 512;
const SHORTEST_NS: u64 = 4_000_000;
const LONGEST_NS: u64 = 80_000_000;
/// Number of file descriptors reserved for other purposes.
const OTHER_FILES: usize = 64;

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let workers = config.workers();
    let wanted = if config.together() { TIMERS / 2 } else { TIMERS };
    let timers = (files_allowed().saturating_sub(OTHER_FILES) / workers).min(wanted);
    if timers < 8 {
        return Err(LoadError::Refused(format!("too few open files for {workers} CPUs: raise `ulimit -n`")));
    }
    // One interrupt may expire many timers, but not hundreds.
    let interrupts = Counter::new("timer interrupts and softirqs", Source::Timers).per_unit(EXPIRED, 0.02);
    let mut plan = Plan::new(vec![Unit::each("timers expired"), Unit::each("sleeps")], vec![interrupts]);
    if timers < wanted {
        plan.notes
            .push(format!("{timers} timers per CPU, not {wanted}, because of the limit on open files (`ulimit -n`)"));
    }
    for worker in 0..workers {
        plan.worker(config.cpu_of(worker), move |beat| expire(beat, timers));
        plan.worker(config.cpu_of(worker), sleep);
    }
    Ok(plan)
}

/// Raises the limit on open files as far as possible without privileges. Returns the new limit.
fn files_allowed() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum.or(Some(1 << 20)), maximum: limit.maximum };
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current.map_or(1 << 20, |n| usize::try_from(n).unwrap_or(1 << 20))
}

fn expire(beat: &mut Beat, timers: usize) -> Result<(), LoadError> {
    let failed = |call| LoadError::on(call, "a timer");
    let set = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed("epoll_create1"))?;
    let timers: Result<Vec<OwnedFd>, LoadError> = (0..timers).map(timer).collect();
    let timers = timers?;
    for (i, timer) in timers.iter().enumerate() {
        let data = epoll::EventData::new_u64(i as u64);
        epoll::add(&set, timer, data, epoll::EventFlags::IN).map_err(failed("epoll_ctl"))?;
    }
    let mut events = Vec::with_capacity(64);
    loop {
        match epoll::wait(&set, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(LoadError::system("epoll_wait", "timers", error)),
        }
        for event in events.drain(..) {
            let mut expirations = [0u8; 8];
            let timer = &timers[event.data.u64() as usize];
            if rustix::io::read(timer, &mut expirations).is_ok() {
                beat.count(EXPIRED, u64::from_ne_bytes(expirations));
            }
        }
        beat.beat();
    }
}

/// Returns the period of timer `i`, ns. Periods differ, so that timers soon stop expiring together.
fn period_ns(i: usize) -> u64 {
    SHORTEST_NS + (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % (LONGEST_NS - SHORTEST_NS)
}

fn timer(i: usize) -> Result<OwnedFd, LoadError> {
    let failed = |call| LoadError::on(call, "a timer");
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(failed("timerfd_create"))?;
    let period = timespec(period_ns(i));
    let times = Itimerspec { it_interval: period, it_value: period };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times).map_err(failed("timerfd_settime"))?;
    Ok(timer)
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// Durations of successive sleeps, ns. Most are short.
const SLEEPS_NS: [u64; 8] = [50_000, 100_000, 50_000, 250_000, 50_000, 1_000_000, 100_000, 5_000_000];

fn sleep(beat: &mut Beat) -> Result<(), LoadError> {
    // Timer slack delays sleeps of ordinary threads by up to 50 µs, so that timers expire together.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    loop {
        for ns in SLEEPS_NS {
            let _ = clock_nanosleep_relative(ClockId::Monotonic, &timespec(ns));
            beat.count(SLEEPS, 1);
            beat.beat();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn periods_differ() {
        let periods: BTreeSet<u64> = (0..TIMERS).map(period_ns).collect();
        assert_eq!(periods.len(), TIMERS);
        assert!(periods.iter().all(|p| (SHORTEST_NS..LONGEST_NS).contains(p)));
        let rate: f64 = (0..TIMERS).map(|i| 1e9 / period_ns(i) as f64).sum();
        assert!((15_000.0..25_000.0).contains(&rate), "{rate}");
    }

    #[test]
    fn a_timer_expires() {
        let timer = timer(0).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(10));
        let mut expirations = [0u8; 8];
        rustix::io::read(&timer, &mut expirations).unwrap();
        assert!(u64::from_ne_bytes(expirations) >= 1);
    }
}
