//! Reads the events of an application and accounts for the cycles of its threads, in a separate thread.

use super::breach::{self, Breaches};
use super::chain::{Chain, Passes};
use super::lane::Lane;
use super::learn::Learned;
use super::marks::{Mark, MarkChain};
use super::program::Program;
use super::recorder::Recorder;
use super::{Shared, calls_of, usdt};
use crate::capture::fair_server;
use crate::error::ProofError;
use punctual_check::is_real_time;
use punctual_explain::{Attribution, ExplainOptions};
use punctual_model::{AppLate, AppValue, Claim, LateBy};
use punctual_rt::monotonic;
use punctual_trace::{Event, Kind};
use punctual_uapi as uapi;
use punctual_units::{CpuId, Nanos, Scheduling};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Interval at which the trace is read.
pub(super) const EVERY: Duration = Duration::from_millis(20);
/// Length of a block of time for claims about quantiles.
const BLOCK: Nanos = Nanos::from_secs(5);
/// Number of longest cycles kept per thread.
const LONGEST: usize = 32;
/// Time allowed after the phase for cycles released in it to end.
pub(super) const PATIENCE: Nanos = Nanos::from_millis(500);

/// Number of recent cycles that are kept for each thread, so that those that were late can be explained.
pub(super) const REMEMBERED: usize = 512;
/// Maximum number of threads for which it is remembered whether they belong to the application.
const WRITERS: usize = 4096;

/// The interval in which cycles are counted.
pub(super) struct Span {
    /// Time from the start of recording to the first counted release.
    pub warmup: Nanos,
    pub duration: Nanos,
    /// Number of the largest values to keep.
    pub keep: usize,
}

/// The moments before which events are kept.
pub(super) struct Keeps {
    pub breaches: Breaches,
    pub window: Nanos,
}

#[derive(Default)]
pub(super) struct Flags {
    pub stop: AtomicBool,
    /// True if all cycles of the phase have ended, or reading failed.
    pub done: AtomicBool,
    pub failed: AtomicBool,
}

pub(super) struct Engine {
    pub shared: Shared,
    pub start: Nanos,
    pub end: Nanos,
    pub recorder: Recorder,
    pub attribution: Attribution,
    pub lanes: Vec<Lane>,
    pub chains: Vec<Chain>,
    pub marks: Vec<MarkChain>,
    writers: Writers,
    next_block: Nanos,
    pub keeps: Option<Keeps>,
    pub failed: Option<String>,
}

/// For each thread that made a mark, true if it belongs to the application.
#[derive(Default)]
struct Writers(HashMap<i32, bool>);

impl Writers {
    fn is_own(&mut self, tid: i32, shared: &Shared) -> bool {
        if self.0.len() >= WRITERS {
            self.0.clear();
        }
        *self.0.entry(tid).or_insert_with(|| {
            let state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            state.programs.iter().flat_map(Program::threads).any(|thread| thread.tid == tid)
        })
    }
}

impl Engine {
    /// Starts recording. The phase begins after the warm-up that `plan` specifies.
    ///
    /// # Errors
    /// The kernel's events cannot be recorded.
    pub fn new(
        shared: &Shared,
        span: &Span,
        claims: &[Claim],
        load: &str,
        keeps: Option<Keeps>,
    ) -> Result<Engine, ProofError> {
        let state = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut attribution = Attribution::new(ExplainOptions { most: LONGEST, ..ExplainOptions::default() });
        state.learned.iter().for_each(|learned| attribution.follow(learned.thread.tid, learned.awaited.clone()));
        let facts = attribution.facts();
        facts.guest = state.machine.guest;
        facts.kernel.clone_from(&state.machine.kernel);
        facts.rt_group_sched = state.machine.rt_group_sched;
        facts.fair_server = fair_server();
        let mut names: Vec<&Vec<String>> = claims
            .iter()
            .filter_map(|claim| match &claim.of {
                Some(AppValue::Chain(names)) => Some(names),
                _ => None,
            })
            .collect();
        names.sort();
        names.dedup();
        let is_thread = |name: &String| state.learned.iter().any(|learned| learned.thread.name == *name);
        let (threads, marks): (Vec<&Vec<String>>, Vec<&Vec<String>>) =
            names.into_iter().partition(|names| names.iter().all(is_thread));
        let only_real_time = state.learned.iter().all(|learned| is_real_time(learned.thread.scheduling));
        let is_written = |point: &String| !usdt::is_probe(point);
        let with_marks = keeps.is_some() || marks.iter().any(|names| names.iter().any(is_written));
        let mut recorder = Recorder::start(&calls_of(&state.learned), only_real_time, with_marks, &state.sites)?;
        if let Some(keeps) = &keeps {
            recorder.hold(keeps.window);
            attribution.remember(REMEMBERED);
        }
        let start = monotonic() + Nanos::from_millis(2) + span.warmup;
        let end = start + span.duration;
        let lane = |learned: &Learned| Lane::new(learned.clone(), claims, span.keep, (start, end), load);
        let mut lanes: Vec<Lane> = state.learned.iter().map(lane).collect();
        drop(state);
        let tids: Vec<i32> = lanes.iter().map(|lane| lane.learned.thread.tid).collect();
        lanes.iter_mut().for_each(|lane| lane.beside(tids.clone()));
        let mut chains: Vec<Chain> =
            threads.into_iter().filter_map(|names| Chain::new(names, &lanes, claims, span.keep, load)).collect();
        let mark_chain = |names: &Vec<String>| MarkChain::new(names, (start.0, end.0), claims, span.keep, load);
        let mut marks: Vec<MarkChain> = marks.into_iter().map(mark_chain).collect();
        if let Some(keeps) = &keeps {
            passes(&mut chains, &mut marks).for_each(|passes| passes.over = keeps.breaches.least(&passes.value.value));
        }
        let (shared, next_block) = (Arc::clone(shared), start + BLOCK);
        Ok(Engine {
            shared,
            start,
            end,
            recorder,
            attribution,
            lanes,
            chains,
            marks,
            writers: Writers::default(),
            next_block,
            keeps,
            failed: None,
        })
    }

    /// Runs until the phase is over and its cycles have ended, or until it is stopped.
    pub fn run(mut self, flags: &Flags) -> Engine {
        // With ordinary loads on the same CPU the buffers would overflow. If the nice value is refused, lost events are
        // counted.
        let _ = uapi::set_scheduling(0, Scheduling::Other { nice: -20 }, false);
        loop {
            // Everything recorded before the stop counts, even if this thread got no CPU time for a while.
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

    /// Accounts for the events up to now.
    ///
    /// # Errors
    /// The trace cannot be read, or a program ended.
    pub fn take(&mut self) -> Result<(), String> {
        let events = self.recorder.take()?;
        for event in &events {
            for (tid, policy) in self.recorder.stream.policies(event) {
                self.attribution.facts().policies.insert(tid, policy);
            }
            self.attribution.event(event, self.recorder.stream.info());
            self.mark(event);
        }
        for closed in self.attribution.closed() {
            for chain in self.chains.iter_mut().filter(|chain| chain.last() == Some(closed.tid)) {
                chain.ended(&closed);
            }
            let Some(lane) = self.lanes.iter_mut().find(|lane| lane.learned.thread.tid == closed.tid) else { continue };
            let ended = lane.cycle(closed);
            if let Some(keeps) = self.keeps.as_mut().filter(|_| lane.counts(ended.release)) {
                keeps.breaches.cycle(&lane.learned.thread, &ended);
            }
        }
        self.chains.iter_mut().for_each(|chain| chain.follow(&self.lanes, false));
        let half = self.keeps.as_ref().map_or(0, |keeps| keeps.window.0 / 2);
        self.look_at_running(half);
        let now = monotonic();
        if now >= self.next_block {
            self.lanes.iter_mut().for_each(Lane::blocks);
            let home = self.home();
            self.chains.iter_mut().for_each(|chain| chain.passes.value.block(home));
            self.marks.iter_mut().for_each(|chain| chain.passes.value.block(home));
            self.next_block = now + BLOCK;
        }
        let mut state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = state.programs.iter_mut().find_map(|program| Some((program.ended()?, program.name.clone())));
        match ended {
            Some((how, name)) => Err(format!("{name} ended while it was measured: {how}")),
            None => Ok(()),
        }
    }

    /// Reports running cycles that have already taken too long by `patience`, ns, and ended passes that took too long.
    pub fn look_at_running(&mut self, patience: u64) {
        let Some(Keeps { breaches, .. }) = &mut self.keeps else { return };
        let until = self.recorder.stream.until_ns;
        for lane in &self.lanes {
            let thread = &lane.learned.thread;
            let running = self.attribution.running_since(thread.tid).filter(|release| lane.counts(*release));
            if let Some(release) = running {
                breaches.running(thread, release, until, patience);
            }
        }
        for passes in passes(&mut self.chains, &mut self.marks) {
            passes.beyond.drain(..).for_each(|(begin, end)| breaches.pass(&passes.value.value, begin, end));
        }
    }

    /// Passes a mark of the application to the chains that have it as a point. If the mark says that the program is
    /// late, records this moment.
    fn mark(&mut self, event: &Event) {
        if matches!(event.kind, Kind::LostEvents { .. }) {
            self.marks.iter_mut().for_each(MarkChain::forget);
        }
        let said = breach::said(event).filter(|_| self.keeps.is_some());
        let mark = Mark::of(event, self.recorder.marks()).filter(|_| !self.marks.is_empty());
        let is_own = |tid: &i32| self.writers.is_own(*tid, &self.shared);
        let Some(tid) = event.tid.filter(|_| said.is_some() || mark.is_some()).filter(is_own) else { return };
        if let Some((_, mark)) = mark {
            self.marks.iter_mut().for_each(|chain| chain.mark(&mark, event.t_ns));
        }
        let followed = self.lanes.iter().map(|lane| &lane.learned.thread).find(|thread| thread.tid == tid);
        let comm = || event.comm.map(|comm| comm.to_string());
        let thread = followed.map(|thread| thread.name.clone()).or_else(comm);
        if let (Some((_, name)), Some(keeps)) = (said, &mut self.keeps) {
            keeps.breaches.push(AppLate {
                by: LateBy::Program,
                at_mono_ns: event.t_ns,
                thread,
                tid: Some(tid),
                name,
                claim: None,
                value_ns: None,
                release_mono_ns: None,
                is_open: false,
                completes: false,
            });
        }
    }

    /// Returns true if all cycles and passes that were released in the phase have ended.
    fn is_settled(&self) -> bool {
        let longest = self.chains.iter().map(|chain| chain.passes.longest).max().unwrap_or(0);
        let is_answered = self.marks.iter().all(|chain| chain.open() == 0);
        is_answered && self.open().is_empty() && self.recorder.stream.until_ns >= self.end.0.saturating_add(2 * longest)
    }

    pub fn home(&self) -> CpuId {
        self.lanes.first().map_or(CpuId(0), Lane::home)
    }

    /// Returns the cycles that were released in the phase and have not ended: index of the lane, and release time, ns.
    pub fn open(&self) -> Vec<(usize, u64)> {
        let open = |(n, lane): (usize, &Lane)| {
            let release = self.attribution.open_since(lane.learned.thread.tid)?;
            lane.counts(release).then_some((n, release))
        };
        self.lanes.iter().enumerate().filter_map(open).collect()
    }
}

fn passes<'a>(chains: &'a mut [Chain], marks: &'a mut [MarkChain]) -> impl Iterator<Item = &'a mut Passes> {
    chains.iter_mut().map(|chain| &mut chain.passes).chain(marks.iter_mut().map(|chain| &mut chain.passes))
}
