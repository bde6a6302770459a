use crate::InjectError;
use crate::child::{say_ready, until_told_to_end};
use crate::config::Config;
use crate::thread::{become_thread, deadline, fifo, joined, now, own_burst, spin_until, tid};
use crate::truth::Burst;
use punctual_rt::{Attributes, Periodic, Wakeup, monotonic};
use punctual_units::{CpuId, Nanos, Scheduling};
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;

/// How the victim is scheduled, and what wakes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Manner {
    /// FIFO, woken by its timer.
    Timed,
    /// FIFO, woken by a thread on the other CPU.
    Woken,
    /// SCHED_DEADLINE, woken by its timer.
    Deadline,
    /// SCHED_DEADLINE, woken by its timer; in some periods the victim works for longer than its runtime.
    Overrun,
}

/// Runtime of [`Manner::Overrun`], ms of CPU time per period.
const RUNTIME_MS: u64 = 4;
const BUDGET_MS: u64 = 40;
const MS: u64 = 1_000_000;

impl Manner {
    pub(crate) fn is_deadline(self) -> bool {
        matches!(self, Manner::Deadline | Manner::Overrun)
    }

    pub(crate) fn period_ns(self) -> u64 {
        if self == Manner::Deadline { 20_000_000 } else { 5_000_000 }
    }

    fn scheduling(self, config: &Config) -> Result<Scheduling, InjectError> {
        match self {
            Manner::Timed | Manner::Woken => fifo(config.priority),
            Manner::Deadline => Ok(deadline(2, 20, 20)),
            Manner::Overrun => Ok(deadline(RUNTIME_MS, BUDGET_MS, BUDGET_MS)),
        }
    }
}

/// One late wakeup. Times are ns on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    pub release_ns: u64,
    /// Time at which the victim's own code ran again.
    pub woke_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    pub tid: i32,
    pub wakeups: u64,
    /// Median latency, ns, which is the usual latency on this machine.
    pub median_ns: u64,
    pub late: Vec<Late>,
    /// Delays that the victim has caused itself.
    #[serde(default)]
    pub bursts: Vec<Burst>,
}

/// Maximum number of latencies and of late wakeups that are kept, enough for 5 minutes with a period of 5 ms.
const MAX: usize = 1 << 16;

/// Runs the victim until standard input is closed, and returns the result.
pub(crate) fn run(config: &Config) -> Result<Watched, InjectError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let (config, seen) = (config.clone(), stop.clone());
    let thread = std::thread::Builder::new().name("victim".into());
    let victim = thread.spawn(move || watch(&config, &seen, &sender)).map_err(InjectError::at("start the victim"))?;
    // If the thread fails before it runs, the channel is closed.
    if let Ok(tid) = receiver.recv() {
        say_ready(tid);
        until_told_to_end();
    }
    stop.store(true, Relaxed);
    joined(victim.join())
}

fn watch(config: &Config, stop: &AtomicBool, sender: &mpsc::Sender<i32>) -> Result<Watched, InjectError> {
    let scheduling = config.manner.scheduling(config)?;
    let mut log = Log::new(config.late_ns);
    let mut overruns = Vec::with_capacity(MAX);
    Attributes { scheduling, cpu: Some(CpuId(config.cpu)), lock_stack: true }.apply()?;
    let _ = sender.send(tid());
    let start = monotonic() + Nanos::from_millis(20);
    let periodic = Periodic::new(start, Nanos(config.period_ns), Nanos(u64::MAX));
    match config.manner {
        Manner::Timed | Manner::Deadline => by_timer(periodic, stop, &mut log),
        Manner::Overrun => overrun(config, periodic, stop, &mut log, &mut overruns),
        Manner::Woken => woken(config, periodic, stop, &mut log)?,
    }
    // In a new period the kernel lets the thread run again.
    let burst = Burst { tid: None, comm: None, ..own_burst("deadline_budget", "", scheduling, config.cpu) };
    let burst = |(start_ns, end_ns)| Burst { start_ns, end_ns, earliest_ns: start_ns, ..burst.clone() };
    Ok(Watched { bursts: overruns.into_iter().map(burst).collect(), ..log.finish() })
}

fn by_timer(mut periodic: Periodic, stop: &AtomicBool, log: &mut Log) {
    while let Some(wakeup) = periodic.wait(stop) {
        log.note(of(&wakeup));
    }
}

/// In each burst, makes the victim work for half a millisecond more than its runtime, then sleep. The kernel does not
/// enqueue it at its next release, but when its timer expires (kernel/sched/deadline.c, `enqueue_task_dl`). A burst
/// lasts from the victim's sleep to its wakeup. Its CPU time is read afterwards, because reading it would throttle it
/// immediately.
fn overrun(config: &Config, mut periodic: Periodic, stop: &AtomicBool, log: &mut Log, overruns: &mut Vec<(u64, u64)>) {
    const MORE: u64 = RUNTIME_MS * MS + MS / 2;
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1000 * MS + time.tv_nsec as u64
    };
    let mut next = now() + config.every_ns;
    let mut slept = None;
    while let Some(wakeup) = periodic.wait(stop) {
        log.note(of(&wakeup));
        if let Some(slept) = slept.take() {
            let (asleep, before) = slept;
            overruns.extend((used() - before > RUNTIME_MS * MS).then_some((asleep, wakeup.woke.0)));
        }
        if wakeup.woke.0 >= next {
            let before = used();
            spin_until(now() + MORE);
            let end = now();
            // If a tick came in between, the thread was throttled there and did not sleep.
            slept = (end - wakeup.woke.0 < 2 * MORE).then_some((end, before));
            next = end + config.every_ns;
        }
    }
}

/// Lets a sender wake the victim. The sender writes the next message only after the previous one was received.
fn woken(config: &Config, mut periodic: Periodic, stop: &AtomicBool, log: &mut Log) -> Result<(), InjectError> {
    let fd: OwnedFd = eventfd(0, EventfdFlags::empty()).map_err(InjectError::at("make an eventfd"))?;
    let sent = AtomicU64::new(0);
    let report = |at: u64| {
        sent.store(at, Relaxed);
        rustix::io::write(&fd, &1u64.to_ne_bytes()).map_err(InjectError::at("write to an eventfd"))
    };
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            become_thread("sender", config.other_cpu, fifo(config.priority)?)?;
            while periodic.wait(stop).is_some() {
                if sent.load(Relaxed) == 0 {
                    report(now())?;
                }
            }
            report(now()).map(|_| ())
        });
        while !stop.load(Relaxed) {
            let mut count = [0; 8];
            rustix::io::read(&fd, &mut count).map_err(InjectError::at("read from an eventfd"))?;
            log.note(Late { woke_ns: now(), release_ns: sent.swap(0, Relaxed) });
        }
        joined(sender.join())
    })
}

/// Records what the victim measured, without allocating.
struct Log {
    late_ns: u64,
    latencies: Vec<u64>,
    late: Vec<Late>,
    wakeups: usize,
    kept: usize,
}

impl Log {
    fn new(late_ns: u64) -> Log {
        let none = Late { release_ns: 0, woke_ns: 0 };
        Log { late_ns, latencies: vec![0; MAX], late: vec![none; MAX], wakeups: 0, kept: 0 }
    }

    fn note(&mut self, wakeup: Late) {
        let latency = wakeup.woke_ns.saturating_sub(wakeup.release_ns);
        note(&mut self.latencies, &mut self.wakeups, latency);
        if latency >= self.late_ns {
            note(&mut self.late, &mut self.kept, wakeup);
        }
    }

    fn finish(mut self) -> Watched {
        self.latencies.truncate(self.wakeups);
        self.late.truncate(self.kept);
        self.latencies.sort_unstable();
        let median_ns = self.latencies.get(self.wakeups / 2).copied().unwrap_or(0);
        Watched { tid: tid(), wakeups: self.wakeups as u64, median_ns, late: self.late, bursts: Vec::new() }
    }
}

fn note<T>(list: &mut [T], length: &mut usize, item: T) {
    if let Some(place) = list.get_mut(*length) {
        *place = item;
        *length += 1;
    }
}

fn of(wakeup: &Wakeup) -> Late {
    Late { release_ns: wakeup.release.0, woke_ns: wakeup.woke.0 }
}
