//! The work of a measured thread. No function here allocates, locks or logs.

use crate::body::Action;
use punctual_rt::{monotonic, sleep_until};
use punctual_units::Nanos;
use punctual_workloads::Work;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// An action whose work is given in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Do {
    Steps(u64),
    /// See [`Action::Sleep`].
    Sleep(Nanos),
    /// See [`Action::Timer`].
    Timer(Nanos),
}

#[derive(Debug)]
pub struct Job {
    pub doing: Vec<Do>,
    /// Number of loops. `None` means until it is stopped.
    pub loops: Option<u64>,
    pub work: Work,
}

/// Conditions that end a job before its work is done. Times are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// Time at which the job ends at the latest.
    pub until: Nanos,
    /// If one of them is set, the job ends, because its result is no longer needed.
    pub stops: [&'a AtomicBool; 2],
}

impl Bounds<'_> {
    fn is_stopped(&self) -> bool {
        self.stops.iter().any(|stop| stop.load(Relaxed))
    }
}

#[derive(Debug)]
pub struct Done {
    /// Time of the first step, CLOCK_MONOTONIC.
    pub first: Nanos,
    /// Time at which the job ended, CLOCK_MONOTONIC.
    pub end: Nanos,
    /// CPU time charged between the first step and the end.
    pub charged: Nanos,
    /// True if all work was done. Endless work is complete when its time has elapsed.
    pub whole: bool,
    /// Longest time from the start of a period to the end of its work; 0 without periods.
    pub worst_response: Nanos,
    pub failed: Option<io::Error>,
}

impl Job {
    /// Works until the work is done or a bound is reached. `release` is the origin of the job's timers.
    pub fn perform(&mut self, release: Nanos, bounds: &Bounds<'_>) -> Done {
        let (charged, first) = (charged(), monotonic());
        let mut done =
            Done { first, end: first, charged: Nanos::ZERO, whole: true, worst_response: Nanos::ZERO, failed: None };
        let (mut grid, mut loops) = (release, 0);
        'work: while self.loops.is_none_or(|all| loops < all) {
            for n in 0..self.doing.len() {
                let on = match self.doing[n] {
                    Do::Steps(steps) => self.steps(steps, bounds),
                    Do::Sleep(length) => sleep(monotonic() + length, bounds),
                    Do::Timer(period) => timer(&mut grid, period, &mut done.worst_response, bounds),
                };
                match on {
                    Ok(true) => {}
                    Ok(false) => {
                        done.whole = self.loops.is_none() && !bounds.is_stopped();
                        break 'work;
                    }
                    Err(e) => {
                        (done.whole, done.failed) = (false, Some(e));
                        break 'work;
                    }
                }
            }
            loops += 1;
        }
        done.end = monotonic();
        done.charged = self::charged().saturating_sub(charged);
        done
    }

    /// Reads the clock after each step, so that the bound is exceeded by at most one step under any policy.
    fn steps(&mut self, steps: u64, bounds: &Bounds<'_>) -> io::Result<bool> {
        for _ in 0..steps {
            self.work.step()?;
            if monotonic() >= bounds.until || bounds.is_stopped() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn sleep(until: Nanos, bounds: &Bounds<'_>) -> io::Result<bool> {
    sleep_until(until.min(bounds.until)).map_err(|e| io::Error::from_raw_os_error(e.raw_os_error()))?;
    Ok(until < bounds.until && !bounds.is_stopped())
}

fn timer(grid: &mut Nanos, period: Nanos, worst: &mut Nanos, bounds: &Bounds<'_>) -> io::Result<bool> {
    let now = monotonic();
    *worst = (*worst).max(now.saturating_sub(*grid));
    *grid = *grid + period;
    if *grid > now {
        return sleep(*grid, bounds);
    }
    *grid = now;
    Ok(now < bounds.until)
}

/// Returns the CPU time that the calling thread has used so far.
pub(crate) fn charged() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Nanos(t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs())
}

/// Converts the actions' work from nanoseconds to steps by calling `steps`.
pub(crate) fn compile(actions: &[Action], steps: impl Fn(Nanos) -> u64) -> Vec<Do> {
    let one = |action: &Action| match *action {
        Action::Run(work) => Do::Steps(steps(work)),
        Action::Sleep(length) => Do::Sleep(length),
        Action::Timer(period) => Do::Timer(period),
    };
    actions.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_workloads::Busy;

    fn job(doing: &[Do], loops: Option<u64>) -> Job {
        Job { doing: doing.to_vec(), loops, work: Work::Busy(Busy::new()) }
    }

    fn steps_done(job: &Job) -> u64 {
        let Work::Busy(busy) = &job.work else { panic!() };
        let mut other = Busy::new();
        (0..)
            .find(|_| {
                other.state() == busy.state() || {
                    other.step();
                    false
                }
            })
            .unwrap()
    }

    #[test]
    fn all_steps_are_done_and_nothing_is_allocated_meanwhile() {
        let mut job = job(&[Do::Steps(3), Do::Sleep(Nanos(1000)), Do::Steps(2), Do::Timer(Nanos(2000))], Some(4));
        let stop = AtomicBool::new(false);
        let bounds = Bounds { until: monotonic() + Nanos::from_secs(60), stops: [&stop; 2] };
        let mut done = None;
        let counted = allocation_counter::measure(|| done = Some(job.perform(monotonic(), &bounds)));
        let done = done.unwrap();
        assert_eq!(counted.count_total, 0);
        assert!(done.whole && done.failed.is_none() && done.end > done.first && done.charged > Nanos::ZERO);
        assert!(done.worst_response > Nanos::ZERO);
        assert_eq!(steps_done(&job), 20);
    }

    #[test]
    fn a_bound_ends_any_work_and_says_that_it_is_not_whole() {
        let stop = AtomicBool::new(false);
        let bounds = Bounds { until: monotonic(), stops: [&stop; 2] };
        let mut long = job(&[Do::Steps(u64::MAX)], Some(1));
        assert!(!long.perform(monotonic(), &bounds).whole);
        assert_eq!(steps_done(&long), 1);
        assert!(!job(&[Do::Sleep(Nanos::from_secs(100))], Some(1)).perform(monotonic(), &bounds).whole);
        assert!(job(&[Do::Steps(1)], None).perform(monotonic(), &bounds).whole, "it had no other end");
    }

    #[test]
    fn what_nobody_wants_any_more_ends_and_is_never_whole() {
        let stop = AtomicBool::new(true);
        let bounds = Bounds { until: monotonic() + Nanos::from_secs(60), stops: [&stop; 2] };
        for loops in [None, Some(1)] {
            assert!(!job(&[Do::Steps(1000)], loops).perform(monotonic(), &bounds).whole);
        }
    }
}
