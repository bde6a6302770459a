//! The loop of SCHED_DEADLINE tasks.
//!
//! The kernel runs such a task in a constant bandwidth server: a wakeup after the server's deadline starts a new period
//! of the server. If the deadline is before the end of the period, a wakeup between the two is postponed until one
//! period after the previous activation (dl_check_constrained_dl() in kernel/sched/deadline.c). One late activation
//! therefore makes every later one equally late. If the task skips one release after it, the server's period ends
//! before the next wakeup.

use crate::monotonic;
use crate::task::releases::{Late, Releases};
use crate::task::spawn::missed;
use crate::task::{End, Next, Shared};
use punctual_uapi as uapi;
use punctual_units::Nanos;
use rustix::thread::{clock_nanosleep_absolute, sched_yield};
use rustix::time::{ClockId, Timespec};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::Relaxed;

/// How the jobs of a task end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jobs {
    /// Each job ends with an absolute sleep until the next release. The duration is the tolerance: after an activation
    /// that is later than this, the task skips releases. `None` if the deadline is the end of the period, where this is
    /// not needed.
    Sleep(Option<Nanos>),
    /// Each job ends with sched_yield(2).
    Yield,
}

/// Resources that a thread opens before it sets its policy.
pub(crate) struct Prepared {
    delay: Option<RunDelay>,
    _overruns: Option<uapi::Overruns>,
}

impl Prepared {
    /// Opens the resources for `jobs`. Call it in the task's thread.
    pub(crate) fn new(jobs: Jobs) -> Prepared {
        Prepared {
            delay: if matches!(jobs, Jobs::Sleep(Some(_))) { RunDelay::open() } else { None },
            // Cannot fail for a valid signal; overruns would stay at zero.
            _overruns: uapi::watch_overruns().ok(),
        }
    }
}

/// Parameters of a task's loop, and the counters that it updates.
pub(crate) struct Job<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) cycles: u64,
    pub(crate) deadline: u64,
    pub(crate) period: Nanos,
}

/// Runs the loop, which makes one system call per release, and neither allocates, locks nor faults. From the first late
/// wakeup on, a task with a deadline before the end of its period makes a second system call: [`Activations`].
pub(crate) fn run<F>(job: &Job<'_>, releases: &mut Releases, jobs: Jobs, mut prepared: Prepared, body: F) -> End
where
    F: FnMut(&crate::Cycle) -> Next,
{
    let sleep = |target: &Timespec| clock_nanosleep_absolute(ClockId::Monotonic, target).is_ok();
    match jobs {
        Jobs::Sleep(None) => sleeping(job, releases, None, sleep, body),
        Jobs::Sleep(Some(tolerance)) => {
            let activations = Activations { tolerance, delay: prepared.delay.take(), before: None, watching: false };
            sleeping(job, releases, Some(activations), sleep, body)
        }
        Jobs::Yield => yielding(job, releases, body),
    }
}

/// Runs jobs that end with a sleep. `sleep` returns false if a signal interrupted it.
fn sleeping<F>(
    job: &Job<'_>,
    releases: &mut Releases,
    mut activations: Option<Activations>,
    mut sleep: impl FnMut(&Timespec) -> bool,
    mut body: F,
) -> End
where
    F: FnMut(&crate::Cycle) -> Next,
{
    let (mut ended, mut overruns) = (Nanos::ZERO, uapi::overruns());
    while releases.accounted() < job.cycles {
        if let Some(activations) = &mut activations {
            activations.before_sleep();
        }
        while !sleep(releases.target()) {
            if job.shared.stop.load(Relaxed) {
                return End::Stopped;
            }
        }
        if job.shared.stop.load(Relaxed) {
            return End::Stopped;
        }
        let woke = monotonic();
        let given_up = activations.as_mut().and_then(|one| one.late(releases.next(), ended, woke)).map(|activated| {
            // Skips to the last release before the server's period ends. A release that comes less than the tolerance
            // before the end is kept.
            let tolerance = activations.as_ref().map_or(0, |one| one.tolerance.0);
            releases.give_up(woke, activated + job.period.saturating_sub(Nanos(tolerance + 1)))
        });
        let before = std::mem::replace(&mut overruns, uapi::overruns());
        match cycle(job, releases, given_up, woke, overruns - before, &mut body) {
            Ok(Next::Continue) => ended = monotonic(),
            Ok(Next::Stop) => return End::Returned,
            Err(end) => return end,
        }
    }
    End::Cycles
}

/// Runs jobs that end with sched_yield(2). The kernel starts each job one period after the activation of the previous
/// one, so the times of all later releases move with it.
fn yielding<F>(job: &Job<'_>, releases: &mut Releases, mut body: F) -> End
where
    F: FnMut(&crate::Cycle) -> Next,
{
    while clock_nanosleep_absolute(ClockId::Monotonic, releases.target()).is_err() {
        if job.shared.stop.load(Relaxed) {
            return End::Stopped;
        }
    }
    let (mut woke, mut overruns) = (monotonic(), uapi::overruns());
    loop {
        if job.shared.stop.load(Relaxed) {
            return End::Stopped;
        }
        let before = std::mem::replace(&mut overruns, uapi::overruns());
        match cycle(job, releases, None, woke, overruns - before, &mut body) {
            Ok(Next::Continue) => {}
            Ok(Next::Stop) => return End::Returned,
            Err(end) => return end,
        }
        if releases.accounted() >= job.cycles {
            return End::Cycles;
        }
        sched_yield();
        let last = std::mem::replace(&mut woke, monotonic());
        // The activation is earlier than the wakeup that reveals it.
        releases.move_to(woke.min(last + job.period));
    }
}

#[inline(always)]
fn cycle<F>(
    job: &Job<'_>,
    releases: &mut Releases,
    given_up: Option<Late>,
    woke: Nanos,
    overruns: u64,
    body: &mut F,
) -> Result<Next, End>
where
    F: FnMut(&crate::Cycle) -> Next,
{
    let record = &job.shared.record;
    record.overran(overruns);
    let late = match given_up {
        Some(late) => late,
        None => match releases.on_time(woke) {
            Some(mut cycle) => {
                cycle.overruns = overruns;
                record.run(&cycle);
                let next = body(&cycle);
                record.executed(&cycle, monotonic(), job.deadline);
                return Ok(next);
            }
            None => releases.late(woke),
        },
    };
    missed(job.shared, late, overruns, Some(job.deadline), body)
}

/// Distinguishes late activations from waits for the CPU. The latter are normal for the threads of a schedulable set,
/// and do not move the server's period.
///
/// The kernel counts how long a thread has waited for a CPU (proc_pid_schedstat, CONFIG_SCHED_INFO). Reading this
/// before each sleep costs a system call, so it is read only after the first late wakeup, which itself counts as a late
/// activation.
struct Activations {
    tolerance: Nanos,
    delay: Option<RunDelay>,
    before: Option<u64>,
    watching: bool,
}

impl Activations {
    fn before_sleep(&mut self) {
        if self.watching {
            self.before = self.delay.as_mut().and_then(RunDelay::read);
        }
    }

    /// Returns the time at which the task was activated for the release at `scheduled`, if that was late; otherwise
    /// `None`. `ended` is the time at which the previous job ended.
    #[inline(always)]
    fn late(&mut self, scheduled: Nanos, ended: Nanos, woke: Nanos) -> Option<Nanos> {
        // If the job ended after the release, it did not sleep, and there was no activation.
        if woke <= scheduled + self.tolerance || ended > scheduled { None } else { self.judge(scheduled, woke) }
    }

    #[cold]
    fn judge(&mut self, scheduled: Nanos, woke: Nanos) -> Option<Nanos> {
        self.watching = true;
        let now = self.delay.as_mut().and_then(RunDelay::read);
        let waited = self.before.take().zip(now).map_or(0, |(before, now)| now.saturating_sub(before));
        let activated = woke.saturating_sub(Nanos(waited));
        (activated > scheduled + self.tolerance).then_some(activated)
    }
}

/// Reads for how long the calling thread has waited for a CPU so far.
struct RunDelay(File);

impl RunDelay {
    fn open() -> Option<RunDelay> {
        let mut this = RunDelay(File::open("/proc/thread-self/schedstat").ok()?);
        // The first read allocates in the kernel.
        this.read().map(|_| this)
    }

    /// Reads the run delay in ns, with one system call and without allocation.
    fn read(&mut self) -> Option<u64> {
        let mut text = [0; 64];
        let length = self.0.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.split(' ').nth(1)?.parse().ok()
    }
}

#[cfg(test)]
mod tests;
