use crate::plan::ThreadPlan;
use crate::sleeper::{Method, Sleeper, now};
use crate::stat::Stat;
use punctual_rt::{Attributes, granted_nice};
use rustix::time::ClockId;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, Mutex, PoisonError};

pub(crate) struct Shared {
    pub settings: Settings,
    pub stats: Vec<Stat>,
    pub stop: AtomicBool,
    pub finished: AtomicUsize,
    /// Barrier at which all threads wait until all are ready or one has failed.
    pub ready: Barrier,
    pub go: Barrier,
    pub start: AtomicU64,
    pub refused: Mutex<Option<String>>,
    /// ID of the thread that exceeded the limit, and its latency.
    pub broke: (AtomicI64, AtomicU64),
    pub trace: Option<(File, File)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub method: Method,
    pub clock: ClockId,
    /// Unit of the results, ns.
    pub unit: u64,
    /// Limit of `-b`, in the unit of the results.
    pub limit: Option<u64>,
    pub spike: Option<u64>,
    pub loops: Option<u64>,
    pub start: Start,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    AtOnce,
    /// The threads start at a common time plus an offset, which increases by this value from thread to thread, ns.
    Aligned(u64),
    /// All threads start at a full second plus this offset, ns.
    Second(u64),
}

const SECOND: u64 = 1_000_000_000;

pub(crate) fn run(shared: &Shared, index: usize, plan: &ThreadPlan) {
    let Some(stat) = shared.stats.get(index) else { return };
    stat.tid.store(i64::from(rustix::thread::gettid().as_raw_nonzero().get()), Relaxed);
    let attributes = Attributes { scheduling: granted_nice(plan.scheduling), cpu: plan.cpu, lock_stack: false };
    let applied = attributes.apply();
    if let Err(refused) = &applied {
        let mut first = shared.refused.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| refused.advised());
    }
    shared.ready.wait();
    shared.go.wait();
    if applied.is_ok() && !shared.stop.load(Relaxed) {
        measure(shared, stat, index, plan);
    }
    shared.finished.fetch_add(1, Relaxed);
}

fn measure(shared: &Shared, stat: &Stat, index: usize, plan: &ThreadPlan) {
    let Settings { method, clock, start, .. } = shared.settings;
    let common = shared.start.load(Relaxed);
    let base = match start {
        Start::AtOnce => now(clock),
        Start::Aligned(offset) => common + offset * index as u64,
        Start::Second(offset) => common + offset,
    };
    let interval = plan.interval.0;
    let first = base + interval;
    match Sleeper::new(method, clock, first, interval) {
        Ok(sleeper) => cycle(shared, stat, &sleeper, first, interval),
        Err(what) => drop(shared.refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what)),
    }
}

/// The measuring loop. It does not allocate, lock or print, except for the mark in the trace at its end.
#[inline(never)]
fn cycle(shared: &Shared, stat: &Stat, sleeper: &Sleeper, mut next: u64, interval: u64) {
    let Settings { clock, unit, limit, spike, loops, .. } = shared.settings;
    while sleeper.sleep(&mut next, &shared.stop) {
        let woke = now(clock);
        if woke < next {
            stat.early.store(stat.early.load(Relaxed) + 1, Relaxed);
        }
        let latency = woke.saturating_sub(next) / unit;
        stat.record(latency);
        if spike.is_some_and(|spike| latency > spike) {
            stat.spike(woke / 1000, latency);
        }
        if limit.is_some_and(|limit| latency > limit) {
            break_off(shared, stat, latency);
            return;
        }
        next += interval;
        let overrun = sleeper.overrun();
        next += overrun * interval;
        let mut skipped = overrun;
        if sleeper.is_absolute() && woke > next {
            let more = (woke - next).div_ceil(interval);
            next += more * interval;
            skipped += more;
        }
        if skipped > 0 {
            stat.skipped.store(stat.skipped.load(Relaxed) + skipped, Relaxed);
        }
        if loops.is_some_and(|loops| stat.cycles.load(Relaxed) >= loops) {
            return;
        }
    }
}

#[cold]
fn break_off(shared: &Shared, stat: &Stat, latency: u64) {
    let tid = stat.tid.load(Relaxed);
    if shared.broke.0.compare_exchange(0, tid, Relaxed, Relaxed).is_err() {
        return;
    }
    if let Some((mut marker, mut on)) = shared.trace.as_ref().map(|(marker, on)| (marker, on)) {
        let text = format!("hit latency threshold ({latency} > {})", shared.settings.limit.unwrap_or_default());
        // The trace itself shows whether the mark was written.
        let _ = marker.write_all(text.as_bytes()).and_then(|()| on.write_all(b"0"));
    }
    shared.broke.1.store(latency, Relaxed);
    shared.stop.store(true, Relaxed);
}

/// Returns the common start time, which is late enough for all threads.
pub(crate) fn common_start(settings: &Settings, threads: usize) -> u64 {
    let soon = now(settings.clock) + 1_000_000 + 20_000 * threads as u64;
    match settings.start {
        Start::Second(_) => soon.div_ceil(SECOND) * SECOND,
        _ => soon,
    }
}
