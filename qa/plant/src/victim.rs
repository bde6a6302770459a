use crate::PlantError;
use crate::child::{say_ready, until_told_to_end};
use crate::config::Config;
use crate::thread::{fifo, joined, tid};
use punctual_rt::{Attributes, Periodic, Wakeup, monotonic};
use punctual_units::{CpuId, Nanos};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;

/// One late wakeup. CLOCK_MONOTONIC, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    pub release_ns: u64,
    /// When it did, back in its own code.
    pub woke_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    pub tid: i32,
    pub wakeups: u64,
    /// Median latency, ns: what is usual here.
    pub median_ns: u64,
    pub late: Vec<Late>,
}

/// Latencies and late wakeups that are kept; 5 minutes at 5 ms.
const MOST: usize = 1 << 16;

/// Runs until its standard input is closed; the result is printed.
pub(crate) fn run(config: &Config) -> Result<Watched, PlantError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, told) = mpsc::channel();
    let (config, seen) = (config.clone(), stop.clone());
    let thread = std::thread::Builder::new().name("victim".into());
    let victim = thread.spawn(move || watch(&config, &seen, &tell)).map_err(PlantError::at("start the victim"))?;
    // An error before it runs closes the channel.
    if let Ok(tid) = told.recv() {
        say_ready(tid);
        until_told_to_end();
    }
    stop.store(true, Relaxed);
    joined(victim.join())
}

fn watch(config: &Config, stop: &AtomicBool, tell: &mpsc::Sender<i32>) -> Result<Watched, PlantError> {
    let scheduling = fifo(config.priority)?;
    let (mut latencies, mut late) = (vec![0u64; MOST], vec![Late { release_ns: 0, woke_ns: 0 }; MOST]);
    let (mut wakeups, mut kept) = (0usize, 0usize);
    Attributes { scheduling, cpu: Some(CpuId(config.cpu)), lock_stack: true }.apply()?;
    let _ = tell.send(tid());
    let start = monotonic() + Nanos::from_millis(20);
    let mut periodic = Periodic::new(start, Nanos(config.period_ns), Nanos(u64::MAX));
    while let Some(wakeup) = periodic.wait(stop) {
        note(&mut latencies, &mut wakeups, wakeup.latency());
        if wakeup.latency() >= config.late_ns {
            note(&mut late, &mut kept, of(&wakeup));
        }
    }
    latencies.truncate(wakeups);
    late.truncate(kept);
    latencies.sort_unstable();
    let median_ns = latencies.get(wakeups / 2).copied().unwrap_or(0);
    Ok(Watched { tid: tid(), wakeups: wakeups as u64, median_ns, late })
}

/// Without allocating.
fn note<T>(list: &mut [T], length: &mut usize, item: T) {
    if let Some(place) = list.get_mut(*length) {
        *place = item;
        *length += 1;
    }
}

fn of(wakeup: &Wakeup) -> Late {
    Late { release_ns: wakeup.release.0, woke_ns: wakeup.woke.0 }
}
