//! Delays caused by thousands of timers (timerfd_create(2)) that expire at one instant on the victim's CPU: in the
//! timer interrupt; on PREEMPT_RT in the HRTIMER softirq, whose thread (ktimers if it exists, otherwise ksoftirqd) is
//! given a higher priority than the victim.
//!
//! Another CPU observes start and end: it polls the first and the last timer.

use crate::InjectError;
use crate::child::begin;
use crate::config::{Config, Slot};
use crate::kernel_threads::{KernelThread, is_rt, of_cpu, raise};
use crate::thread::{Gaps, Watch, become_thread, calibrate, descriptors, fifo, joined, now, sleep_until};
use crate::truth::{Burst, Seen, seen};
use punctual_units::Scheduling;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;
use std::sync::mpsc;

const FEW: usize = 200;
const MAX: usize = 20_000;
/// Time from arming the timers to their expiry, ns; arming them takes time, too.
const AHEAD: u64 = 400_000_000;

pub(super) fn irq(config: &Config) -> Result<Vec<Burst>, InjectError> {
    if is_rt() {
        return Err(InjectError::Impossible("on PREEMPT_RT these timers are softirq work".into()));
    }
    let burst = blank(config, "irq", None);
    inject(config, burst)
}

pub(super) fn softirq(config: &Config) -> Result<Vec<Burst>, InjectError> {
    if !is_rt() {
        return Err(InjectError::Impossible("without PREEMPT_RT these timers are interrupt work".into()));
    }
    let threads = of_cpu(&["ktimers", "ksoftirqd"], config.cpu);
    let _raised = raise(&threads)?;
    // ktimers if it exists: it sorts after ksoftirqd.
    let thread = threads.iter().max_by_key(|thread| thread.comm.clone());
    inject(config, blank(config, "softirq", thread))
}

fn blank(config: &Config, class: &str, thread: Option<&KernelThread>) -> Burst {
    Burst {
        class: class.into(),
        tid: thread.map(|t| t.tid),
        comm: thread.map(|t| t.comm.clone()),
        what: None,
        scheduled: thread.map_or(String::new(), |_| format!("FIFO {}", crate::kernel_threads::ABOVE)),
        cpu: config.cpu,
        start_ns: 0,
        end_ns: 0,
        earliest_ns: 0,
        worst_ns: None,
        gaps: Vec::new(),
        exact: true,
    }
}

fn inject(config: &Config, burst: Burst) -> Result<Vec<Burst>, InjectError> {
    let most = descriptors(MAX);
    become_thread("timers", config.other_cpu, fifo(50)?)?;
    let all = (0..most).map(|_| timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK));
    let all: Vec<OwnedFd> = all.collect::<Result<_, _>>().map_err(InjectError::at("make timers"))?;
    std::thread::scope(|scope| {
        // The watcher requests a number of timers for a given time.
        let (ask, asked) = mpsc::channel::<(usize, u64)>();
        let armer = scope.spawn(|| arm(config, &all, asked));
        let watched = watch(config, &all, ask, burst);
        joined(armer.join())?;
        watched
    })
}

/// In a thread of lower priority than the victim, arms the timers on the victim's CPU, so that they expire there.
fn arm(config: &Config, all: &[OwnedFd], asked: mpsc::Receiver<(usize, u64)>) -> Result<(), InjectError> {
    let scheduling: Scheduling = fifo(5)?;
    become_thread("arms timers", config.cpu, scheduling)?;
    const SECOND: u64 = 1_000_000_000;
    for (count, at) in asked {
        let value = Timespec { tv_sec: (at / SECOND) as i64, tv_nsec: (at % SECOND) as _ };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        for timer in all.iter().take(count) {
            timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once).map_err(InjectError::at("arm a timer"))?;
        }
        if now() >= at {
            return Err(InjectError::Impossible("arming the timers takes too long".into()));
        }
    }
    Ok(())
}

fn watch(
    config: &Config,
    all: &[OwnedFd],
    ask: mpsc::Sender<(usize, u64)>,
    burst: Burst,
) -> Result<Vec<Burst>, InjectError> {
    let gone = |_| InjectError::Child("the thread that arms timers has ended".into());
    let count = calibrate(config.length_ns, FEW, all.len(), |count| {
        let at = now() + AHEAD;
        ask.send((count, at)).map_err(gone)?;
        let (start, end, _) = expired(all.get(..count).unwrap_or_default(), at)?;
        Ok((start.seen, end.seen))
    })?;
    let begun = begin();
    let mut bursts = Vec::new();
    for Slot { from, .. } in config.slots(begun) {
        // The time grows with every burst, because arming takes time in between.
        let at = (now() + AHEAD).max(from) + from % config.period_ns;
        ask.send((count, at)).map_err(gone)?;
        let (start, end, gaps) = expired(all.get(..count).unwrap_or_default(), at)?;
        bursts.push(seen(&burst, at, start, end, gaps));
    }
    Ok(bursts)
}

/// Polls the first and the last timer. Timers due at the same time expire in the order in which they were armed
/// (lib/timerqueue.c).
fn expired(timers: &[OwnedFd], at: u64) -> Result<(Seen, Seen, Gaps), InjectError> {
    let [first, .., last] = timers else { return Err(InjectError::Child("too few timers".into())) };
    sleep_until(at.saturating_sub(500_000));
    let mut watch = Watch::new();
    let (first, last) = (until_it_expires(first, at, &mut watch)?, until_it_expires(last, at, &mut watch)?);
    Ok((first, last, watch.gaps))
}

fn until_it_expires(timer: &OwnedFd, at: u64, watch: &mut Watch) -> Result<Seen, InjectError> {
    let mut not_yet = at;
    let mut count = [0u8; 8];
    while rustix::io::read(timer, &mut count).is_err() {
        if now() > at + 1_000_000_000 {
            return Err(InjectError::Child("a timer did not expire".into()));
        }
        not_yet = watch.look().max(at);
    }
    Ok(Seen { not_yet, seen: now() })
}
