//! The cycles of an application under one load.

use super::chain::Chain;
use super::lane::Lane;
use super::learn::Learned;
use super::recorder::Recorder;
use super::{Shared, calls_of};
use crate::capture::fair_server;
use crate::error::ProofError;
use crate::meter::{self, Collected, Meter, Part, Stop};
use punctual_check::is_real_time;
use punctual_explain::{Attribution, ExplainOptions};
use punctual_measure::{Cell, Plan, cut_short};
use punctual_model::{AppValue, Claim, Problem, ProblemKind};
use punctual_rt::monotonic;
use punctual_uapi as uapi;
use punctual_units::{CpuId, Nanos, Scheduling};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval at which the trace is read.
const EVERY: Duration = Duration::from_millis(20);
/// Interval at which the meter checks whether reading has failed.
const LOOK: Nanos = Nanos::from_millis(200);
/// Length of a block of time for claims about quantiles.
const BLOCK: Nanos = Nanos::from_secs(5);
/// Number of longest cycles kept per thread.
const LONGEST: usize = 32;
/// Time allowed after the phase for cycles released in it to end.
const PATIENCE: Nanos = Nanos::from_millis(500);

pub(super) struct AppMeter {
    start: Nanos,
    end: Nanos,
    value: Option<(AppValue, Option<Nanos>)>,
    cells: Vec<(CpuId, Arc<Cell>)>,
    stopped: Option<Stop>,
    flags: Arc<Flags>,
    thread: Option<JoinHandle<Engine>>,
}

#[derive(Default)]
struct Flags {
    stop: AtomicBool,
    /// All cycles of the phase have ended, or reading failed.
    done: AtomicBool,
    failed: AtomicBool,
}

/// Reads the events and accounts for the cycles, in a thread of its own.
struct Engine {
    shared: Shared,
    start: Nanos,
    end: Nanos,
    recorder: Recorder,
    attribution: Attribution,
    lanes: Vec<Lane>,
    chains: Vec<Chain>,
    next_block: Nanos,
    failed: Option<String>,
}

/// # Errors
/// The kernel's events cannot be recorded, or no thread can be started.
pub(super) fn start(shared: &Shared, plan: &Plan, claims: &[Claim], load: &str) -> Result<Box<dyn Meter>, ProofError> {
    let state = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let mut attribution = Attribution::new(ExplainOptions { most: LONGEST, ..ExplainOptions::default() });
    state.learned.iter().for_each(|learned| attribution.follow(learned.thread.tid, learned.awaited.clone()));
    let facts = attribution.facts();
    facts.guest = state.machine.guest;
    facts.kernel.clone_from(&state.machine.kernel);
    facts.rt_group_sched = state.machine.rt_group_sched;
    facts.fair_server = fair_server();
    let only_real_time = state.learned.iter().all(|learned| is_real_time(learned.thread.scheduling));
    let recorder = Recorder::start(&calls_of(&state.learned), only_real_time)?;
    let start = monotonic() + Nanos::from_millis(2) + plan.warmup;
    let end = start + plan.duration;
    let lane = |learned: &Learned| Lane::new(learned.clone(), claims, plan.keep, (start, end), load);
    let lanes: Vec<Lane> = state.learned.iter().map(lane).collect();
    drop(state);
    let mut names: Vec<&Vec<String>> = claims
        .iter()
        .filter_map(|claim| match &claim.of {
            Some(AppValue::Chain(names)) => Some(names),
            _ => None,
        })
        .collect();
    names.sort();
    names.dedup();
    let chains = names.into_iter().filter_map(|names| Chain::new(names, &lanes, claims, plan.keep, load)).collect();
    let first = lanes.first();
    let value = first.map(|lane| (lane.response.value.clone(), lane.learned.thread.period_ns));
    let cells = first.map(|lane| (CpuId(0), Arc::clone(&lane.response.cell))).into_iter().collect();
    let (shared, next_block) = (Arc::clone(shared), start + BLOCK);
    let engine = Engine { shared, start, end, recorder, attribution, lanes, chains, next_block, failed: None };
    let flags = Arc::new(Flags::default());
    let own = Arc::clone(&flags);
    let thread = std::thread::Builder::new()
        .name("cycles".into())
        .spawn(move || engine.run(&own))
        .map_err(|e| ProofError::Environment(format!("cannot start the thread that reads the trace: {e}")))?;
    Ok(Box::new(AppMeter { start, end, value, cells, stopped: None, flags, thread: Some(thread) }))
}

impl Engine {
    /// Runs until the phase is over and its cycles have ended, or until it is stopped.
    fn run(mut self, flags: &Flags) -> Engine {
        // Beside loads of ordinary threads the buffers would run over. If it is refused, lost events are counted.
        let _ = uapi::set_scheduling(0, Scheduling::Other { nice: -20 }, false);
        loop {
            // What was recorded until it is stopped counts, also if this thread got no CPU time for a while.
            let is_stopped = flags.stop.load(Relaxed);
            self.failed = self.take().err();
            flags.failed.store(self.failed.is_some(), Relaxed);
            let until = self.recorder.stream.until_ns;
            let is_over = until >= self.end.0 && self.is_settled() || until >= (self.end + PATIENCE).0;
            if is_over || is_stopped || self.failed.is_some() {
                flags.done.store(true, Relaxed);
                return self;
            }
            std::thread::sleep(EVERY);
        }
    }

    fn take(&mut self) -> Result<(), String> {
        let events = self.recorder.take()?;
        for event in &events {
            for (tid, policy) in self.recorder.stream.policies(event) {
                self.attribution.facts().policies.insert(tid, policy);
            }
            self.attribution.event(event, self.recorder.stream.info());
        }
        for closed in self.attribution.closed() {
            for chain in self.chains.iter_mut().filter(|chain| chain.last() == Some(closed.tid)) {
                chain.ended(&closed);
            }
            if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.learned.thread.tid == closed.tid) {
                lane.cycle(closed);
            }
        }
        self.chains.iter_mut().for_each(|chain| chain.follow(&self.lanes, false));
        let now = monotonic();
        if now >= self.next_block {
            self.lanes.iter_mut().for_each(Lane::blocks);
            let home = self.home();
            self.chains.iter_mut().for_each(|chain| chain.value.block(home));
            self.next_block = now + BLOCK;
        }
        let mut state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match state.program.ended() {
            Some(how) => Err(format!("the application ended while it was measured: {how}")),
            None => Ok(()),
        }
    }

    /// What was released in the phase has ended, also at the ends of chains.
    fn is_settled(&self) -> bool {
        let longest = self.chains.iter().map(|chain| chain.longest).max().unwrap_or(0);
        self.open().is_empty() && self.recorder.stream.until_ns >= self.end.0.saturating_add(2 * longest)
    }

    fn home(&self) -> CpuId {
        self.lanes.first().map_or(CpuId(0), Lane::home)
    }

    /// Cycles released in the phase that have not ended.
    fn open(&self) -> Vec<(usize, u64)> {
        let open = |(n, lane): (usize, &Lane)| {
            let release = self.attribution.open_since(lane.learned.thread.tid)?;
            lane.counts(release).then_some((n, release))
        };
        self.lanes.iter().enumerate().filter_map(open).collect()
    }

    fn problems(&self, stopped: Option<Stop>, now: Nanos) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |kind, text: String| problems.push(Problem { kind, text });
        if let Some(why) = &self.failed {
            add(ProblemKind::Interrupted, why.clone());
        }
        if let Some(why) = stopped {
            let Problem { kind, text } =
                cut_short(why == Stop::User, now.saturating_sub(self.start), self.end.saturating_sub(self.start));
            add(kind, text);
        }
        let lost = self.recorder.lost();
        if lost > 0 {
            let text = format!(
                "{lost} kernel events were overwritten before they were read, so cycles are missing: this program got no CPU \
                 time for a while"
            );
            add(ProblemKind::Storage, text);
        }
        for lane in &self.lanes {
            let (_, broken) = self.attribution.longest(lane.learned.thread.tid);
            if broken > 0 {
                let name = &lane.learned.thread.name;
                add(
                    ProblemKind::Storage,
                    format!("{broken} cycles of {name} were seen only in part and are not counted"),
                );
            }
        }
        for lane in &self.lanes {
            let name = &lane.learned.thread.name;
            if lane.unknown() > 0 {
                let text = format!(
                    "{} cycles of {name} did not have to wait for their release: when it occurred is unknown, so their responses may have been longer",
                    lane.unknown()
                );
                add(ProblemKind::Storage, text);
            }
            match (is_alive(lane), lane.silence()) {
                (false, _) => add(ProblemKind::Interrupted, format!("{name} ended while it was measured")),
                (true, Some(silent)) => {
                    add(ProblemKind::Interrupted, format!("{name} had no cycle in the last {silent} of the phase"));
                }
                (true, None) => {}
            }
        }
        let state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<String> = state.unmeasured().into_iter().map(|thread| thread.name).collect();
        if !new.is_empty() {
            let text = format!(
                "{} became real-time after the cycles were determined and is not measured: start later with --after",
                new.join(", ")
            );
            add(ProblemKind::Storage, text);
        }
        problems
    }

    fn finish(mut self, stopped: Option<Stop>) -> Collected {
        let now = monotonic();
        let mut problems = self.problems(stopped, now);
        let open = self.open();
        for (n, release) in &open {
            let (n, release) = (*n, *release);
            let Some(lane) = self.lanes.get_mut(n) else { continue };
            if !is_alive(lane) {
                let name = &lane.learned.thread.name;
                let text = format!("{name} ended while it was measured, in the middle of a cycle");
                problems.push(Problem { kind: ProblemKind::Interrupted, text });
                continue;
            }
            let lasts = Nanos(now.0.saturating_sub(release));
            let name = &lane.learned.thread.name;
            let text = format!("the last cycle of {name} had not ended after {lasts}");
            if lane.learned.thread.period_ns.is_some_and(|period| lasts > period) {
                lane.unfinished(release, now.0);
            }
            problems.push(Problem { kind: ProblemKind::Interrupted, text });
        }
        self.chains.iter_mut().for_each(|chain| chain.follow(&self.lanes, true));
        let home = self.home();
        let mut parts: Vec<Part> = Vec::new();
        let mut state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = self.recorder.lost();
        for (n, lane) in self.lanes.into_iter().enumerate() {
            let (worst, _) = self.attribution.longest(lane.learned.thread.tid);
            let is_idle = lost == 0 && is_alive(&lane) && !open.iter().any(|(other, _)| *other == n);
            let (own, totals) = lane.finish(worst, is_idle.then_some(now.0));
            parts.extend(own);
            state.application.cycles.push(totals);
        }
        for chain in self.chains {
            let (value, totals) = chain.finish();
            let mut part = value.part(home, None, meter::nothing(home));
            if totals.unknown > 0 {
                let text = format!(
                    "{} releases of the last thread of {} could not be followed back to the first: they may be longer",
                    totals.unknown, totals.chain
                );
                part.problems.push(Problem { kind: ProblemKind::Storage, text });
            }
            parts.push(part);
            state.application.chains.push(totals);
        }
        drop(state);
        parts.iter_mut().for_each(|part| part.problems.extend_from_slice(&problems));
        let missing = &self.recorder.missing;
        let notes =
            (!missing.is_empty()).then(|| format!("this kernel does not have the events {}", missing.join(", ")));
        let notes = notes.into_iter().chain(self.recorder.end()).collect();
        Collected { parts, end: self.end.min(now), cpu_ns: None, notes }
    }
}

fn is_alive(lane: &Lane) -> bool {
    let thread = &lane.learned.thread;
    punctual_watchdog::proc::Stat::of_thread(thread.pid, thread.tid).is_some_and(|stat| !stat.is_zombie())
}

impl Meter for AppMeter {
    fn start(&self) -> Nanos {
        self.start
    }

    fn end(&self) -> Nanos {
        self.end
    }

    fn value(&self) -> Option<(AppValue, Option<Nanos>)> {
        self.value.clone()
    }

    fn cells(&self) -> Vec<(CpuId, Arc<Cell>)> {
        self.cells.clone()
    }

    fn tick(&self) -> Option<Nanos> {
        Some(LOOK)
    }

    fn step(&mut self) -> Result<(), String> {
        match self.flags.failed.load(Relaxed) {
            true => Err("the application or its trace ended".into()),
            false => Ok(()),
        }
    }

    fn stop(&mut self, why: Stop) {
        if monotonic() < self.end {
            self.stopped.get_or_insert(why);
        }
        self.flags.stop.store(true, Relaxed);
    }

    fn finished(&self) -> bool {
        self.flags.done.load(Relaxed)
    }

    fn collect(mut self: Box<Self>) -> Collected {
        self.flags.stop.store(monotonic() >= self.end + PATIENCE || self.stopped.is_some(), Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(engine)) => engine.finish(self.stopped),
            _ => Collected { end: self.end.min(monotonic()), ..Collected::default() },
        }
    }
}
