//! Describes, starts and runs periodic tasks.

use crate::task::deadline::{self, Job, Jobs, Prepared};
use crate::task::launch::{RESET, SpawnError, launch};
use crate::task::releases::{Late, Releases};
use crate::task::{Cycle, End, Miss, Next, Shared, Task};
use crate::{Attributes, Rt, monotonic};
use punctual_uapi::{self as uapi, SchedFlags};
use punctual_units::{CpuId, Nanos, Scheduling};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::ClockId;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A periodic task that has not been started; created by [`Rt::periodic`] and [`Rt::deadline`].
#[must_use = "a task does not run until spawn() is called"]
pub struct PeriodicTask<'a> {
    rt: &'a Rt,
    name: String,
    scheduling: Scheduling,
    period: Nanos,
    cpu: Option<CpuId>,
    miss: Miss,
    deadline: Option<Nanos>,
    offset: Nanos,
    cycles: u64,
    execution: bool,
    reclaim: bool,
    yields: bool,
    tolerance: Option<Nanos>,
    prepare: Option<Box<dyn FnOnce() + Send>>,
}

impl<'a> PeriodicTask<'a> {
    pub(crate) fn new(rt: &'a Rt, name: &str, scheduling: Scheduling, period: Nanos) -> PeriodicTask<'a> {
        let period = Nanos(period.0.max(1));
        PeriodicTask {
            rt,
            name: name.into(),
            scheduling,
            period,
            cpu: None,
            miss: Miss::Skip,
            deadline: None,
            offset: Nanos::ZERO,
            cycles: u64::MAX,
            execution: true,
            reclaim: false,
            yields: false,
            tolerance: None,
            prepare: None,
        }
    }

    /// Pins the task to this CPU. A SCHED_DEADLINE task must be allowed on all CPUs of its root domain, so it can be
    /// pinned only if the domain has one CPU: run the program in a cpuset partition of one CPU.
    pub fn cpu(mut self, cpu: CpuId) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Selects what happens to missed releases. The default is [`Miss::Skip`].
    pub fn on_miss(mut self, miss: Miss) -> Self {
        self.miss = miss;
        self
    }

    /// Sets the time from a release by which the body should return; a later return is a deadline miss. The default is
    /// the period.
    pub fn deadline(mut self, deadline: Nanos) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the offset of the releases, which are at [`Rt::epoch`] + offset + a multiple of the period: the releases of
    /// two tasks with the same period are always the same time apart.
    pub fn offset(mut self, offset: Nanos) -> Self {
        self.offset = offset;
        self
    }

    /// Ends the task after this many releases, whether its body ran for them or they were skipped; after more releases
    /// if the last wakeup was late.
    pub fn cycles(mut self, cycles: u64) -> Self {
        self.cycles = cycles;
        self
    }

    /// Disables the measurement of execution times and deadline misses, which saves one clock read per cycle.
    pub fn without_execution(mut self) -> Self {
        self.execution = false;
        self
    }

    /// SCHED_DEADLINE only: lets the task also use the bandwidth that other deadline tasks leave unused
    /// (SCHED_FLAG_RECLAIM, GRUB; Documentation/scheduler/sched-deadline.rst). No effect with other policies.
    pub fn reclaim(mut self) -> Self {
        self.reclaim = true;
        self
    }

    /// SCHED_DEADLINE with a deadline before the end of the period: after an activation that is late by more than
    /// `tolerance`, the task skips the next release, so that the one after it is on time. Otherwise the kernel would
    /// make every later activation equally late. The default is an eighth of the time from the runtime to the deadline.
    ///
    /// [`Miss::CatchUp`] does not catch up on these releases; [`Miss::Stop`] and [`Miss::SafeState`] count the
    /// activation as a miss.
    pub fn late_activation(mut self, tolerance: Nanos) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// SCHED_DEADLINE only: ends each job with sched_yield(2), which gives up the rest of its runtime, instead of
    /// sleeping until the next release. The kernel then starts each job one period after the activation of the previous
    /// one, so the times of the releases move: a late activation makes every later one equally late, tasks do not stay
    /// a fixed time apart, and the releases drift against [`Rt::epoch`] and [`crate::monotonic`], since NTP does not
    /// adjust the scheduler's clock. [`Cycle::scheduled`] is then one period after the previous wakeup, and
    /// [`Cycle::lateness`] is relative to it.
    pub fn end_jobs_by_yield(mut self) -> Self {
        self.yields = true;
        self
    }

    /// Runs `prepare` once in the task's thread, before it sets its CPU and policy and before the first release is
    /// chosen: use it to touch thread-local memory for the first time. It may allocate.
    pub fn prepare(mut self, prepare: impl FnOnce() + Send + 'static) -> Self {
        self.prepare = Some(Box::new(prepare));
        self
    }

    /// Starts the task. The thread first locks its memory and sets its CPU affinity and policy. The first release is at
    /// least a millisecond later; with SCHED_DEADLINE also at least a period later, so that its full runtime budget is
    /// available.
    ///
    /// `body` runs in the thread at every release. It must not allocate, lock what ordinary threads lock (use
    /// [`crate::Mutex`]), print, or touch memory for the first time.
    ///
    /// # Errors
    /// [`SpawnError`]; in this case nothing was started.
    pub fn spawn<F>(self, body: F) -> Result<Task, SpawnError>
    where
        F: FnMut(&Cycle) -> Next + Send + 'static,
    {
        let shared = Arc::new(Shared::new(&self.name, self.period));
        let attributes = Attributes { scheduling: self.scheduling, cpu: self.cpu, lock_stack: true };
        let (grid, period, miss) = (self.rt.epoch() + self.offset, self.period, self.miss);
        let (deadline, cycles, prepare) = (self.deadline.unwrap_or(period).0, self.cycles, self.prepare);
        let looped = if self.execution { run::<F, true> } else { run::<F, false> };
        let jobs = jobs(self.scheduling, self.yields, self.tolerance);
        let flags = SchedFlags { reclaim: self.reclaim, overrun_signal: jobs.is_some(), ..RESET };
        if jobs.is_some() {
            // Cannot fail for a valid signal. The thread unblocks the signal for itself.
            let _ = uapi::leave_overruns();
        }
        let ahead = Nanos::from_millis(1) + if jobs.is_some() { period } else { Nanos::ZERO };
        launch(
            self.rt,
            (attributes, flags),
            shared,
            move || {
                if let Some(prepare) = prepare {
                    prepare();
                }
                jobs.map(|jobs| (jobs, Prepared::new(jobs)))
            },
            move || first_release(grid, period, ahead),
            move |shared, first, prepared| {
                let mut releases = Releases::new(first, period, miss);
                match prepared {
                    Some((jobs, prepared)) => {
                        let job = Job { shared, cycles, deadline, period };
                        deadline::run(&job, &mut releases, jobs, prepared, body)
                    }
                    None => looped(shared, &mut releases, cycles, deadline, body),
                }
            },
        )
    }
}

/// Returns how jobs end; `None` unless the policy is SCHED_DEADLINE.
fn jobs(scheduling: Scheduling, yields: bool, tolerance: Option<Nanos>) -> Option<Jobs> {
    let Scheduling::Deadline { runtime_ns, deadline_ns, period_ns } = scheduling else { return None };
    let slack = Nanos(deadline_ns.saturating_sub(runtime_ns).0 / 8);
    Some(match (yields, deadline_ns < period_ns) {
        (true, _) => Jobs::Yield,
        (false, true) => Jobs::Sleep(Some(tolerance.unwrap_or(slack))),
        (false, false) => Jobs::Sleep(None),
    })
}

/// Returns the first time of the form `grid` + n × `period` that is at least `ahead` from now.
fn first_release(grid: Nanos, period: Nanos, ahead: Nanos) -> Nanos {
    let earliest = monotonic() + ahead;
    let behind = earliest.saturating_sub(grid).0;
    grid + Nanos(behind.div_ceil(period.0) * period.0)
}

/// Runs the loop, which makes one system call per release, and neither allocates, locks nor faults.
#[inline(never)]
fn run<F, const EXECUTION: bool>(shared: &Shared, releases: &mut Releases, cycles: u64, deadline: u64, body: F) -> End
where
    F: FnMut(&Cycle) -> Next,
{
    let record = &shared.record;
    let mut body = body;
    while releases.accounted() < cycles {
        while clock_nanosleep_absolute(ClockId::Monotonic, releases.target()).is_err() {
            if shared.stop.load(Relaxed) {
                return End::Stopped;
            }
        }
        if shared.stop.load(Relaxed) {
            return End::Stopped;
        }
        let woke = monotonic();
        let next = match releases.on_time(woke) {
            Some(cycle) => {
                record.run(&cycle);
                let next = body(&cycle);
                if EXECUTION {
                    record.executed(&cycle, monotonic(), deadline);
                }
                next
            }
            None => match missed(shared, releases.late(woke), 0, EXECUTION.then_some(deadline), &mut body) {
                Ok(next) => next,
                Err(end) => return end,
            },
        };
        if next == Next::Stop {
            return End::Returned;
        }
    }
    End::Cycles
}

/// Handles a wakeup with missed or pending releases. A separate function, so that the loop keeps its values in
/// registers.
#[cold]
#[inline(never)]
pub(crate) fn missed<F>(
    shared: &Shared,
    late: Late,
    overruns: u64,
    deadline: Option<u64>,
    body: &mut F,
) -> Result<Next, End>
where
    F: FnMut(&Cycle) -> Next,
{
    match late {
        Late::Run(cycle) => {
            let cycle = Cycle { overruns, ..cycle };
            shared.record.run_late(&cycle);
            let next = body(&cycle);
            if let Some(deadline) = deadline {
                shared.record.executed(&cycle, monotonic(), deadline);
            }
            Ok(next)
        }
        Late::Missed(cycle, safe) => {
            let cycle = Cycle { overruns, ..cycle };
            shared.record.missed(&cycle, 0);
            safe.map(|safe| safe(&cycle)).ok_or(End::Missed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_allocates_nothing() {
        let period = Nanos::from_micros(50);
        for miss in [Miss::Skip, Miss::CatchUp { at_most: 3 }, Miss::SafeState(|_| Next::Continue)] {
            let shared = Shared::new("counted", period);
            let mut releases = Releases::new(monotonic(), period, miss);
            let allocated = allocation_counter::measure(|| {
                run::<_, true>(&shared, &mut releases, 2_000, period.0, |cycle| {
                    if cycle.index % 50 == 0 {
                        // Until five more releases are due, two more than can be caught up.
                        while monotonic() < cycle.scheduled + Nanos::from_micros(320) {}
                    }
                    Next::Continue
                });
            });
            assert_eq!(allocated.count_total, 0);
            assert!(shared.record.counted().skipped > 0);
        }
    }
}
