//! Statistics of a task, readable while it runs.

use crate::boundary::{guard, put, shared, wanted};
use crate::handle::{Figures, prt_task};
use crate::status::{Failure, prt_status};
use punctual_rt::{Counted, Histogram, InterruptStats, TaskStats};
use std::ffi::c_int;

/// Exact summary of a distribution of times. prt_task_quantile() returns quantiles.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct prt_distribution {
    /// Number of samples. If it is 0, the other fields are 0 and meaningless.
    pub count: u64,
    /// Minimum, ns.
    pub min_ns: u64,
    /// Maximum, ns.
    pub max_ns: u64,
    /// Mean, ns.
    pub mean_ns: f64,
}

/// Statistics of a task, read while it runs or after its end. For an interrupt task a release is an event: `released`
/// is the number of all events, `ran` the number of events for which its body ran, and `skipped` the number of
/// coalesced and lost events, which prt_interrupt_get_counts() distinguishes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct prt_stats {
    /// Time at which the statistics were read, ns on CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Number of releases so far: ran + skipped + pending.
    pub released: u64,
    /// Number of releases for which the body ran, including at most one that is still running.
    pub ran: u64,
    /// Number of skipped releases.
    pub skipped: u64,
    /// Number of releases that are due and will still run.
    pub pending: u64,
    /// Number of times the body returned after the deadline of its release.
    pub deadline_misses: u64,
    /// Number of times the kernel throttled the task because its runtime was used up; 0 without PRT_POLICY_DEADLINE.
    pub overruns: u64,
    /// Lateness of the task's wakeup, one sample per release that ran. For an interrupt task, it counts from the time
    /// stamp of the event, and is empty if its source has no time stamps.
    pub lateness: prt_distribution,
    /// Time from the task's wakeup to the body's return, including preemption; empty if `without_execution` is set.
    pub execution: prt_distribution,
    /// Release number of the wakeup with the largest lateness; 0 if none was late.
    pub worst_index: u64,
    /// Time at which that release was due, ns on CLOCK_MONOTONIC; 0 if none was late.
    pub worst_scheduled_ns: u64,
    /// Number of minor and major page faults of the task's thread since the first release; −1 if the kernel does not
    /// report them.
    pub page_faults: i64,
    /// Number of voluntary context switches, about one per release; −1 if the kernel does not report them.
    pub voluntary_switches: i64,
    /// Number of involuntary context switches; −1 if the kernel does not report them.
    pub involuntary_switches: i64,
    /// Number of migrations to another CPU; −1 if the kernel does not report them.
    pub migrations: i64,
}

/// Times that are measured for a task.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_measure {
    /// Lateness of the task's wakeup.
    Lateness = 0,
    /// Time from the task's wakeup to the body's return.
    Execution = 1,
}

fn distribution(histogram: &Histogram) -> prt_distribution {
    prt_distribution {
        count: histogram.count(),
        min_ns: histogram.min().unwrap_or(0),
        max_ns: histogram.max().unwrap_or(0),
        mean_ns: histogram.mean().unwrap_or(0.0),
    }
}

fn known(count: Option<u64>) -> i64 {
    count.and_then(|count| i64::try_from(count).ok()).unwrap_or(-1)
}

fn stats(figures: Figures) -> prt_stats {
    let (at, counted, usage) = match figures {
        Figures::Periodic(TaskStats { at, counted, usage, .. }) => (at, counted, usage),
        Figures::Interrupt(stats) => {
            let InterruptStats { at, events, handled, coalesced, lost, latency, execution, worst, usage, .. } = stats;
            let (released, ran, skipped) = (events, handled, coalesced + lost);
            let counted = Counted { released, ran, skipped, lateness: latency, execution, worst, ..Counted::default() };
            (at, counted, usage)
        }
    };
    prt_stats {
        at_ns: at.0,
        released: counted.released,
        ran: counted.ran,
        skipped: counted.skipped,
        pending: counted.pending,
        deadline_misses: counted.deadline_misses,
        overruns: counted.overruns,
        lateness: distribution(&counted.lateness),
        execution: distribution(&counted.execution),
        worst_index: counted.worst.map_or(0, |worst| worst.index),
        worst_scheduled_ns: counted.worst.map_or(0, |worst| worst.scheduled.0),
        page_faults: known(usage.page_faults),
        voluntary_switches: known(usage.voluntary_switches),
        involuntary_switches: known(usage.involuntary_switches),
        migrations: known(usage.migrations),
    }
}

/// Reads a task's statistics, without stopping or slowing it: reads its counters and a few files of proc(5). Also works
/// after its end.
///
/// Threads: any non-real-time thread. Waits while another thread stops this task.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_stats(task: *const prt_task, out: *mut prt_stats) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, only read.
        let task = unsafe { shared(task, c"task is NULL") }?;
        wanted(out, c"out is NULL")?;
        // SAFETY: not NULL, and a place for the statistics.
        unsafe { put(out, stats(task.figures()?), c"out is NULL") }
    })
}

/// Stores the quantile `q` (0 to 1) of one of enum prt_measure in `*out`, ns, by nearest rank. The error is at most 1
/// %; the minimum and the maximum are exact.
///
/// Threads: as for prt_task_stats().
/// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a measure or `q` out of range; PRT_STATUS_EMPTY if there is no
/// sample yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_quantile(task: *const prt_task, measure: c_int, q: f64, out: *mut u64) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, only read.
        let task = unsafe { shared(task, c"task is NULL") }?;
        wanted(out, c"out is NULL")?;
        if !(0.0..=1.0).contains(&q) {
            return Err(Failure::written(prt_status::Invalid, format!("quantile {q}: give 0 to 1, such as 0.999")));
        }
        let (lateness, execution) = match task.figures()? {
            Figures::Periodic(stats) => (stats.counted.lateness, stats.counted.execution),
            Figures::Interrupt(stats) => (stats.latency, stats.execution),
        };
        let histogram = match measure {
            m if m == prt_measure::Lateness as c_int => lateness,
            m if m == prt_measure::Execution as c_int => execution,
            other => {
                let text = format!("measure {other} is unknown: use one of enum prt_measure");
                return Err(Failure::written(prt_status::Invalid, text));
            }
        };
        let rank = ((q * histogram.count() as f64).ceil() as u64).max(1);
        let value = histogram.value_at_rank(rank).ok_or(Failure::fixed(prt_status::Empty, c"no sample yet"))?;
        // SAFETY: not NULL, and a place for a number.
        unsafe { put(out, value, c"out is NULL") }
    })
}
