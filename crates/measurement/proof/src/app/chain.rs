//! Passes through chains of threads, in which each thread's cycle is released by the thread before it.

use super::lane::{Lane, Value};
use punctual_explain::{Closed, Released};
use punctual_measure::Cell;
use punctual_model::{AppChain, AppValue, Claim};
use punctual_rt::Wakeup;
use punctual_units::Nanos;
use std::collections::VecDeque;

/// Maximum number of ended cycles of a chain's last thread that wait for a cycle of an earlier thread to end.
const WAITING: usize = 4096;
/// Maximum number of long passes listed between two readings of the trace.
const BEYOND: usize = 64;

/// The passes through a chain of which both the beginning and the end are known.
pub(super) struct Passes {
    pub value: Value,
    from: u64,
    to: u64,
    /// The longest pass, ns.
    pub longest: u64,
    /// Passes of at least this length are also listed, ns.
    pub over: Option<u64>,
    /// Start and end of each listed pass.
    pub beyond: Vec<(u64, u64)>,
    pub totals: AppChain,
}

impl Passes {
    /// Creates empty totals. Only passes that begin in the phase, from `from` to `to`, will be counted.
    pub fn new(names: &[String], (from, to): (u64, u64), claims: &[Claim], keep: usize, load: &str) -> Passes {
        let totals = AppChain {
            load: load.to_owned(),
            chain: names.join(" > "),
            passes: 0,
            others: 0,
            unknown: 0,
            unanswered: 0,
        };
        let value = Value::new(AppValue::Chain(names.to_vec()), claims, keep, None);
        Passes { value, from, to, longest: 0, over: None, beyond: Vec::new(), totals }
    }

    pub fn counts(&self, begin: u64) -> bool {
        (self.from..self.to).contains(&begin)
    }

    pub fn passed(&mut self, begin: u64, end: u64) {
        if !self.counts(begin) {
            return;
        }
        let cell: &Cell = &self.value.cell;
        let wakeup = Wakeup { cycle: self.totals.passes, release: Nanos(begin), woke: Nanos(end), skipped: 0 };
        cell.record(&wakeup, u64::MAX);
        self.totals.passes += 1;
        let length = end.saturating_sub(begin);
        self.longest = self.longest.max(length);
        if self.over.is_some_and(|over| length >= over) && self.beyond.len() < BEYOND {
            self.beyond.push((begin, end));
        }
    }

    pub fn finish(self) -> (Value, AppChain) {
        (self.value, self.totals)
    }
}

pub(super) struct Chain {
    /// Thread IDs, from the first to the last thread of the chain.
    tids: Vec<i32>,
    pub passes: Passes,
    waiting: VecDeque<Pass>,
}

/// A release of the chain's last thread by the thread before it, and the end of the cycle that consumed the release.
#[derive(Clone, Copy)]
struct Pass {
    released: u64,
    end: u64,
}

/// The origins found by following a release back through the chain.
#[derive(Default)]
struct Found {
    /// Release times of the chain's first thread.
    first: Vec<u64>,
    /// Number of releases by threads outside the chain or by timers.
    others: u64,
    unknown: u64,
}

impl Chain {
    /// Creates a chain that counts the passes whose first thread was released in the phase. `None` if one of the named
    /// threads was not found.
    pub fn new(names: &[String], lanes: &[Lane], claims: &[Claim], keep: usize, load: &str) -> Option<Chain> {
        let of = |name: &String| lanes.iter().find(|lane| lane.learned.thread.name == *name);
        let tids = names.iter().map(|name| Some(of(name)?.learned.thread.tid)).collect::<Option<Vec<i32>>>()?;
        let passes = Passes::new(names, lanes.first()?.phase(), claims, keep, load);
        Some(Chain { tids, passes, waiting: VecDeque::new() })
    }

    pub fn has(&self, tid: i32) -> bool {
        self.tids.contains(&tid)
    }

    /// Returns the number of releases that could not be followed back, and the chain's name; `None` if there are none.
    pub fn unknown(&self) -> Option<(u64, &str)> {
        let totals = &self.passes.totals;
        (totals.unknown > 0).then_some((totals.unknown, totals.chain.as_str()))
    }

    pub fn last(&self) -> Option<i32> {
        self.tids.last().copied()
    }

    /// Called when a cycle of the last thread has ended.
    pub fn ended(&mut self, closed: &Closed) {
        let before = self.tids.iter().rev().nth(1).copied();
        for release in &closed.releases {
            let counts = u64::from(self.passes.counts(release.at_ns));
            match release.by {
                by if by.is_some() && by == before && self.waiting.len() < WAITING => {
                    self.waiting.push_back(Pass { released: release.at_ns, end: closed.end_ns });
                }
                by if by.is_none() || by == before => self.passes.totals.unknown += counts,
                _ => self.passes.totals.others += counts,
            }
        }
    }

    /// Follows the waiting passes as far as possible: the cycles of a thread are known only after they have ended.
    /// `last` means that there will be no more cycles.
    pub fn follow(&mut self, lanes: &[Lane], last: bool) {
        for _ in 0..self.waiting.len() {
            let Some(pass) = self.waiting.pop_front() else { return };
            let mut found = Found::default();
            let is_known = self.back(self.tids.len().saturating_sub(2), pass.released, lanes, &mut found);
            let counts = u64::from(self.passes.counts(pass.released));
            match is_known {
                true => {
                    self.passes.totals.others += found.others * counts;
                    self.passes.totals.unknown += found.unknown * counts;
                    found.first.into_iter().for_each(|first| self.passes.passed(first, pass.end));
                }
                false if last => self.passes.totals.unknown += counts,
                false => self.waiting.push_back(pass),
            }
        }
    }

    /// Follows a release by the thread at index `at` of the chain back to the first thread. Returns false if the cycle
    /// in which it occurred has not ended yet.
    fn back(&self, at: usize, released: u64, lanes: &[Lane], found: &mut Found) -> bool {
        let own = self.tids.get(at);
        let Some(lane) = lanes.iter().find(|lane| own == Some(&lane.learned.thread.tid)) else { return true };
        let next = lane.recent.partition_point(|cycle| cycle.end_ns < released);
        let Some(cycle) = lane.recent.get(next) else { return false };
        let is_within = cycle.release_ns <= released && cycle.is_known;
        let to = self.tids.get(at + 1).copied().unwrap_or(0);
        let Some(releases) = is_within.then(|| led(cycle, to, released)).flatten() else {
            found.unknown += 1;
            return true;
        };
        releases.iter().all(|release| match at.checked_sub(1) {
            None => {
                found.first.push(release.at_ns);
                true
            }
            Some(before) if release.by == self.tids.get(before).copied() => {
                self.back(before, release.at_ns, lanes, found)
            }
            Some(_) => {
                match release.by {
                    Some(_) => found.others += 1,
                    None => found.unknown += 1,
                }
                true
            }
        })
    }

    pub fn finish(self) -> (Value, AppChain) {
        self.passes.finish()
    }
}

/// Returns those releases consumed by a cycle that led to its release of thread `to` at time `at`. If it was released
/// as often as it released `to`, each led to one; otherwise, if all had occurred before it began, each led to all.
/// `None` if this is unknown.
fn led(cycle: &Closed, to: i32, at: u64) -> Option<&[Released]> {
    let all = cycle.releases.as_slice();
    let given = || cycle.given.iter().filter(|given| given.to == to);
    let number = given().filter(|given| given.at_ns <= at).count();
    match all {
        [_] => Some(all),
        _ if given().count() == all.len() => number.checked_sub(1).and_then(|at| all.get(at..=at)),
        _ => all.iter().all(|release| release.at_ns <= cycle.start_ns).then_some(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::lane::tests::{closed, lane_of};
    use punctual_explain::Given;

    const MS: u64 = 1_000_000;

    fn of(tid: i32, releases: &[(u64, i32)], end: u64, given: &[(u64, i32)]) -> Closed {
        let released = |(at_ns, by): &(u64, i32)| Released { at_ns: *at_ns, by: Some(*by) };
        let release = releases[0].0;
        Closed {
            tid,
            releases: releases.iter().map(released).collect(),
            is_timed: releases[0].1 == 0,
            given: given.iter().map(|(at_ns, to)| Given { at_ns: *at_ns, to: *to }).collect(),
            ..closed(release, end - release)
        }
    }

    /// Follows the chain of threads `a` (1), `b` (2) and `c` (3). Returns the longest pass, and the numbers of passes,
    /// of releases by others and of unknown releases.
    fn passes(cycles: &[Closed]) -> (u64, u64, u64, u64) {
        let mut lanes: Vec<Lane> = [("a", 1), ("b", 2), ("c", 3)].map(|(name, tid)| lane_of(name, tid)).into();
        let names = ["a", "b", "c"].map(String::from);
        let mut chain = Chain::new(&names, &lanes, &[], 16, "idle").unwrap();
        for cycle in cycles {
            if chain.last() == Some(cycle.tid) {
                chain.ended(cycle);
            }
            for lane in lanes.iter_mut().filter(|lane| lane.learned.thread.tid == cycle.tid) {
                lane.cycle(cycle.clone());
            }
            chain.follow(&lanes, false);
        }
        chain.follow(&lanes, true);
        let longest = chain.passes.longest;
        let totals = chain.finish().1;
        (longest, totals.passes, totals.others, totals.unknown)
    }

    #[test]
    fn a_pass_lasts_from_the_first_release_to_the_last_end() {
        let at = 12 * MS;
        let last = of(3, &[(at + 300_000, 2)], at + 400_000, &[]);
        let middle = of(2, &[(at + 100_000, 1)], at + 310_000, &[(at + 299_000, 3)]);
        let first = of(1, &[(at, 0)], at + 110_000, &[(at + 99_000, 2)]);
        // The last thread may end before the thread that released it.
        assert_eq!(passes(&[first.clone(), last.clone(), middle.clone()]), (400_000, 1, 0, 0));
        // Without a cycle of the middle thread the pass is unknown. A release by another thread is not a pass.
        assert_eq!(passes(&[first.clone(), last.clone()]), (0, 0, 0, 1));
        let other = of(3, &[(at + 300_000, 9)], at + 400_000, &[]);
        assert_eq!(passes(&[first, middle, other]), (0, 0, 1, 0));
    }

    /// The middle thread was released twice before it ran, and handled both releases in one cycle.
    #[test]
    fn releases_that_were_taken_at_once_are_passes_of_one_end() {
        let at = 12 * MS;
        let cycles = [
            of(1, &[(at, 0)], at + 110_000, &[(at + 99_000, 2)]),
            of(1, &[(at + MS, 0)], at + MS + 110_000, &[(at + MS + 99_000, 2)]),
            Closed {
                start_ns: at + MS + 200_000,
                ..of(2, &[(at + 100_000, 1), (at + MS + 99_000, 1)], at + MS + 300_000, &[(at + MS + 290_000, 3)])
            },
            of(3, &[(at + MS + 291_000, 2)], at + MS + 400_000, &[]),
        ];
        assert_eq!(passes(&cycles), (MS + 400_000, 2, 0, 0));
    }

    /// The middle thread checked for work again before it waited: it worked twice, and released the last thread twice.
    #[test]
    fn releases_that_were_taken_in_turn_are_passes_of_their_own() {
        let at = 12 * MS;
        let cycles = |given: &[(u64, i32)]| {
            [
                of(1, &[(at, 0)], at + 110_000, &[(at + 99_000, 2)]),
                of(1, &[(at + MS, 0)], at + MS + 110_000, &[(at + MS + 99_000, 2)]),
                of(2, &[(at + 100_000, 1), (at + MS + 99_000, 1)], at + MS + 300_000, given),
                of(3, &[(at + MS + 50_000, 2)], at + MS + 140_000, &[]),
                of(3, &[(at + MS + 290_000, 2)], at + MS + 400_000, &[]),
            ]
        };
        let both = [(at + MS + 49_000, 3), (at + MS + 289_000, 3)];
        assert_eq!(passes(&cycles(&both)), (MS + 140_000, 2, 0, 0));
        // If it released the last thread once in between, it is unknown which of its releases led to that.
        assert_eq!(passes(&cycles(&both[..1])), (0, 0, 0, 2));
    }
}
