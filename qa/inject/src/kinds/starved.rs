//! Delays after starvation: a real-time thread of lower priority than the victim never sleeps, so an ordinary thread on
//! the same CPU starves. Since Linux 6.12 the fair server then runs the ordinary thread before all real-time threads,
//! for 50 ms per second (kernel/sched/deadline.c, `dl_server`); before that, RT throttling takes the CPU from all
//! real-time threads for that time (kernel/sched/rt.c, sched_rt_runtime_us).

use crate::InjectError;
use crate::child::begin;
use crate::config::Config;
use crate::surroundings;
use crate::thread::{ORDINARY, SETTLING, Watch, become_thread, fifo, joined, now, own_burst, sleep_until, spin_until};
use crate::truth::Burst;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Period of the fair server and of RT throttling, ns.
const SECOND: u64 = 1_000_000_000;
/// Minimum length at which an interval of the ordinary thread on the CPU is recorded, ns.
const MIN: u64 = 50_000;
/// Time from the start of the ordinary thread to the start of the thread that starves it, ns. Without this head start,
/// on PREEMPT_RT the starved ktimers thread would never wake the ordinary one.
const HEAD_START: u64 = 20_000_000;
const MAX_GAPS: usize = 10_000;
const STARVED: &str = "starved";

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, InjectError> {
    let class = class()?;
    let begun = begin() + SETTLING;
    let end = begun + u64::from(config.bursts) * SECOND + SECOND / 2;
    let hogs = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let starved = scope.spawn(|| starve(config, class, begun, end, &hogs));
        let hog = scope.spawn(|| hog(config, begun, end, &hogs));
        joined(hog.join())?;
        joined(starved.join())
    })
}

/// Injects throttling that leaves the CPU idle: nothing else should run while the spinning thread is throttled, and the
/// gaps between its clock reads show when it was throttled.
pub(super) fn idle(config: &Config) -> Result<Vec<Burst>, InjectError> {
    const MIN: u64 = 20_000_000;
    if class()? != "rt_throttling" {
        return Err(InjectError::Impossible("this kernel has a fair server, which never leaves the CPU idle".into()));
    }
    let end = begin() + u64::from(config.bursts) * SECOND + SECOND / 2;
    become_thread("rt hog", config.cpu, fifo(10)?)?;
    let gaps = spin_until(end);
    become_thread("rt hog", config.cpu, ORDINARY)?;
    let burst = Burst { tid: None, comm: None, ..own_burst("rt_throttling", "", ORDINARY, config.cpu) };
    let gap = |(start_ns, end_ns)| Burst { start_ns, end_ns, earliest_ns: start_ns, ..burst.clone() };
    Ok(gaps.into_iter().filter(|gap| gap.1 - gap.0 >= MIN).map(gap).collect())
}

fn class() -> Result<&'static str, InjectError> {
    match surroundings::fair_server() {
        Some(true) => return Ok("fair_server"),
        // If debugfs does not show the server, the version decides. Kernels with RT groups have both mechanisms, but
        // the server leaves real-time threads no more time than throttling would, and acts first.
        None if release().is_some_and(|release| release >= (6, 12)) => return Ok("fair_server"),
        Some(false) | None => {}
    }
    let path = "/proc/sys/kernel/sched_rt_runtime_us";
    let runtime = fs::read_to_string(path).map_err(InjectError::at(format!("read {path}")))?;
    match runtime.trim() {
        "-1" => Err(InjectError::Impossible("RT throttling is off and the kernel has no fair server".into())),
        _ => Ok("rt_throttling"),
    }
}

/// Returns the major and minor version of the running kernel: 6 and 12 for `6.12.95+deb12-rt-amd64`.
fn release() -> Option<(u32, u32)> {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn hog(config: &Config, begun: u64, end: u64, hogs: &AtomicBool) -> Result<(), InjectError> {
    become_thread("rt hog", config.cpu, fifo(10)?)?;
    sleep_until(begun + HEAD_START);
    spin_until(end);
    hogs.store(false, Relaxed);
    Ok(())
}

/// Reads the clock continuously: the thread ran between two reads unless it was switched out.
fn starve(config: &Config, class: &str, begun: u64, end: u64, hogs: &AtomicBool) -> Result<Vec<Burst>, InjectError> {
    become_thread(STARVED, config.cpu, ORDINARY)?;
    let burst = own_burst(class, STARVED, ORDINARY, config.cpu);
    let mut bursts = Vec::new();
    let (mut start, mut before) = turn()?;
    let (mut last, mut watch) = (start, Watch::new());
    while hogs.load(Relaxed) && start < end {
        let t = watch.look();
        let count = switches()?;
        if count == before {
            // The thread was only delayed until then, not switched out.
            last = t;
        } else {
            let mut gaps = std::mem::replace(&mut watch, Watch::new()).gaps;
            gaps.retain(|gap| gap.1 <= last);
            // Before the hog started, no thread was starving.
            if start > begun + HEAD_START && last - start >= MIN {
                bursts.push(Burst { start_ns: start, end_ns: last, earliest_ns: start, gaps, ..burst.clone() });
            }
            (start, before) = turn()?;
            last = start;
        }
        if watch.gaps.len() > MAX_GAPS {
            return Err(InjectError::Child("this machine is interrupted too often".into()));
        }
    }
    Ok(bursts)
}

/// Returns the current time, and the thread's number of context switches, which shows whether it was switched out
/// between two calls.
fn turn() -> Result<(u64, u64), InjectError> {
    loop {
        let before = switches()?;
        let t = now();
        if switches()? == before {
            return Ok((t, before));
        }
    }
}

fn switches() -> Result<u64, InjectError> {
    let usage = punctual_uapi::thread_usage()?;
    Ok(usage.involuntary_switches + usage.voluntary_switches)
}
