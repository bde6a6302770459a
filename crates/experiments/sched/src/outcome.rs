//! The result of a pass: times, accounts, and the differences that the prediction leaves unexplained.

use crate::account::{Accounts, Class, Watched};
use crate::body::Body;
use crate::joined::coarse;
use crate::pass::{Ended, Passed};
use crate::plan::{Beside, PlanThread};
use crate::run::Fitted;
use punctual_directory::Dir;
use punctual_model::{Experiment, Outcome, Prediction, RanThread, Repetition, RtLimit, Taken, TimeAccount};
use punctual_units::{Nanos, Policy};
use punctual_workloads::Image;

/// Number of parts into which a drawing divides the time.
const PARTS: u64 = 1000;

pub(crate) struct Folded {
    pub repetition: Repetition,
    pub untraced: Option<String>,
    pub edges: Option<Image>,
}

impl Folded {
    /// Ends a pass, and saves the trace as `name` in `dir`.
    pub fn new(fitted: &Fitted, passed: Passed, dir: &Dir, name: &str) -> Folded {
        let Passed { start, releaser, threads, trace: traced } = passed;
        let pairs = threads.iter().zip(&fitted.plan.threads);
        let always = fitted.plan.system.limit.as_ref().is_some_and(|limit| limit.always);
        let watched: Vec<Watched> = pairs.map(|(ended, plan)| watched(ended, plan, always)).collect();
        let accounts = match traced {
            Ok(tracing) => {
                let accounts =
                    tracing.end(dir, name, &watched, releaser, start.0).and_then(|known| settled(known, &threads));
                accounts.map_err(|why| (why, Vec::new()))
            }
            Err(untraced) => Err(untraced),
        };
        let (accounts, untraced, sampled) = match accounts {
            Ok(accounts) => (Some(accounts), None, Vec::new()),
            Err((why, spans)) => (None, Some(why), spans),
        };
        let as_charged = as_charged(fitted, &threads, accounts.as_ref());
        let ran: Vec<RanThread> = threads
            .iter()
            .enumerate()
            .map(|(n, ended)| ran(n, ended, start, accounts.as_ref(), &threads, as_charged[n]))
            .collect();
        let problems = problems(fitted, &threads);
        let accounts = accounts.unwrap_or_else(|| Accounts { spans: sampled, ..Accounts::default() });
        let repetition = Repetition {
            start_mono_ns: start.0,
            threads: ran,
            spans: coarse(&accounts.spans, PARTS),
            held: accounts.held,
            others: accounts.others,
            problems,
        };
        let edges = threads.into_iter().find_map(|ended| ended.edges);
        Folded { repetition, untraced, edges }
    }
}

/// Resolves unclear intervals of a trace by means of the kernel's counters.
fn settled(mut accounts: Accounts, threads: &[Ended]) -> Result<Accounts, String> {
    for (n, (spent, ended)) in accounts.spent.iter_mut().zip(threads).enumerate() {
        if !spent.settle(n, ended.schedstat_wait.map(|wait| wait.0)) {
            return Err(
                "switches are missing from the trace, and /proc/thread-self/schedstat, which contains the wait times, cannot be read (CONFIG_SCHED_INFO)"
                    .into(),
            );
        }
    }
    Ok(accounts)
}

fn watched(ended: &Ended, plan: &PlanThread, always_throttled: bool) -> Watched {
    let class = match plan.scheduling.policy() {
        Policy::Fifo | Policy::Rr if always_throttled => Class::Throttled,
        Policy::Fifo | Policy::Rr => Class::RealTime,
        Policy::Deadline => Class::Deadline,
        Policy::Other | Policy::Batch | Policy::Idle => Class::Ordinary,
    };
    Watched { tid: ended.tid, from: ended.released.0, to: ended.done.end.0, class }
}

/// Maximum relative difference between the CPU time that decides when a thread ends and the CPU time charged to it.
const CHARGED: f64 = 0.001;

/// Repeats the prediction with measured values: the CPU time charged to each thread, the time stolen while it had the
/// CPU, the CPU time of other tasks, and the phase of the period of RT throttling.
fn as_charged(fitted: &Fitted, threads: &[Ended], accounts: Option<&Accounts>) -> Vec<Prediction> {
    let of = |(n, ended): (usize, &Ended)| {
        let spent = accounts.and_then(|accounts| accounts.spent.get(n));
        let charged = ended.done.charged;
        let on_cpu = spent.map_or(charged, |spent| Nanos(spent.on_cpu).max(charged));
        let body = fitted.as_run(n, on_cpu, spent.map(|spent| Nanos(spent.slept)));
        (body, charged.0 as f64 / on_cpu.0.max(1) as f64)
    };
    let (bodies, shares): (Vec<Body>, Vec<f64>) = threads.iter().enumerate().map(of).unzip();
    let foreign = accounts.map_or(&[][..], |accounts| &accounts.foreign);
    let start = accounts.and_then(|accounts| accounts.period);
    let phase = |limit: &RtLimit| Some(start?.saturating_neg().rem_euclid(limit.period_ns.0.max(1).cast_signed()));
    let phase = fitted
        .plan
        .system
        .limit
        .as_ref()
        .filter(|limit| limit.always)
        .and_then(phase)
        .map(|ns| Nanos(ns.cast_unsigned()));
    fitted.plan.predict(&bodies, &shares, CHARGED, Beside { phase, foreign })
}

fn ran(
    n: usize,
    ended: &Ended,
    start: Nanos,
    accounts: Option<&Accounts>,
    threads: &[Ended],
    as_charged: Prediction,
) -> RanThread {
    let done = &ended.done;
    let (account, taken) = match accounts {
        Some(accounts) => (traced(n, ended, accounts), Some(taken(n, accounts, threads))),
        None => (untraced(ended), None),
    };
    RanThread {
        tid: ended.tid,
        whole: done.whole,
        released_ns: ended.released.saturating_sub(start),
        begins_ns: done.first.saturating_sub(ended.released),
        workload_ns: done.end.saturating_sub(done.first),
        elapsed_ns: done.end.saturating_sub(ended.released),
        charged_ns: done.charged,
        page_faults: ended.page_faults,
        account,
        as_charged,
        taken,
        worst_response_ns: Some(done.worst_response).filter(|worst| worst.0 > 0),
    }
}

fn traced(n: usize, ended: &Ended, accounts: &Accounts) -> TimeAccount {
    let spent = &accounts.spent[n];
    TimeAccount {
        run_ns: ended.done.charged,
        wait_ns: Some(Nanos(spent.waited)),
        blocked_ns: Some(Nanos(spent.slept)),
        steal_ns: Some(Nanos(spent.on_cpu.saturating_sub(ended.done.charged.0))),
        schedstat_wait_ns: ended.schedstat_wait,
        machine_steal_ns: ended.machine_steal,
    }
}

/// Returns the account of a thread without a trace, in which steal and sleep cannot be distinguished.
fn untraced(ended: &Ended) -> TimeAccount {
    TimeAccount {
        run_ns: ended.done.charged,
        wait_ns: ended.schedstat_wait,
        blocked_ns: None,
        steal_ns: None,
        schedstat_wait_ns: ended.schedstat_wait,
        machine_steal_ns: ended.machine_steal,
    }
}

/// Returns the delays of thread `n`: the tasks outside the experiment that it waited for, and the time stolen from its
/// CPU while any thread of the experiment, including `n`, had it.
fn taken(n: usize, accounts: &Accounts, threads: &[Ended]) -> Taken {
    let of = |(other, behind): (usize, &u64)| {
        let spent = &accounts.spent[other];
        let stolen = spent.on_cpu.saturating_sub(threads[other].done.charged.0);
        stolen as f64 * (*behind as f64 / spent.on_cpu.max(1) as f64)
    };
    let spent = &accounts.spent[n];
    let steal: f64 = spent.behind.iter().enumerate().map(of).sum();
    Taken { steal_ns: Nanos(steal as u64), others_ns: Nanos(spent.others) }
}

fn problems(fitted: &Fitted, threads: &[Ended]) -> Vec<String> {
    let problem = |(ended, plan): (&Ended, &PlanThread)| match (&ended.done.failed, ended.done.whole) {
        (Some(e), _) => Some(format!("{} ended early: {e}", plan.name)),
        (None, false) => Some(format!("{} was stopped before its work was done", plan.name)),
        (None, true) => None,
    };
    threads.iter().zip(&fitted.plan.threads).filter_map(problem).collect()
}

/// Returns pass if in every repetition the run, wait, sleep and steal times of every thread add up to its elapsed time
/// and the prediction explains its end. Fail if this is not the case for a thread. Inconclusive if a required value was
/// not measured, or a response time exceeded its bound, so that the analysis does not apply to the run.
pub fn outcome(experiment: &Experiment) -> Outcome {
    let threads: Vec<&RanThread> = experiment.repetitions.iter().flat_map(|one| &one.threads).collect();
    let whole = !threads.is_empty() && !experiment.interrupted && threads.iter().all(|thread| thread.whole);
    let of = |thread: &&RanThread| Some(thread.is_accounted()? && thread.is_explained()?);
    let all: Vec<Option<bool>> = threads.iter().map(of).collect();
    match whole {
        true if all.contains(&Some(false)) => Outcome::Fail,
        true if beyond(experiment) => Outcome::Inconclusive,
        true if all.iter().all(|one| *one == Some(true)) => Outcome::Pass,
        _ => Outcome::Inconclusive,
    }
}

fn beyond(experiment: &Experiment) -> bool {
    let mut pairs = experiment.repetitions.iter().flat_map(|one| experiment.threads.iter().zip(&one.threads));
    pairs.any(|(planned, ran)| planned.bound_ns.zip(ran.worst_response_ns).is_some_and(|(b, w)| w > b))
}
