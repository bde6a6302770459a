//! Tests priority inheritance of a mutex, as crates/realtime/rt/tests/it/inversion.rs does.

use super::near;
use crate::backend::{Answer, NotRun, Observed, Plan, no_thread};
use crate::test::{BURN, CRITICAL};
use punctual_rt::{Attributes, Mutex, Semaphore, monotonic};
use punctual_units::{CpuId, Nanos, Scheduling};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::Ordering::Relaxed;

const PATIENCE: Nanos = Nanos::from_secs(10);

/// Runs the plan's rounds with a mutex that inherits priority, and one round with a plain mutex as a control. If the
/// control has no priority inversion, the test is inconclusive.
pub(super) fn rounds(plan: &Plan<'_>, cpu: CpuId) -> Answer {
    let mut ledger = plan.ledger();
    let (ours, plain) = (Mutex::new(()), std::sync::Mutex::new(()));
    let mut sent = 0;
    for round in 0..plan.events {
        if plan.stop.load(Relaxed) {
            break;
        }
        let waited = wait_for_lock(plan, cpu, &|body| {
            if let Ok(_held) = ours.lock() {
                body();
            }
        })?;
        ledger.arrived(round, waited);
        sent += 1;
    }
    let control = wait_for_lock(plan, cpu, &|body| {
        let _held = plain.lock();
        body();
    })?;
    let mut observed = Observed::new(ledger, sent);
    observed.notes.push(format!("control: the wait for a mutex without inheritance took {control}"));
    if control < BURN {
        let text =
            format!("control: the wait for a mutex without inheritance took only {control}, so no inversion occurred");
        observed.inconclusive.push(text);
    }
    Ok(observed)
}

/// Uses CPU time `time`, however often the thread is preempted.
pub(super) fn burn(time: Nanos) {
    let used = || {
        let t = clock_gettime(ClockId::ThreadCPUTime);
        Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
    };
    let begun = used();
    while used().saturating_sub(begun) < time {}
}

fn become_fifo(plan: &Plan<'_>, above: i8, cpu: CpuId) -> Result<(), NotRun> {
    let scheduling = Scheduling::Fifo { priority: near(plan.priority, above) };
    let attributes = Attributes { scheduling, cpu: Some(cpu), lock_stack: false };
    attributes.apply().map(drop).map_err(|e| NotRun::Failed(e.to_string()))
}

/// A function that runs its argument while it holds a lock.
type Locked<'a> = &'a (dyn Fn(&mut dyn FnMut()) + Sync);

/// Returns how long the high-priority thread waits for the lock. The threads start each other, so that the result does
/// not depend on sleeps.
fn wait_for_lock(plan: &Plan<'_>, cpu: CpuId, locked: Locked<'_>) -> Result<Nanos, NotRun> {
    let stage = Stage {
        plan,
        cpu,
        locked,
        start_high: Semaphore::new(0),
        start_medium: Semaphore::new(0),
        ready: Semaphore::new(0),
        until: monotonic() + PATIENCE,
    };
    std::thread::scope(|s| {
        let high = std::thread::Builder::new().spawn_scoped(s, || stage.high()).map_err(no_thread)?;
        let medium = std::thread::Builder::new().spawn_scoped(s, || stage.medium()).map_err(no_thread)?;
        let low = std::thread::Builder::new().spawn_scoped(s, || stage.low()).map_err(no_thread)?;
        let ended = |_| NotRun::Failed("a thread of the test panicked".into());
        low.join().map_err(ended)??;
        medium.join().map_err(ended)??;
        high.join().map_err(ended)?
    })
}

struct Stage<'a> {
    plan: &'a Plan<'a>,
    cpu: CpuId,
    locked: Locked<'a>,
    start_high: Semaphore,
    start_medium: Semaphore,
    ready: Semaphore,
    until: Nanos,
}

impl Stage<'_> {
    fn wait(&self, semaphore: &Semaphore) -> Result<(), NotRun> {
        let late = |_| NotRun::Failed(format!("a thread of the test was not ready within {PATIENCE}"));
        semaphore.wait_until(self.until).map_err(late)
    }

    fn high(&self) -> Result<Nanos, NotRun> {
        become_fifo(self.plan, 0, self.cpu)?;
        post(&self.ready);
        self.wait(&self.start_high)?;
        let begun = monotonic();
        let mut got = None;
        (self.locked)(&mut || got = Some(monotonic()));
        got.map(|got| got.saturating_sub(begun)).ok_or_else(|| NotRun::Failed("cannot lock the mutex".into()))
    }

    fn medium(&self) -> Result<(), NotRun> {
        become_fifo(self.plan, -1, self.cpu)?;
        post(&self.ready);
        self.wait(&self.start_medium)?;
        burn(BURN);
        Ok(())
    }

    fn low(&self) -> Result<(), NotRun> {
        become_fifo(self.plan, -2, self.cpu)?;
        self.wait(&self.ready)?;
        self.wait(&self.ready)?;
        (self.locked)(&mut || {
            // The high-priority thread runs immediately. This thread continues when the other one waits for the lock.
            post(&self.start_high);
            post(&self.start_medium);
            burn(CRITICAL);
        });
        Ok(())
    }
}

fn post(semaphore: &Semaphore) {
    // This fails only if the count reaches four billion.
    let _ = semaphore.post();
}
