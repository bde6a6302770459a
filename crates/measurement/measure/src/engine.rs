//! Starts and ends the measuring threads of one phase, and collects their results.

use crate::cell::Cell;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::thread::{self, Refusal, Shared, ThreadEnd};
use crate::woken::{self, Sent, SourceRefused};
use punctual_model::{Alignment, Problem, ProblemKind};
use punctual_rt::{Refused, monotonic};
use punctual_uapi as uapi;
use punctual_units::{CpuId, Nanos, WakeupSource};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

/// Why a phase could not start. Nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("{}", source.advised())]
    Refused { source: Refused },
    #[error(transparent)]
    Source(#[from] SourceRefused),
    #[error("cannot start the measuring thread for CPU {cpu}: {source}; see `ulimit -u` and pids.max of the cgroup")]
    Spawn { cpu: CpuId, source: std::io::Error },
}

pub struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Option<ThreadEnd>>>,
    senders: Vec<JoinHandle<Option<Sent>>>,
    /// CLOCK_MONOTONIC of the first recorded release.
    pub start: Nanos,
    /// CLOCK_MONOTONIC of the last release of the last thread.
    pub end: Nanos,
}

/// Starts one measuring thread per CPU. The threads apply their attributes and then wait for each other at a barrier.
/// If one fails, none measures.
///
/// # Errors
/// A thread could not be created, or could not get its policy, CPU or memory.
pub fn start(plan: Plan) -> Result<Running, EngineError> {
    start_threads(plan, false)
}

/// Like [`start`], but the threads read the clock continuously, as oslat does, instead of sleeping. Each interval
/// between two readings is a sample, and its length is the sample's latency; no sample is skipped. The period has no
/// meaning, and all threads start at the same time.
///
/// # Errors
/// Same as for [`start`].
pub fn start_polling(plan: Plan) -> Result<Running, EngineError> {
    start_threads(
        Plan { alignment: Alignment::Aligned, via: WakeupSource::Nanosleep, limits: Vec::new(), ..plan },
        true,
    )
}

fn start_threads(plan: Plan, polling: bool) -> Result<Running, EngineError> {
    let partners = woken::partners(&plan.via, plan.cpus.len(), plan.period)?;
    let shared = Arc::new(Shared::new(plan, partners, polling));
    let spawned = spawn(&shared, "measure", shared.plan.cpus.len(), thread::measure)
        .and_then(|threads| Ok((threads, spawn(&shared, "send", shared.partners.len(), thread::send)?)));
    // On an error, threads that were already created are cancelled and end.
    let (threads, senders) = spawned?;
    let start = match shared.begin() {
        Ok(start) => start,
        Err(refusal) => {
            threads.into_iter().for_each(|t| drop(t.join()));
            senders.into_iter().for_each(|t| drop(t.join()));
            return Err(match refusal {
                Refusal::Attributes(source) => EngineError::Refused { source },
                Refusal::Source(refused) => EngineError::Source(refused),
            });
        }
    };
    let lead = shared.plan.warmup + thread::offset(&shared.plan, shared.plan.cpus.len().saturating_sub(1));
    let end = start + lead + shared.plan.duration;
    Ok(Running { start: start + shared.plan.warmup, end, shared, threads, senders })
}

/// Creates a thread for each of the first `many` CPUs. If one cannot be created, cancels the rendezvous, so that all
/// others end.
fn spawn<T: Send + 'static>(
    shared: &Arc<Shared>,
    name: &str,
    many: usize,
    body: fn(&Shared, usize, CpuId) -> Option<T>,
) -> Result<Vec<JoinHandle<Option<T>>>, EngineError> {
    let mut threads = Vec::new();
    for (index, cpu) in shared.plan.cpus.iter().enumerate().take(many) {
        let mine = Arc::clone(shared);
        // Stack of 160 KiB: 32 KiB are locked for the loop; the rest is used only at the start and end.
        let builder = std::thread::Builder::new().name(format!("{name}/{cpu}")).stack_size(160 * 1024);
        match builder.spawn(move || body(&mine, index, cpu)) {
            Ok(handle) => threads.push(handle),
            Err(source) => {
                shared.meeting.cancel();
                threads.into_iter().for_each(|t: JoinHandle<Option<T>>| drop(t.join()));
                return Err(EngineError::Spawn { cpu, source });
            }
        }
    }
    Ok(threads)
}

impl Running {
    /// Returns the cells of the threads, which may be read while the threads run.
    pub fn cells(&self) -> Vec<(CpuId, Arc<Cell>)> {
        self.shared.plan.cpus.iter().zip(&self.shared.cells).map(|(cpu, cell)| (cpu, Arc::clone(cell))).collect()
    }

    /// Returns the thread IDs, in CPU order.
    pub fn tids(&self) -> Vec<(CpuId, i32)> {
        let tids = self.shared.tids.iter().map(|t| t.load(Relaxed));
        self.shared.plan.cpus.iter().zip(tids).collect()
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
        for (tid, sender) in self.shared.sender_tids.iter().zip(&self.senders) {
            if !sender.is_finished() {
                let _ = uapi::wake(tid.load(Relaxed));
            }
        }
    }

    /// Like [`Running::stop`], for a user who wants to start the next phase. The recording is complete, but because the
    /// user has seen the results, the phase can fail but cannot pass ([`ProblemKind::EndedEarly`]).
    pub fn end_early(&self) {
        self.shared.early.store(true, Relaxed);
        self.stop();
    }

    /// Asks the threads to end because the results suffice. Unlike with [`Running::stop`], no results count as missing.
    pub fn stop_with_enough(&self) {
        self.shared.enough.store(true, Relaxed);
        self.stop();
    }

    /// Returns true if all threads have finished measuring. They exit only in [`Running::collect`], so their counters
    /// in /proc can be read until then.
    pub fn finished(&self) -> bool {
        self.shared.done.load(Relaxed) == self.threads.len()
    }

    /// Collects the results. A thread that does not end after [`Running::stop`], because threads of higher priority
    /// leave it no CPU time, is abandoned: its results so far are used, and a problem is recorded for the phase.
    pub fn collect(self) -> Outcome {
        let mut outcome = Outcome {
            start: self.start,
            end: monotonic(),
            cpus: Vec::new(),
            distributions: Vec::new(),
            worst: Vec::new(),
            problems: Vec::new(),
            senders: Vec::new(),
            cpu_ns: 0,
            notes: Vec::new(),
        };
        let (stopped, finished) =
            (self.shared.stop.load(Relaxed) && !self.shared.enough.load(Relaxed), self.finished());
        let tids = self.tids();
        self.shared.meeting.cancel();
        let mut senders = self.senders.into_iter();
        for (index, thread) in self.threads.into_iter().enumerate() {
            // A thread that has finished only needs to leave the rendezvous.
            let ended = (finished || thread.is_finished()).then(|| thread.join().ok()).flatten().flatten();
            let (cpu, tid) = tids[index];
            let crowded = ended.as_ref().map_or(0, |end| end.remarks.crowded);
            outcome.add(&self.shared, index, cpu, tid, ended);
            // A sender ends after its receiver does.
            let sender = senders.next().filter(|sender| finished || sender.is_finished());
            if let Some(sent) = sender.and_then(|sender| sender.join().ok()).flatten() {
                outcome.add_sender(&self.shared.plan, cpu, sent, crowded);
            }
        }
        self.shared.partners.iter().for_each(|partner| outcome.add_link(partner));
        let by_user = self.shared.early.load(Relaxed);
        if by_user || stopped {
            let recorded = outcome.end.saturating_sub(outcome.start);
            outcome.problems.push(cut_short(by_user, recorded, self.shared.plan.duration));
        }
        outcome
    }
}

/// Returns the problem of a phase that ended early. `by_user` is true if the user saw its results first.
pub fn cut_short(by_user: bool, recorded: Nanos, planned: Nanos) -> Problem {
    match by_user {
        true => Problem {
            kind: ProblemKind::EndedEarly,
            text: format!(
                "{recorded} recorded of {planned}; the end was not fixed in advance, so a claim about a quantile can be refuted but not proven"
            ),
        },
        false => Problem {
            kind: ProblemKind::EndedEarly,
            text: format!("the phase was ended early: {recorded} recorded of {planned}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_units::{CpuList, Scheduling};
    use std::collections::BTreeMap;

    fn plan(ms: u64) -> Plan {
        Plan {
            phase: "1-idle".into(),
            cpus: uapi::affinity(0).unwrap(),
            scheduling: punctual_rt::granted_nice(Scheduling::Other { nice: 0 }),
            via: WakeupSource::default(),
            senders: CpuList::new(),
            groups: BTreeMap::new(),
            period: Nanos::from_millis(1),
            alignment: Alignment::Staggered,
            warmup: Nanos::from_millis(5),
            duration: Nanos::from_millis(ms),
            keep: 16,
            limits: Vec::new(),
            bell: None,
        }
    }

    #[test]
    #[ignore = "live: timing"]
    fn every_period_is_accounted_for() {
        let running = start(plan(100)).unwrap();
        while !running.finished() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let outcome = running.collect();
        assert_eq!(outcome.cpus.len(), uapi::affinity(0).unwrap().len());
        for cpu in &outcome.cpus {
            assert_eq!((cpu.released, cpu.skipped.map(|skipped| cpu.ran + skipped)), (Some(100), Some(100)));
            assert_eq!(cpu.page_faults, Some(0));
        }
        assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
    }

    #[test]
    #[ignore = "live: timing"]
    fn a_stop_ends_it_even_in_a_long_sleep() {
        uapi::install_wakeup().unwrap();
        let mut plan = plan(3_600_000);
        plan.period = Nanos::from_secs(600);
        plan.warmup = Nanos::ZERO;
        let running = start(plan).unwrap();
        let begun = std::time::Instant::now();
        while !running.finished() {
            running.stop();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(begun.elapsed().as_secs() < 5);
        let outcome = running.collect();
        assert_eq!(outcome.problems[0].kind, ProblemKind::Interrupted);
    }

    #[test]
    fn an_early_end_says_how_much_was_recorded() {
        let ends = [false, true].map(|by_user| cut_short(by_user, Nanos::from_secs(1), Nanos::from_secs(2)));
        for end in ends {
            assert_eq!(end.kind, ProblemKind::EndedEarly);
            assert!(end.text.contains("1.00 s recorded of 2.00 s"), "{}", end.text);
        }
    }

    #[test]
    #[ignore = "live: timing"]
    fn an_early_end_is_a_problem_of_its_own() {
        let outcome = ended_by(Running::end_early);
        let kinds: Vec<ProblemKind> = outcome.problems.iter().map(|problem| problem.kind).collect();
        assert_eq!(kinds, [ProblemKind::EndedEarly], "{:?}", outcome.problems);
        let text = &outcome.problems[0].text;
        assert!(text.contains(" recorded of ") && text.contains("not fixed in advance"), "{text}");
    }

    #[test]
    #[ignore = "live: timing"]
    fn a_phase_with_enough_is_not_cut_short() {
        let outcome = ended_by(Running::stop_with_enough);
        assert!(outcome.problems.is_empty() && outcome.notes.is_empty(), "{outcome:?}");
    }

    /// Returns the outcome of a phase that is planned for an hour and ended after 50 ms.
    fn ended_by(end: fn(&Running)) -> Outcome {
        uapi::install_wakeup().unwrap();
        let running = start(plan(3_600_000)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        while !running.finished() {
            end(&running);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let outcome = running.collect();
        for cpu in &outcome.cpus {
            assert!(cpu.ran > 10 && cpu.released == cpu.skipped.map(|skipped| cpu.ran + skipped), "{cpu:?}");
        }
        outcome
    }

    #[test]
    fn a_cpu_that_is_not_there_stops_all() {
        let mut plan = plan(100);
        // Uses a single valid CPU, because a thread would not start on a CPU that another test occupies.
        plan.cpus = plan.cpus.iter().take(1).chain([CpuId(8000)]).collect();
        let error = start(plan).err().unwrap().to_string();
        assert!(error.contains("CPU 8000") && error.contains("cpuset"), "{error}");
    }
}
