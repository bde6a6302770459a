//! The result of a phase, and what makes it inconclusive.

use super::chain::Chain;
use super::engine::Engine;
use super::lane::Lane;
use crate::meter::{self, Collected, Part, Stop};
use punctual_measure::cut_short;
use punctual_model::{AppChain, Problem, ProblemKind};
use punctual_rt::monotonic;
use punctual_units::Nanos;
use std::sync::PoisonError;

/// A problem, and what it makes inconclusive.
struct Doubt {
    of: Of,
    problem: Problem,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    All,
    /// The values of this thread, and chains through it.
    Thread(i32),
    /// Only the values of this thread, because chains count such cycles themselves.
    Cycles(i32),
}

impl Doubt {
    fn new(of: Of, kind: ProblemKind, text: String) -> Doubt {
        Doubt { of, problem: Problem { kind, text } }
    }
}

impl Engine {
    /// Returns the results. `stopped` is how the phase was ended early, if it was.
    pub fn finish(mut self, stopped: Option<Stop>) -> Collected {
        let now = monotonic();
        let open = self.open();
        let mut doubts = self.doubts(stopped, now);
        doubts.extend(open.iter().filter_map(|(n, release)| self.unfinished(*n, *release, now)));
        self.chains.iter_mut().for_each(|chain| chain.follow(&self.lanes, true));
        let home = self.home();
        let mut parts: Vec<Part> = Vec::new();
        let mut state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = self.recorder.lost();
        for (n, lane) in self.lanes.into_iter().enumerate() {
            let tid = lane.learned.thread.tid;
            let (worst, _) = self.attribution.longest(tid);
            let is_idle = lost == 0 && is_alive(&lane) && !open.iter().any(|(other, _)| *other == n);
            let interrupt = |culprit| self.attribution.interrupt(culprit);
            let (mut own, totals) =
                lane.finish(worst, is_idle.then_some(now.0.min(self.recorder.stream.until_ns)), &interrupt);
            let touching = |doubt: &&Doubt| [Of::All, Of::Thread(tid), Of::Cycles(tid)].contains(&doubt.of);
            let problems = || doubts.iter().filter(touching).map(|doubt| doubt.problem.clone());
            own.iter_mut().for_each(|part| part.problems.extend(problems()));
            parts.extend(own);
            state.application.cycles.push(totals);
        }
        for chain in self.chains {
            let touching = |doubt: &&Doubt| match doubt.of {
                Of::All => true,
                Of::Thread(tid) => chain.has(tid),
                Of::Cycles(_) => false,
            };
            let problems: Vec<Problem> = doubts.iter().filter(touching).map(|doubt| doubt.problem.clone()).collect();
            let untraced = untraced(&chain);
            let (value, totals) = chain.finish();
            let mut part = value.part(home, None, meter::nothing(home));
            part.problems.extend(untraced.into_iter().chain(problems));
            parts.push(part);
            state.application.chains.push(totals);
        }
        for chain in self.marks {
            let (value, totals) = chain.finish();
            let mut part = value.part(home, None, meter::nothing(home));
            part.problems.extend(unanswered(&totals));
            part.problems.extend(doubts.iter().filter(|doubt| doubt.of == Of::All).map(|doubt| doubt.problem.clone()));
            parts.push(part);
            state.application.chains.push(totals);
        }
        drop(state);
        let missing = &self.recorder.missing;
        let notes =
            (!missing.is_empty()).then(|| format!("this kernel does not have the events {}", missing.join(", ")));
        let notes = notes.into_iter().chain(self.recorder.end()).collect();
        Collected { parts, end: self.end.min(now), cpu_ns: None, notes }
    }

    fn doubts(&self, stopped: Option<Stop>, now: Nanos) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        if let Some(why) = &self.failed {
            doubts.push(Doubt::new(Of::All, ProblemKind::Interrupted, why.clone()));
        }
        if let Some(why) = stopped {
            let problem =
                cut_short(why == Stop::User, now.saturating_sub(self.start), self.end.saturating_sub(self.start));
            doubts.push(Doubt { of: Of::All, problem });
        }
        let lost = self.recorder.lost();
        if lost > 0 {
            let text = format!(
                "{lost} kernel events were overwritten before they were read, so cycles are missing: this program got no CPU \
                 time for a while"
            );
            doubts.push(Doubt::new(Of::All, ProblemKind::Storage, text));
        }
        let broken = |lane: &Lane| self.attribution.longest(lane.learned.thread.tid).1;
        doubts.extend(self.lanes.iter().flat_map(|lane| of_lane(lane, broken(lane))));
        let state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<String> = state.unmeasured().into_iter().map(|thread| thread.name).collect();
        if !new.is_empty() {
            let text = format!(
                "{} became real-time after the cycles were determined and is not measured: start later with --after",
                new.join(", ")
            );
            doubts.push(Doubt::new(Of::All, ProblemKind::ApplicationChanged, text));
        }
        doubts
    }

    /// Handles a cycle that was released in the phase and has not ended. Returns the problem that it causes.
    fn unfinished(&mut self, lane: usize, release: u64, now: Nanos) -> Option<Doubt> {
        let lane = self.lanes.get_mut(lane)?;
        let (name, tid) = (lane.learned.thread.name.clone(), lane.learned.thread.tid);
        let interrupted = |text| Some(Doubt::new(Of::Thread(tid), ProblemKind::Interrupted, text));
        if !is_alive(lane) {
            return interrupted(format!("{name} ended while it was measured, in the middle of a cycle"));
        }
        let lasts = Nanos(now.0.saturating_sub(release));
        if lane.learned.thread.period_ns.is_some_and(|period| lasts > period) {
            lane.unfinished(release, now.0, self.attribution.unfinished(tid, now.0));
        }
        interrupted(format!("the last cycle of {name} had not ended after {lasts}"))
    }
}

fn of_lane(lane: &Lane, broken: u64) -> Vec<Doubt> {
    let (name, tid) = (&lane.learned.thread.name, lane.learned.thread.tid);
    let mut doubts = Vec::new();
    if broken > 0 {
        let text = format!("{broken} cycles of {name} were seen only in part and are not counted");
        doubts.push(Doubt::new(Of::Cycles(tid), ProblemKind::Storage, text));
    }
    if lane.unknown() > 0 {
        let text = format!(
            "{} cycles of {name} did not have to wait for their release: when it occurred is unknown, so their responses may \
             have been longer",
            lane.unknown()
        );
        doubts.push(Doubt::new(Of::Cycles(tid), ProblemKind::Storage, text));
    }
    let silent = lane.silence().map(|silent| format!("{name} had no cycle in the last {silent} of the phase"));
    let ended = (!is_alive(lane)).then(|| format!("{name} ended while it was measured"));
    doubts.extend(ended.or(silent).map(|text| Doubt::new(Of::Thread(tid), ProblemKind::Interrupted, text)));
    if let (Some(now), Some(before)) = (lane.changed_period(), lane.learned.thread.period_ns) {
        let text = format!(
            "the period of {name} was {before} when its cycles were determined and is {now} on average in this phase: start \
             later with --after"
        );
        doubts.push(Doubt::new(Of::Thread(tid), ProblemKind::ApplicationChanged, text));
    }
    doubts
}

fn untraced(chain: &Chain) -> Option<Problem> {
    let (unknown, chain) = chain.unknown()?;
    let text = format!(
        "{unknown} releases of the last thread of {chain} could not be followed back to the first thread: those passes may have been longer than the longest measured one"
    );
    Some(Problem { kind: ProblemKind::Storage, text })
}

/// Returns a problem if the end of some passes was not seen, because their latencies are unknown.
fn unanswered(totals: &AppChain) -> Option<Problem> {
    let AppChain { unanswered, chain, .. } = totals;
    let (first, last) = (chain.split(" > ").next()?, chain.rsplit(" > ").next()?);
    let text = format!(
        "{unanswered} marks {first} of {chain} did not lead to a mark {last}: those passes may have been longer than the longest measured one"
    );
    (*unanswered > 0).then_some(Problem { kind: ProblemKind::Storage, text })
}

fn is_alive(lane: &Lane) -> bool {
    let thread = &lane.learned.thread;
    punctual_watchdog::proc::Stat::of_thread(thread.pid, thread.tid).is_some_and(|stat| !stat.is_zombie())
}
