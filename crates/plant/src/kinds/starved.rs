//! A real-time thread of lower priority than the victim's never sleeps, and an ordinary thread of the same CPU starves. Since
//! Linux 6.12 the fair server then runs the ordinary thread above all real-time ones, 50 ms in a second
//! (kernel/sched/deadline.c, `dl_server`); before, RT throttling takes the CPU from all real-time threads for that time
//! (kernel/sched/rt.c, sched_rt_runtime_us).

use crate::PlantError;
use crate::child::begin;
use crate::config::Config;
use crate::surroundings;
use crate::thread::{ORDINARY, become_thread, fifo, joined, now, own_burst, sleep_until, spin_until};
use crate::truth::Burst;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Period of both mechanisms.
const SECOND: u64 = 1_000_000_000;
/// Shorter turns of the starving thread are not worth a line, and it looks at the clock more often than this.
const LEAST: u64 = 1_000_000;
/// The ordinary thread must run before the hog begins: on PREEMPT_RT a starved ktimers thread would never wake it.
const HEAD_START: u64 = 20_000_000;
const STARVED: &str = "starved";

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, PlantError> {
    let class = class()?;
    let begun = begin();
    let end = begun + u64::from(config.bursts) * SECOND + SECOND / 2;
    let hogs = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let starved = scope.spawn(|| starve(config, class, begun, end, &hogs));
        let hog = scope.spawn(|| hog(config, begun, end, &hogs));
        joined(hog.join())?;
        joined(starved.join())
    })
}

fn class() -> Result<&'static str, PlantError> {
    match surroundings::fair_server() {
        Some(true) => return Ok("fair_server"),
        None => return Err(PlantError::Impossible("debugfs is not mounted: fair server or throttling?".into())),
        Some(false) => {}
    }
    let path = "/proc/sys/kernel/sched_rt_runtime_us";
    let runtime = fs::read_to_string(path).map_err(PlantError::at(format!("read {path}")))?;
    match runtime.trim() {
        "-1" => Err(PlantError::Impossible("RT throttling is off and there is no fair server".into())),
        _ => Ok("rt_throttling"),
    }
}

fn hog(config: &Config, begun: u64, end: u64, hogs: &AtomicBool) -> Result<(), PlantError> {
    become_thread("rt hog", config.cpu, fifo(10)?)?;
    sleep_until(begun + HEAD_START);
    spin_until(end);
    hogs.store(false, Relaxed);
    Ok(())
}

/// Looks at the clock all the time: where it was not switched out in between, it ran.
fn starve(config: &Config, class: &str, begun: u64, end: u64, hogs: &AtomicBool) -> Result<Vec<Burst>, PlantError> {
    become_thread(STARVED, config.cpu, ORDINARY)?;
    let burst = own_burst(class, STARVED, ORDINARY, config.cpu);
    let (mut bursts, mut start) = (Vec::new(), now());
    let (mut last, mut switches) = (start, switches()?);
    while hogs.load(Relaxed) && last < end + SECOND {
        let t = now();
        if t - last > LEAST {
            let count = self::switches()?;
            if count != switches {
                // Before the hog began nobody starved.
                if start > begun + HEAD_START {
                    keep(&mut bursts, &burst, start, last);
                }
                // Reading the counter was part of this turn.
                (start, switches) = (t, count);
            }
        }
        last = t;
    }
    Ok(bursts)
}

fn keep(bursts: &mut Vec<Burst>, burst: &Burst, start_ns: u64, end_ns: u64) {
    if end_ns - start_ns >= LEAST {
        bursts.push(Burst { start_ns, end_ns, earliest_ns: start_ns, ..burst.clone() });
    }
}

fn switches() -> Result<u64, PlantError> {
    let usage = punctual_uapi::thread_usage()?;
    Ok(usage.involuntary_switches + usage.voluntary_switches)
}
