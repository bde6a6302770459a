//! Tests with a single task: periodic releases and alarms.

use super::Posix;
use crate::Ledger;
use crate::backend::{Answer, NotRun, Observed, Plan, alarm_at, no_thread};
use punctual_rt::{AlarmSet, Attributes, Next, monotonic};
use punctual_uapi::thread_usage;
use punctual_units::Nanos;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Number of alarms in each alarm set.
const TOGETHER: usize = 64;

impl Posix {
    /// Runs a periodic task of punctual-rt. Missed releases count as arriving together with the release for which the
    /// task woke.
    pub(super) fn wait_periodically(&self, plan: &Plan<'_>) -> Answer {
        let ledger = Arc::new(Mutex::new(plan.ledger()));
        let (theirs, interval, events) = (ledger.clone(), plan.interval, plan.events);
        let mut task = self.rt.periodic("events-periodic", self.scheduling(plan, 0), interval).cycles(events);
        if let Some(cpu) = plan.cpu {
            task = task.cpu(cpu);
        }
        let task = task.spawn(move |cycle| {
            let mut ledger = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            let count = (cycle.skipped + 1).min(events.saturating_sub(cycle.index));
            let due = |number: u64| cycle.scheduled + Nanos((number - cycle.index) * interval.0);
            ledger.arrived_together(cycle.index, count, |number| cycle.woke.saturating_sub(due(number)));
            Next::Continue
        });
        let task = task.map_err(|e| NotRun::Failed(e.to_string()))?;
        while !task.is_finished() && !plan.stop.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let stats = task.stop().stats;
        let ledger = Arc::try_unwrap(ledger).map_err(|_| NotRun::Failed("the task did not end".into()))?;
        let ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
        let page_faults = stats.usage.page_faults;
        let sent = stats.counted.released.min(events);
        Ok(Observed { page_faults, notes: self.narrowed(), ..Observed::new(ledger, sent) })
    }

    /// Runs alarm sets of punctual-rt with a common start.
    pub(super) fn set_alarms(&self, plan: &Plan<'_>) -> Answer {
        let scheduling = self.scheduling(plan, 0);
        let mut ledger = plan.ledger();
        let ran = std::thread::scope(|s| {
            let body = || {
                let attributes = Attributes { scheduling, cpu: plan.cpu, lock_stack: true };
                attributes.apply().map_err(|e| NotRun::Failed(e.to_string()))?;
                let before = thread_usage().ok();
                let rung = ring(plan, &mut ledger);
                let used = thread_usage().ok().zip(before).map(|(now, then)| now.page_faults - then.page_faults);
                Ok((rung, used))
            };
            let thread = std::thread::Builder::new().name("events-alarms".into()).spawn_scoped(s, body);
            let thread = thread.map_err(no_thread)?;
            thread.join().map_err(|_| NotRun::Failed("the alarm thread panicked".into()))?
        });
        let (sent, page_faults) = ran?;
        Ok(Observed { page_faults, notes: self.narrowed(), ..Observed::new(ledger, sent) })
    }
}

/// Runs one alarm set after another. Returns the number of alarms that were due.
fn ring(plan: &Plan<'_>, ledger: &mut Ledger) -> u64 {
    let epoch = monotonic() + Nanos::from_millis(5);
    let mut set = AlarmSet::<u64, TOGETHER>::new();
    let mut next = 0;
    while next < plan.events && !plan.stop.load(Relaxed) {
        set.clear();
        let end = (next + TOGETHER as u64).min(plan.events);
        for number in next..end {
            let _ = set.at(alarm_at(number, plan.interval), number);
        }
        next += set.run(epoch, plan.stop, |number, rung| ledger.arrived(*number, rung.lateness())) as u64;
    }
    next
}
