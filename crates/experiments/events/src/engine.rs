use crate::backend::{Answer, Backend, NotRun, Plan};
use crate::judge::judge;
use crate::test::{Test, What};
use punctual_model::{SuiteEnd, SuiteRan, SuiteResult};
use punctual_units::{CpuId, Nanos, Priority};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Number of rounds in tests that have no duration (the round-robin test has only one).
const ROUNDS: u64 = 5;
/// Maximum number of events per test. The ledger has two bits for each event.
const MOST: u64 = 1 << 32;

#[derive(Clone, Debug)]
pub struct Settings {
    pub tests: Vec<Test>,
    /// Total time, which the tests with a duration share equally.
    pub duration: Nanos,
    /// Lateness above which an event is late; `None` for the default of each test.
    pub deadline: Option<Nanos>,
    /// Priority of the receivers.
    pub priority: Priority,
    /// CPU of the receivers.
    pub cpu: Option<CpuId>,
}

impl Settings {
    pub fn share(&self) -> Nanos {
        let timed = self.tests.iter().filter(|test| test.is_timed()).count().max(1) as u64;
        Nanos(self.duration.0 / timed)
    }

    fn plan<'a>(&self, test: &Test, stop: &'a AtomicBool) -> Plan<'a> {
        let events = if test.is_timed() { (self.share().0 / test.interval.0).clamp(1, MOST) } else { ROUNDS };
        // The configured deadline does not apply to waiting for a mutex or for the CPU.
        let deadline = if test.is_timed() { self.deadline.unwrap_or(test.deadline) } else { test.deadline };
        let Settings { priority, cpu, .. } = *self;
        Plan { test: test.name, interval: test.interval, events, deadline, priority, cpu, stop }
    }
}

/// Runs the tests and passes each result to `report`. If `stop` is set meanwhile, the list does not contain the results
/// of the remaining tests.
pub fn run(
    backend: &mut dyn Backend,
    settings: &Settings,
    stop: &AtomicBool,
    report: &mut dyn FnMut(&SuiteResult),
) -> Vec<SuiteResult> {
    let mut results = Vec::new();
    for test in &settings.tests {
        if stop.load(Relaxed) {
            break;
        }
        let plan = settings.plan(test, stop);
        punctual_watchdog::measuring(format!("the test {}", test.name), Duration::from_nanos(settings.share().0));
        let ended = match ask(backend, test, &plan) {
            Ok(observed) => SuiteEnd::Ran(Box::new(cut_short(judge(test, observed), &plan))),
            Err(NotRun::Unsupported(why)) => SuiteEnd::Unsupported { why },
            Err(NotRun::Failed(why)) => SuiteEnd::Failed { why },
        };
        let interval_ns = test.is_timed().then_some(test.interval);
        let (promise, deadline_ns) = (test.promise, plan.deadline);
        let result = SuiteResult { test: test.name.into(), promise, interval_ns, deadline_ns, ended };
        report(&result);
        results.push(result);
    }
    results
}

/// Makes the result inconclusive if the suite ended before all events were sent.
fn cut_short(mut ran: SuiteRan, plan: &Plan<'_>) -> SuiteRan {
    if plan.stop.load(Relaxed) && ran.counts.sent < plan.events {
        ran.inconclusive.push(format!("ended early: {} of {} events were sent", ran.counts.sent, plan.events));
        ran.class = None;
    }
    ran
}

fn ask(backend: &mut dyn Backend, test: &Test, plan: &Plan<'_>) -> Answer {
    match test.what {
        What::Periodic | What::Faults => backend.periodic(plan),
        What::Alarms => backend.alarms(plan),
        What::Inversion => backend.inversion(plan),
        What::Order(order) => backend.order(order, plan),
        What::Channel(channel) => backend.channel(channel, plan),
        What::Source(source) => backend.source(source, plan),
    }
}
