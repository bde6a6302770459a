//! Tests the order in which threads on a CPU run.

use super::inversion::burn;
use super::near;
use crate::backend::{Answer, NotRun, Observed, Order, Plan, no_thread};
use punctual_rt::{Attributes, Semaphore, monotonic};
use punctual_units::{CpuId, Nanos, Scheduling};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize};

const THREADS: usize = 4;
const PATIENCE: Nanos = Nanos::from_secs(10);
/// CPU time that each thread uses in the order tests.
const WORK: Nanos = Nanos::from_millis(1);
/// Time slice of SCHED_RR if the kernel does not report it (RR_TIMESLICE).
const TURN: Nanos = Nanos::from_millis(100);
/// Capacity of the log. The threads always take fewer turns than this.
const PLACES: usize = 256;

/// The order in which threads ran: one entry each time another thread continues.
struct Log {
    who: [AtomicU32; PLACES],
    next: AtomicUsize,
}

impl Log {
    fn add(&self, who: usize) {
        if let Some(place) = self.who.get(self.next.fetch_add(1, Relaxed)) {
            place.store(who as u32, Relaxed);
        }
    }

    fn read(&self) -> Vec<usize> {
        let end = self.next.load(Acquire).min(PLACES);
        self.who[..end].iter().map(|who| who.load(Relaxed) as usize).collect()
    }
}

/// Runs the plan's rounds; for round robin only one round.
pub(super) fn rounds(order: Order, plan: &Plan<'_>, cpu: CpuId) -> Answer {
    let mut ledger = plan.ledger();
    let (mut sent, mut notes) = (0, Vec::new());
    let rounds = if order == Order::RoundRobin { 1 } else { plan.events };
    for _ in 0..rounds {
        if plan.stop.load(Relaxed) {
            break;
        }
        let log = round(order, plan, cpu)?;
        let (places, numbers) = numbers(order, &log);
        numbers.iter().for_each(|number| ledger.arrived(sent + number, Nanos::ZERO));
        sent += places;
        if numbers.len() as u64 != places || !numbers.is_sorted() {
            notes.push(format!("the threads ran in the order {log:?}"));
        }
    }
    Ok(Observed { notes, ..Observed::new(ledger, sent) })
}

/// Returns the index of the thread that becomes ready `n`-th, counted from 0. If the priorities differ, this is not the
/// order of the priorities.
fn nth_ready(order: Order, n: usize) -> usize {
    if order == Order::Priority { [2, 0, 3, 1][n % THREADS] } else { n }
}

/// Returns the number of places in the expected order, and the place of each entry of the log.
fn numbers(order: Order, log: &[usize]) -> (u64, Vec<u64>) {
    let mut turns = [0; THREADS];
    let places = log.iter().filter(|who| **who < THREADS).map(|who| {
        turns[*who] += 1;
        match order {
            // Each thread ends before the next one starts.
            Order::Priority | Order::Fifo => (2 * who + turns[*who] - 1) as u64,
            Order::RoundRobin => ((turns[*who] - 1) * THREADS + who) as u64,
        }
    });
    let places: Vec<u64> = places.collect();
    let expected = match order {
        Order::Priority | Order::Fifo => 2 * THREADS,
        // Each thread has at least two turns. Turns beyond the smallest number of any thread are not counted, because
        // that thread had ended by then.
        Order::RoundRobin => THREADS * turns.iter().min().map_or(2, |least| (*least).max(2)),
    };
    (expected as u64, places.into_iter().filter(|place| *place < expected as u64).collect())
}

struct Round<'a> {
    order: Order,
    plan: &'a Plan<'a>,
    cpu: CpuId,
    log: Log,
    gates: [Semaphore; THREADS],
    threads: [AtomicI32; THREADS],
    /// CPU time that each thread uses in the round-robin test.
    turns: Nanos,
    /// The thread that ran last.
    last: AtomicU64,
    until: Nanos,
}

fn round(order: Order, plan: &Plan<'_>, cpu: CpuId) -> Result<Vec<usize>, NotRun> {
    let round = Round {
        order,
        plan,
        cpu,
        log: Log { who: [const { AtomicU32::new(0) }; PLACES], next: AtomicUsize::new(0) },
        gates: [const { Semaphore::new(0) }; THREADS],
        threads: [const { AtomicI32::new(0) }; THREADS],
        turns: Nanos(turn().0 * 5 / 2),
        last: AtomicU64::new(u64::MAX),
        until: monotonic() + PATIENCE,
    };
    std::thread::scope(|s| {
        let round = &round;
        let begin = |me| std::thread::Builder::new().spawn_scoped(s, move || round.work(me)).map_err(no_thread);
        let workers: Vec<_> = (0..THREADS).map(begin).collect::<Result<_, _>>()?;
        let gatekeeper = std::thread::Builder::new().spawn_scoped(s, || round.open()).map_err(no_thread)?;
        let panicked = |_| NotRun::Failed("a thread of the test panicked".into());
        gatekeeper.join().map_err(panicked)??;
        workers.into_iter().try_for_each(|worker| worker.join().map_err(panicked)?)
    })?;
    Ok(round.log.read())
}

impl Round<'_> {
    fn work(&self, me: usize) -> Result<(), NotRun> {
        begin(self.order, self.plan, self.cpu, me)?;
        self.threads[me].store(rustix::thread::gettid().as_raw_nonzero().get(), Release);
        self.gates[me].wait_until(self.until).map_err(|_| not_ready())?;
        match self.order {
            Order::RoundRobin => take_turns(me, self.turns, &self.log, &self.last),
            Order::Priority | Order::Fifo => {
                self.log.add(me);
                burn(WORK);
                self.log.add(me);
            }
        }
        Ok(())
    }

    /// Waits until all threads sleep, then makes them ready. The calling thread runs on their CPU with a higher
    /// priority, so that no thread runs before all are ready.
    fn open(&self) -> Result<(), NotRun> {
        let opened = asleep(&self.threads, self.until)
            .and_then(|()| attributes(Scheduling::Fifo { priority: self.plan.priority }, self.cpu));
        for n in 0..THREADS {
            // The count is at most one, so this cannot overflow.
            let _ = self.gates[nth_ready(self.order, n)].post();
        }
        opened
    }
}

fn not_ready() -> NotRun {
    NotRun::Failed(format!("a thread of the test was not ready within {PATIENCE}"))
}

fn attributes(scheduling: Scheduling, cpu: CpuId) -> Result<(), NotRun> {
    let attributes = Attributes { scheduling, cpu: Some(cpu), lock_stack: false };
    attributes.apply().map(drop).map_err(|e| NotRun::Failed(e.to_string()))
}

/// Sets policy and CPU of a thread. Thread 0 has the highest priority, which is below the priority of the thread that
/// calls `open`. In tests with equal priorities all threads have the same priority.
fn begin(order: Order, plan: &Plan<'_>, cpu: CpuId, me: usize) -> Result<(), NotRun> {
    let below = if order == Order::Priority { me as i8 + 1 } else { 1 };
    let priority = near(plan.priority, -below);
    let scheduling = match order {
        Order::RoundRobin => Scheduling::Rr { priority },
        Order::Priority | Order::Fifo => Scheduling::Fifo { priority },
    };
    attributes(scheduling, cpu)
}

/// Uses CPU time `work`, and logs each time that the thread continues after another thread.
fn take_turns(me: usize, work: Nanos, log: &Log, last: &AtomicU64) {
    let mut done = Nanos::ZERO;
    let step = Nanos::from_micros(20);
    while done < work {
        if last.swap(me as u64, Relaxed) != me as u64 {
            log.add(me);
        }
        burn(step);
        done = done + step;
    }
}

/// Returns the time slice of SCHED_RR (sched(7), /proc/sys/kernel/sched_rr_timeslice_ms).
fn turn() -> Nanos {
    let text = std::fs::read_to_string("/proc/sys/kernel/sched_rr_timeslice_ms").ok();
    text.and_then(|text| text.trim().parse().ok()).filter(|ms| (1..=1000).contains(ms)).map_or(TURN, Nanos::from_millis)
}

/// Waits until every thread exists and sleeps, as its state in proc_pid_stat(5) shows. A runnable thread that has not
/// slept yet would be first in the queue instead of last.
fn asleep(threads: &[AtomicI32; THREADS], until: Nanos) -> Result<(), NotRun> {
    let sleeps = |thread: &AtomicI32| match thread.load(Acquire) {
        0 => false,
        tid => std::fs::read_to_string(format!("/proc/self/task/{tid}/stat"))
            .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))),
    };
    while !threads.iter().all(sleeps) {
        if monotonic() > until {
            return Err(not_ready());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_right(order: Order, log: &[usize]) -> bool {
        let (places, numbers) = numbers(order, log);
        numbers.len() as u64 == places && numbers.is_sorted()
    }

    #[test]
    fn an_order_is_right_or_wrong() {
        assert!(is_right(Order::Fifo, &[0, 0, 1, 1, 2, 2, 3, 3]));
        assert!(!is_right(Order::Fifo, &[0, 0, 2, 2, 1, 1, 3, 3]));
        assert!(!is_right(Order::Priority, &[0, 1, 0, 1, 2, 2, 3, 3]));
        assert!(!is_right(Order::Fifo, &[0, 0, 1, 1, 2, 2, 3]));
        assert!(is_right(Order::RoundRobin, &[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 3]));
        assert!(!is_right(Order::RoundRobin, &[0, 1, 2, 3]), "each ran to its end");
        assert!(!is_right(Order::RoundRobin, &[0, 1, 2, 3, 0, 2, 1, 3]));
    }

    #[test]
    fn threads_are_not_made_ready_by_priority() {
        let mut ready: Vec<usize> = (0..THREADS).map(|n| nth_ready(Order::Priority, n)).collect();
        assert!(!ready.is_sorted());
        ready.sort_unstable();
        assert_eq!(ready, [0, 1, 2, 3]);
    }
}
