//! The load that runs while images are sent, and its results.

use crate::axis::Measured;
use crate::clock::now;
use crate::error::BenchError;
use crate::nqueens::Nqueens;
use punctual_measure::{EngineError, Plan, Running, Topology, start};
use punctual_model::{Alignment, Beside, NqueensMode, NqueensSettings};
use punctual_queens::known;
use punctual_units::{CpuList, Histogram, Nanos, Priority, Scheduling, WakeupSource};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Real-time priority of the measuring threads; the same as the default of `punctual measure`.
const PRIORITY: u8 = 80;

const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Time after which a thread that gets no CPU time is abandoned with a note, ns.
const PATIENCE_NS: u64 = 1_000_000_000;

pub(super) enum Company {
    Nothing,
    /// Counts the solutions of the N-queens problem again and again.
    Nqueens(Box<Nqueens>, u32),
    Measure(CpuList),
}

pub(super) enum Results {
    Nothing,
    /// Number of completed counts, the time they took, the first wrong result (if any), and the number of queens.
    Nqueens {
        counts: u64,
        elapsed_ns: u64,
        got: Option<u64>,
        n: u32,
    },
    Measure(Histogram, Vec<String>),
}

type Joined<'s> = ScopedJoinHandle<'s, Result<Results, BenchError>>;

impl Company {
    pub fn new(beside: &Beside) -> Result<Company, BenchError> {
        Ok(match *beside {
            Beside::Nothing => Company::Nothing,
            Beside::Nqueens { n, threads } => {
                let settings = NqueensSettings { mode: NqueensMode::Compat, n, threads, batch: 1, kernel: None };
                Company::Nqueens(Box::new(Nqueens::new(&settings)?), n)
            }
            Beside::Measure => {
                let topology = Topology::read().map_err(|e| BenchError::Refused(e.to_string()))?;
                Company::Measure(topology.allowed.and(&topology.online))
            }
        })
    }

    /// Starts the load. It ends when `over` is set, or after `duration`.
    pub fn start<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        over: &'s AtomicBool,
        duration: Nanos,
    ) -> Result<Joined<'s>, BenchError> {
        // The engine checks itself when it starts, before any image is sent.
        let running = match self {
            Company::Measure(cpus) => Some(measuring(cpus, duration)?),
            Company::Nothing | Company::Nqueens(..) => None,
        };
        let work = move || match (self, running) {
            (Company::Nqueens(queens, n), _) => count(queens, *n, over),
            (_, Some((running, notes))) => Ok(collect(running, notes, over)),
            (_, None) => Ok(Results::Nothing),
        };
        let spawned = thread::Builder::new().name("beside".into()).spawn_scoped(scope, work);
        spawned.map_err(BenchError::io("start", "a thread", "raise RLIMIT_NPROC (ulimit -u)"))
    }
}

/// Counts the solutions repeatedly. Only counts that end before the last image is sent are included.
fn count(queens: &Nqueens, n: u32, over: &AtomicBool) -> Result<Results, BenchError> {
    let (began, mut ended) = (now(), now());
    let (mut counts, mut got) = (0, None);
    while let Some(total) = queens.count(over)? {
        (counts, ended) = (counts + 1, now());
        if got.is_none() || known::solutions(n) != Some(total) {
            got = Some(total);
        }
    }
    Ok(Results::Nqueens { counts, elapsed_ns: ended - began, got, n })
}

/// Starts measuring threads, with real-time priority if permitted.
fn measuring(cpus: &CpuList, duration: Nanos) -> Result<(Running, Vec<String>), BenchError> {
    let plan = |scheduling| Plan {
        phase: "network".into(),
        cpus: cpus.clone(),
        scheduling,
        via: WakeupSource::Nanosleep,
        senders: CpuList::new(),
        groups: BTreeMap::new(),
        period: Nanos::from_millis(1),
        alignment: Alignment::Staggered,
        warmup: Nanos::ZERO,
        duration,
        keep: 1,
        limits: Vec::new(),
        bell: None,
    };
    let refused = |e: EngineError| BenchError::Refused(e.to_string());
    let fifo = Priority::try_from(PRIORITY).map(|priority| Scheduling::Fifo { priority });
    match fifo.map(|fifo| start(plan(fifo))) {
        Ok(Ok(running)) => Ok((running, Vec::new())),
        _ => {
            let running = start(plan(own_or_ordinary())).map_err(refused)?;
            Ok((
                running,
                vec!["the measuring threads had no real-time priority: raise `ulimit -r`, or run as root".into()],
            ))
        }
    }
}

/// Waits until the threads have finished or no more images are sent.
fn collect(running: Running, mut notes: Vec<String>, over: &AtomicBool) -> Results {
    while !running.finished() && !over.load(Relaxed) {
        thread::sleep(LOOK_EVERY);
    }
    // The measurement lasts as long as the sending was planned to, so at most its last milliseconds are missing.
    running.stop_with_enough();
    let patience = now() + PATIENCE_NS;
    while !running.finished() && now() < patience {
        thread::sleep(LOOK_EVERY);
    }
    let outcome = running.collect();
    let mut all = Histogram::new();
    for (_, distribution) in &outcome.distributions {
        all.merge(&distribution.corrected());
    }
    notes.extend(outcome.problems.into_iter().map(|p| p.text));
    Results::Measure(all, notes)
}

impl Results {
    pub fn add_to(self, of: &str, measured: &mut Measured) {
        match self {
            Results::Nothing => {}
            Results::Nqueens { counts: 0, .. } => {
                measured
                    .notes
                    .push("no N-queens count finished in this time: use a longer --duration or a smaller -n".into());
            }
            Results::Nqueens { counts, elapsed_ns, got, n } => {
                measured.figure(of, "time per N-queens count", "ns", elapsed_ns as f64 / counts as f64);
                measured.checks.extend(got.map(|got| crate::nqueens::check(n, got)));
            }
            Results::Measure(all, notes) => {
                measured.times(of, "wakeup latency", all);
                measured.notes.extend(notes);
            }
        }
    }
}

/// Returns the policy of this thread if it is SCHED_OTHER, otherwise SCHED_OTHER with nice value 0. An existing nice
/// value is kept, because an ordinary user is not permitted to lower it (sched(7)).
fn own_or_ordinary() -> Scheduling {
    match punctual_uapi::scheduling(0) {
        Ok((own @ Scheduling::Other { .. }, _)) => own,
        _ => Scheduling::Other { nice: 0 },
    }
}
