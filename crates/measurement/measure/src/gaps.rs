//! The gap detector. A thread per CPU, bound to it, reads CLOCK_MONOTONIC in a tight loop. If two readings are far
//! apart, Linux, a hypervisor or firmware used the CPU in between. The hwlat tracer (kernel/trace/trace_hwlat.c) works
//! in this way; this detector runs in user space, with interrupts enabled, on any kernel.
//!
//! Like hwlat, each thread reads in windows of half a cycle. The windows of the CPUs are staggered evenly, so at most
//! half of the CPUs (rounded up) are busy at the same time. With two or more CPUs, one is always free for other tasks.

use crate::cell::Cell;
use crate::engine::EngineError;
use crate::rendezvous::Rendezvous;
use crate::ring::Ring;
use crate::thread::run_delay;
use punctual_model::Gap;
use punctual_rt::{Attributes, Refused, Wakeup, monotonic, sleep_until};
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList, Histogram, Nanos, Scheduling};
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

#[derive(Clone, Debug)]
pub struct GapPlan {
    /// CPUs on which the clock is read, one thread each.
    pub cpus: CpuList,
    pub scheduling: Scheduling,
    /// Interval between the starts of two windows of a CPU.
    pub cycle: Nanos,
    /// Length of a window, during which a CPU's clock is read.
    pub window: Nanos,
    /// Total duration of the measurement.
    pub duration: Nanos,
    /// Minimum time between two readings that counts as a gap.
    pub threshold: Nanos,
}

#[derive(Clone, Debug)]
pub struct GapResult {
    pub cpu: CpuId,
    pub tid: i32,
    /// Scheduling policy and priority as reported by the kernel.
    pub scheduling: Scheduling,
    /// Total length of the planned windows until the thread ended, ns.
    pub due_ns: u64,
    /// Total time between the first and the last reading of each window, ns.
    pub looked_ns: u64,
    pub readings: u64,
    /// Histogram of the lengths of all gaps.
    pub gaps: Histogram,
    /// Longest gaps, longest first.
    pub longest: Vec<Gap>,
    /// Number of gaps lost because [`Gaps::take`] was not called in time.
    pub untaken: u64,
    /// Time for which the thread was runnable but did not run (schedstat), ns.
    pub run_delay_ns: Option<u64>,
    /// Number of involuntary context switches.
    pub preempted: Option<u64>,
    /// Why the thread's memory is not locked; `None` if it is locked.
    pub not_locked: Option<String>,
    /// True if the thread got no CPU time and did not end when asked to.
    pub stuck: bool,
}

/// Results that one thread writes and others read. Aligned to pages, as [`Cell`] is.
#[repr(C)]
struct Station {
    cell: Cell,
    ring: Ring,
    looked: AtomicU64,
    due: AtomicU64,
    readings: AtomicU64,
    tid: AtomicI32,
}

struct Shared {
    plan: GapPlan,
    stations: Vec<Arc<Station>>,
    stop: AtomicBool,
    done: AtomicUsize,
    meeting: Rendezvous,
    refused: Mutex<Option<Refused>>,
    start: AtomicU64,
}

const KEPT: usize = 64;

pub struct Gaps {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Option<End>>>,
    /// CLOCK_MONOTONIC of the start of the first window.
    pub start: Nanos,
}

struct End {
    scheduling: Scheduling,
    run_delay_ns: Option<u64>,
    preempted: Option<u64>,
    not_locked: Option<String>,
}

impl GapPlan {
    /// Returns the offset of the windows of the `index`-th CPU within a cycle.
    pub fn offset(&self, index: usize) -> Nanos {
        Nanos(self.cycle.0 / self.cpus.len().max(1) as u64 * index as u64)
    }

    /// Returns true if the thread on `cpu` should be reading at this time after the start.
    pub fn reads(&self, cpu: CpuId, after_start: Nanos) -> bool {
        let Some(index) = self.cpus.iter().position(|c| c == cpu) else { return false };
        let own = after_start.0.checked_sub(self.offset(index).0);
        after_start < self.duration && own.is_some_and(|own| own % self.cycle.0.max(1) < self.window.0)
    }
}

/// Starts the threads. All threads apply their attributes before any of them reads the clock. If one thread fails, no
/// thread reads the clock.
///
/// # Errors
/// A thread could not be created, or could not get its policy, CPU or memory.
pub fn gaps(plan: GapPlan) -> Result<Gaps, EngineError> {
    let n = plan.cpus.len();
    let shared = Arc::new(Shared {
        stations: (0..n).map(|_| Arc::new(Station::new())).collect(),
        stop: AtomicBool::new(false),
        done: AtomicUsize::new(0),
        meeting: Rendezvous::new(n + 1),
        refused: Mutex::new(None),
        start: AtomicU64::new(0),
        plan,
    });
    let mut threads = Vec::new();
    for (index, cpu) in shared.plan.cpus.iter().enumerate() {
        let mine = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name(format!("gaps/{cpu}")).stack_size(160 * 1024);
        match builder.spawn(move || read(&mine, index, cpu)) {
            Ok(handle) => threads.push(handle),
            Err(source) => {
                shared.meeting.cancel();
                threads.into_iter().for_each(|t| drop(t.join()));
                return Err(EngineError::Spawn { cpu, source });
            }
        }
    }
    shared.meeting.meet();
    if let Some(source) = shared.refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
        shared.meeting.cancel();
        threads.into_iter().for_each(|t| drop(t.join()));
        return Err(EngineError::Refused { source });
    }
    let start = monotonic() + Nanos::from_millis(1);
    shared.start.store(start.0, Relaxed);
    shared.meeting.meet();
    Ok(Gaps { shared, threads, start })
}

impl Gaps {
    /// Returns the thread IDs, in CPU order.
    pub fn tids(&self) -> Vec<(CpuId, i32)> {
        let tids = self.shared.stations.iter().map(|s| s.tid.load(Relaxed));
        self.shared.plan.cpus.iter().zip(tids).collect()
    }

    /// Calls `each` with every gap since the last call, ordered by CPU and then by time.
    pub fn take(&self, mut each: impl FnMut(Gap)) {
        for (cpu, station) in self.shared.plan.cpus.iter().zip(&self.shared.stations) {
            station.ring.take(|start_ns, length_ns| each(Gap { cpu, start_ns, length_ns }));
        }
    }

    pub fn finished(&self) -> bool {
        self.shared.done.load(Relaxed) == self.threads.len()
    }

    /// Asks the threads to end immediately, and wakes those that sleep.
    pub fn stop(&self) {
        self.shared.stop.store(true, Relaxed);
        for ((_, tid), thread) in self.tids().into_iter().zip(&self.threads) {
            if !thread.is_finished() {
                // ESRCH: the thread has already ended.
                let _ = uapi::wake(tid);
            }
        }
    }

    /// Collects the results. A thread that does not end is abandoned, and its results so far are used.
    pub fn collect(self) -> Vec<GapResult> {
        let finished = self.finished();
        let stations = self.shared.plan.cpus.iter().zip(self.shared.stations.iter().map(Arc::clone));
        let of = |((cpu, station), thread): ((CpuId, Arc<Station>), JoinHandle<Option<End>>)| {
            let ended = (finished || thread.is_finished()).then(|| thread.join().ok()).flatten().flatten();
            station.result(cpu, self.shared.plan.scheduling, ended)
        };
        stations.zip(self.threads).map(of).collect()
    }
}

impl Station {
    fn new() -> Station {
        Station {
            cell: Cell::new(KEPT),
            ring: Ring::new(),
            looked: AtomicU64::new(0),
            due: AtomicU64::new(0),
            readings: AtomicU64::new(0),
            tid: AtomicI32::new(0),
        }
    }

    /// Records a gap without allocation or system call.
    #[cold]
    #[inline(never)]
    fn record(&self, start: u64, now: u64) {
        self.cell.record(&Wakeup { cycle: 0, release: Nanos(start), woke: Nanos(now), skipped: 0 }, u64::MAX);
        self.ring.put(start, now - start);
    }

    fn result(&self, cpu: CpuId, wanted: Scheduling, ended: Option<End>) -> GapResult {
        let longest =
            self.cell.worst().into_iter().map(|kept| Gap { cpu, start_ns: kept.release, length_ns: kept.latency });
        GapResult {
            cpu,
            tid: self.tid.load(Relaxed),
            scheduling: ended.as_ref().map_or(wanted, |end| end.scheduling),
            due_ns: self.due.load(Relaxed),
            looked_ns: self.looked.load(Relaxed),
            readings: self.readings.load(Relaxed),
            gaps: self.cell.histograms().0,
            longest: longest.collect(),
            untaken: self.ring.lost(),
            run_delay_ns: ended.as_ref().and_then(|end| end.run_delay_ns),
            preempted: ended.as_ref().and_then(|end| end.preempted),
            stuck: ended.is_none(),
            not_locked: ended.and_then(|end| end.not_locked),
        }
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // The allocator may reuse the memory. Unlocking has no effect if it was never locked.
        let _ = uapi::unlock(self);
    }
}

/// Main function of a reading thread. Returns `None` if it was cancelled before it started to read.
fn read(shared: &Shared, index: usize, cpu: CpuId) -> Option<End> {
    let (plan, station) = (&shared.plan, &*shared.stations[index]);
    station.tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
    let not_locked = lock_memory(station).err().map(|e| e.to_string());
    let schedstat = File::open("/proc/thread-self/schedstat").ok();
    let attributes = Attributes { scheduling: plan.scheduling, cpu: Some(cpu), lock_stack: not_locked.is_none() };
    let applied = attributes.apply();
    let fine = applied.is_ok();
    let applied = applied.map_err(|refused| {
        *shared.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
    });
    if !shared.meeting.meet() || !fine || !shared.meeting.meet() {
        return None;
    }
    let applied = applied.ok()?;
    let (delay, usage) = (run_delay(schedstat.as_ref()), uapi::thread_usage().ok());
    windows(plan, station, &shared.stop, Nanos(shared.start.load(Relaxed)), index);
    let preempted = uapi::thread_usage().ok().zip(usage);
    let end = End {
        scheduling: uapi::scheduling(0).map_or(applied.scheduling, |(s, _)| s),
        run_delay_ns: run_delay(schedstat.as_ref()).zip(delay).map(|(after, before)| after.saturating_sub(before)),
        preempted: preempted
            .and_then(|(after, before)| after.involuntary_switches.checked_sub(before.involuntary_switches)),
        not_locked: not_locked.or(applied.not_locked),
    };
    shared.done.fetch_add(1, Relaxed);
    Some(end)
}

/// Reads in each window until the planned duration has passed.
fn windows(plan: &GapPlan, station: &Station, stop: &AtomicBool, start: Nanos, index: usize) {
    let over = start + plan.duration;
    let mut from = start + plan.offset(index);
    while from < over && !stop.load(Relaxed) {
        while !stop.load(Relaxed) && sleep_until(from).is_err() {}
        let to = (from + plan.window).min(over);
        if !stop.load(Relaxed) {
            spin(station, stop, to, plan.threshold.0.max(1));
        }
        let due = to.min(monotonic()).saturating_sub(from);
        station.due.store(station.due.load(Relaxed) + due.0, Relaxed);
        from = from + plan.cycle;
    }
}

/// Inner loop: two clock readings, a comparison, a check of `stop`. Interrupts and threads of higher priority may
/// interrupt it, which it then detects.
#[inline(never)]
fn spin(station: &Station, stop: &AtomicBool, end: Nanos, threshold: u64) {
    let first = monotonic().0;
    let (mut last, mut readings) = (first, 1u64);
    while last < end.0 && !stop.load(Relaxed) {
        let now = monotonic().0;
        readings += 1;
        if now.saturating_sub(last) >= threshold {
            station.record(last, now);
        }
        last = now;
    }
    station.looked.store(station.looked.load(Relaxed) + (last - first), Relaxed);
    station.readings.store(station.readings.load(Relaxed) + readings, Relaxed);
}

/// Locks the memory that the loop uses: results, code, and the program's data. The stack is locked when the thread's
/// attributes are applied.
fn lock_memory(station: &Station) -> Result<(), uapi::Error> {
    station.cell.touch();
    station.ring.touch();
    uapi::lock(station)?;
    for code in [spin as *const () as usize, Station::record as *const () as usize, Cell::cold_path()] {
        uapi::lock_addresses(code, 2 * uapi::page_size())?;
    }
    uapi::lock_program_data().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(cpus: CpuList) -> GapPlan {
        GapPlan {
            cpus,
            // Only root can reduce a nice value that was increased (setpriority(2)).
            scheduling: punctual_rt::granted_nice(Scheduling::Other { nice: 0 }),
            cycle: Nanos::from_millis(100),
            window: Nanos::from_millis(50),
            duration: Nanos::from_millis(300),
            threshold: Nanos::from_micros(5),
        }
    }

    #[test]
    fn one_cpu_is_always_left() {
        for n in 2..9 {
            let plan = plan((0..n).map(CpuId).collect());
            for t in (0..300).map(Nanos::from_millis) {
                let reading = (0..n).filter(|cpu| plan.reads(CpuId(*cpu), t)).count();
                assert!(reading <= n.div_ceil(2) as usize && reading < n as usize, "{n} {t} {reading}");
            }
        }
        assert!(!plan("0".parse().unwrap()).reads(CpuId(1), Nanos::ZERO));
    }

    #[test]
    #[ignore = "live: timing"]
    fn gaps_are_counted_taken_and_kept() {
        let cpus: CpuList = uapi::affinity(0).unwrap().iter().take(2).collect();
        let running = gaps(plan(cpus.clone())).unwrap();
        let mut taken = Vec::new();
        while !running.finished() {
            std::thread::sleep(std::time::Duration::from_millis(10));
            running.take(|gap| taken.push(gap));
        }
        running.take(|gap| taken.push(gap));
        let result = running.collect();
        assert_eq!(result.iter().map(|r| r.cpu).collect::<CpuList>(), cpus);
        for one in &result {
            assert!(one.readings > 100 && one.looked_ns > 0 && one.looked_ns <= one.due_ns + 50_000_000, "{one:?}");
            let mine: Vec<u64> = taken.iter().filter(|g| g.cpu == one.cpu).map(|g| g.length_ns).collect();
            assert_eq!(one.gaps.count(), mine.len() as u64 + one.untaken);
            assert_eq!(one.gaps.max(), one.longest.first().map(|g| g.length_ns));
            assert!(mine.iter().all(|ns| *ns >= 5_000));
        }
    }

    #[test]
    #[ignore = "live: timing"]
    fn a_stop_ends_it_at_once() {
        uapi::install_wakeup().unwrap();
        let cpus = uapi::affinity(0).unwrap();
        let running = gaps(GapPlan { duration: Nanos::from_secs(3600), ..plan(cpus) }).unwrap();
        let begun = std::time::Instant::now();
        while !running.finished() {
            running.stop();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(begun.elapsed().as_secs() < 5);
    }

    #[test]
    fn a_cpu_that_is_not_there_stops_all() {
        let allowed = uapi::affinity(0).unwrap();
        let plan = plan(allowed.iter().take(1).chain([CpuId(8000)]).collect());
        assert!(gaps(plan).err().unwrap().to_string().contains("CPU 8000"));
    }
}
