//! Moments at which the application is late: a single cycle or pass breaks a claim, or the program says so.

use crate::error::ProofError;
use punctual_model::{AppLate, AppThread, AppValue, Claim, LateBy, Quantity};
use punctual_trace::{Event, Kind};
use punctual_units::Nanos;
use std::collections::HashMap;

/// Prefix of the line with which a program reports that it is late.
const LINE: &str = "punctual: late";
/// Maximum length of NAME, characters; the rest is cut.
const NAME: usize = 64;
/// Maximum number of moments that are held until [`Breaches::take`] is called.
const WAITING: usize = 64;

/// A claim that a single value can break.
struct Bound {
    claim: String,
    value: AppValue,
    /// Values at or above this limit break the claim.
    from: u64,
    /// True if a release without a cycle breaks the claim as well.
    is_of_misses: bool,
}

/// The values of an ended cycle that may break a claim.
pub(super) struct Ended {
    pub release: u64,
    pub end: u64,
    pub ran: u64,
    pub jitter: Option<u64>,
    /// The thread's last release before this one, and the number of releases without a cycle since then.
    pub skipped: (u64, u64),
}

#[derive(Default)]
pub(super) struct Breaches {
    bounds: Vec<Bound>,
    found: Vec<AppLate>,
    /// Number of moments that were dropped because too many were waiting.
    left_out: u64,
    /// For each thread with a cycle that was reported as late before it had ended, the release time of that cycle, and
    /// the index of the broken claim.
    open: HashMap<i32, (u64, usize)>,
    /// Those cycles that have ended meanwhile.
    completed: Vec<AppLate>,
}

impl Breaches {
    /// Refuses claims that one cycle cannot break, which is known before the application is.
    ///
    /// # Errors
    /// A claim is about a share or a quantile.
    pub fn check(claims: &[Claim]) -> Result<(), ProofError> {
        let is_momentary = |claim: &Claim| match claim.quantity {
            Quantity::Max(_) => true,
            Quantity::NoneMissed => !matches!(claim.of, Some(AppValue::Chain(_))),
            _ => false,
        };
        claims.iter().find(|claim| !is_momentary(claim)).map_or(Ok(()), |claim| Err(no_moment(claim)))
    }

    /// # Errors
    /// One cycle cannot break the claim, as it is about a share or a quantile; there is no such thread.
    pub fn new(claims: &[Claim], threads: &[AppThread]) -> Result<Breaches, ProofError> {
        let bound = |claim: &Claim| {
            let value = claim.of.clone()?;
            let period = threads.iter().find(|thread| Some(&thread.name) == value.threads().first())?.period_ns;
            let (from, is_of_misses) = match claim.quantity {
                Quantity::Max(limit) => (limit.0, false),
                Quantity::NoneMissed => (period?.0 + 1, true),
                _ => return None,
            };
            Some(Bound { claim: claim.to_string(), value, from, is_of_misses })
        };
        let of_marks = |claim: &Claim| match (&claim.of, claim.quantity) {
            (Some(value @ AppValue::Chain(_)), Quantity::Max(limit)) => {
                Some(Bound { claim: claim.to_string(), value: value.clone(), from: limit.0, is_of_misses: false })
            }
            _ => None,
        };
        let mut bounds = Vec::new();
        for claim in claims {
            bounds.push(of_marks(claim).or_else(|| bound(claim)).ok_or_else(|| no_moment(claim))?);
        }
        Ok(Breaches { bounds, ..Breaches::default() })
    }

    /// Returns the shortest duration of a pass of the chain that breaks a claim; `None` if no claim is about the chain.
    pub fn least(&self, chain: &AppValue) -> Option<u64> {
        self.bounds.iter().filter(|bound| bound.value == *chain).map(|bound| bound.from).min()
    }

    pub fn cycle(&mut self, thread: &AppThread, ended: &Ended) {
        let Ended { release, end, ran, jitter, skipped } = *ended;
        let said = self.open.remove(&thread.tid).filter(|(of, _)| *of == release).map(|(_, bound)| bound);
        let mut found = Vec::new();
        let of_thread = |bound: &Bound| bound.value.threads().iter().eq([&thread.name]);
        for (at, bound) in self.bounds.iter().enumerate().filter(|(_, bound)| of_thread(bound)) {
            let value = match bound.value {
                AppValue::Response(_) => Some(end.saturating_sub(release)),
                AppValue::Cpu(_) => Some(ran),
                AppValue::Jitter(_) => jitter,
                AppValue::Chain(_) => None,
            };
            if let Some(value) = value.filter(|value| *value >= bound.from) {
                let late = broken(bound, Some(thread), Some(value), release, end);
                match said == Some(at) {
                    true => self.completed.push(AppLate { completes: true, ..late }),
                    false => found.push(late),
                }
            } else if bound.is_of_misses && skipped.1 > 0 {
                found.push(broken(bound, Some(thread), None, skipped.0, end));
            }
        }
        found.into_iter().for_each(|late| self.push(late));
    }

    /// Handles a cycle that has not ended at `now`. It is reported before its end only if it exceeds the limit by
    /// `patience`, because the events of the whole cycle explain more.
    pub fn running(&mut self, thread: &AppThread, release: u64, now: u64, patience: u64) {
        let response = now.saturating_sub(release);
        let is_late = |(_, bound): &(usize, &Bound)| {
            matches!(&bound.value, AppValue::Response(name) if *name == thread.name)
                && response >= bound.from.saturating_add(patience)
        };
        let Some((at, bound)) = self.bounds.iter().enumerate().find(is_late) else { return };
        if self.open.get(&thread.tid).is_none_or(|(of, _)| *of != release) {
            self.open.insert(thread.tid, (release, at));
            let late = broken(bound, Some(thread), Some(response), release, now);
            self.push(AppLate { is_open: true, ..late });
        }
    }

    /// Handles a completed pass of a chain.
    pub fn pass(&mut self, chain: &AppValue, begin: u64, end: u64) {
        let length = end.saturating_sub(begin);
        let found: Vec<AppLate> = self
            .bounds
            .iter()
            .filter(|bound| bound.value == *chain && length >= bound.from)
            .map(|bound| broken(bound, None, Some(length), begin, end))
            .collect();
        found.into_iter().for_each(|late| self.push(late));
    }

    pub fn push(&mut self, late: AppLate) {
        match self.found.len() < WAITING {
            true => self.found.push(late),
            false => self.left_out += 1,
        }
    }

    /// Returns the cycles that have ended since the last call and had been reported before. There is at most one for
    /// each thread and reported moment.
    pub fn completed(&mut self) -> Vec<AppLate> {
        std::mem::take(&mut self.completed)
    }

    /// Returns the moments since the last call, and the number of moments that were dropped.
    pub fn take(&mut self) -> (Vec<AppLate>, u64) {
        (std::mem::take(&mut self.found), std::mem::take(&mut self.left_out))
    }
}

fn no_moment(claim: &Claim) -> ProofError {
    ProofError::Usage(format!(
        "`{claim}`: the moment at which it breaks is not that of one cycle; claims for watch are of the form \
         response(THREAD) < 800us, late(THREAD) = 0, jitter, cpu or chain(A > B) < 2ms"
    ))
}

fn broken(bound: &Bound, thread: Option<&AppThread>, value: Option<u64>, release: u64, at: u64) -> AppLate {
    AppLate {
        by: LateBy::Claim,
        at_mono_ns: at,
        thread: thread.map(|thread| thread.name.clone()),
        tid: thread.map(|thread| thread.tid),
        name: None,
        claim: Some(bound.claim.clone()),
        value_ns: value.map(Nanos),
        release_mono_ns: Some(release),
        is_open: false,
        completes: false,
    }
}

/// Returns the thread that reports that it is late, and NAME of its line `punctual: late NAME`, of which the first 64
/// characters are kept.
pub(super) fn said(event: &Event) -> Option<(i32, Option<String>)> {
    let Kind::Print { text } = &event.kind else { return None };
    let rest = text.lines().next()?.trim_end().strip_prefix(LINE)?;
    let name = match rest.strip_prefix(char::is_whitespace) {
        Some(name) => Some(name.trim()).filter(|name| !name.is_empty()),
        None if rest.is_empty() => None,
        None => return None,
    };
    let cut = |name: &str| match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    };
    Some((event.tid?, name.map(cut)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::lane::tests::lane_of;
    use crate::app::marks::tests::event;

    const MS: u64 = 1_000_000;

    fn thread() -> AppThread {
        lane_of("control", 7).learned.thread
    }

    fn breaches(claims: &[&str]) -> Breaches {
        let claims: Vec<Claim> = claims.iter().map(|claim| claim.parse().unwrap()).collect();
        Breaches::new(&claims, &[thread()]).unwrap()
    }

    fn ended(release: u64, response: u64) -> Ended {
        Ended { release, end: release + response, ran: response / 2, jitter: Some(0), skipped: (0, 0) }
    }

    fn found(breaches: &mut Breaches) -> Vec<(String, Option<u64>, u64, bool)> {
        let of = |late: AppLate| (late.claim.unwrap(), late.value_ns.map(|ns| ns.0), late.at_mono_ns, late.is_open);
        breaches.take().0.into_iter().map(of).collect()
    }

    #[test]
    fn a_value_at_the_limit_breaks_a_claim_and_one_below_does_not() {
        let mut all = breaches(&["response(control) < 800us", "cpu(control) < 500us", "jitter(control) < 50us"]);
        all.cycle(&thread(), &ended(MS, 799_999));
        assert!(found(&mut all).is_empty());
        all.cycle(&thread(), &ended(2 * MS, 800_000));
        assert_eq!(found(&mut all), [("response(control) < 800us".into(), Some(800_000), 2_800_000, false)]);
        all.cycle(&thread(), &Ended { jitter: Some(60_000), ..ended(3 * MS, 1_100_000) });
        let values: Vec<Option<u64>> = found(&mut all).into_iter().map(|one| one.1).collect();
        assert_eq!(values, [Some(1_100_000), Some(550_000), Some(60_000)]);
        all.cycle(&AppThread { name: "other".into(), ..thread() }, &ended(4 * MS, 5 * MS));
        assert!(found(&mut all).is_empty());
    }

    #[test]
    fn late_is_longer_than_the_period_or_without_a_cycle() {
        let mut all = breaches(&["late(control) = 0"]);
        all.cycle(&thread(), &ended(MS, MS));
        assert!(found(&mut all).is_empty());
        all.cycle(&thread(), &ended(2 * MS, MS + 1));
        all.cycle(&thread(), &Ended { skipped: (3 * MS, 2), ..ended(6 * MS, MS / 2) });
        let said: Vec<_> = found(&mut all).into_iter().map(|one| (one.1, one.2)).collect();
        assert_eq!(said, [(Some(MS + 1), 3 * MS + 1), (None, 6 * MS + MS / 2)]);
    }

    #[test]
    fn a_cycle_that_does_not_end_is_said_once() {
        let mut all = breaches(&["response(control) < 800us"]);
        all.running(&thread(), MS, 10 * MS, 10 * MS);
        assert!(found(&mut all).is_empty(), "it may end soon");
        all.running(&thread(), MS, 12 * MS, 10 * MS);
        all.running(&thread(), MS, 13 * MS, 10 * MS);
        all.cycle(&thread(), &ended(MS, 20 * MS));
        assert_eq!(found(&mut all), [("response(control) < 800us".into(), Some(11 * MS), 12 * MS, true)]);
        let completed = all.completed();
        assert_eq!((completed.len(), completed[0].completes, completed[0].at_mono_ns), (1, true, 21 * MS));
        assert_eq!((completed[0].value_ns, completed[0].release_mono_ns), (Some(Nanos(20 * MS)), Some(MS)));
        all.cycle(&thread(), &ended(30 * MS, 2 * MS));
        assert!(all.completed().is_empty() && found(&mut all).len() == 1, "it was not said before its end");
    }

    #[test]
    fn a_cycle_that_was_said_for_one_limit_breaks_the_larger_one_at_its_end() {
        let mut all = breaches(&["response(control) < 800us", "response(control) < 15ms"]);
        all.running(&thread(), MS, 12 * MS, 10 * MS);
        all.cycle(&thread(), &ended(MS, 20 * MS));
        let claims: Vec<(String, bool)> = found(&mut all).into_iter().map(|one| (one.0, one.3)).collect();
        assert_eq!(claims, [("response(control) < 800us".into(), true), ("response(control) < 15ms".into(), false)]);
        assert_eq!(all.completed().len(), 1);
    }

    #[test]
    fn passes_break_the_claims_of_their_chain() {
        let mut all = breaches(&["chain(sampled > applied) < 2ms"]);
        let chain = |text: &str| text.parse::<AppValue>().unwrap();
        assert_eq!(all.least(&chain("chain(sampled > applied)")), Some(2 * MS));
        all.pass(&chain("chain(sampled > applied)"), MS, 4 * MS);
        all.pass(&chain("chain(a > b)"), MS, 4 * MS);
        assert_eq!(found(&mut all).len(), 1);
    }

    #[test]
    fn claims_about_shares_are_refused_and_a_storm_is_bounded() {
        for claim in ["p99 response(control) < 1ms", "late(control) <= 3 per 1e6", "late(nobody) = 0"] {
            assert!(Breaches::new(&[claim.parse().unwrap()], &[thread()]).is_err(), "{claim}");
        }
        // Claims that do not depend on the application are refused before it starts.
        let is_refused = |claim: &str| Breaches::check(&[claim.parse().unwrap()]).is_err();
        assert!(is_refused("p99 response(control) < 1ms") && is_refused("late(control) <= 3 per 1e6"));
        assert!(!is_refused("late(nobody) = 0") && !is_refused("chain(a > b) < 2ms") && !is_refused("cpu(a) < 1ms"));
        let mut all = breaches(&["late(control) = 0"]);
        (0..100).for_each(|n| all.cycle(&thread(), &ended(n * 10 * MS, 2 * MS)));
        let (taken, left_out) = all.take();
        assert_eq!((taken.len(), left_out), (WAITING, 100 - WAITING as u64));
    }

    #[test]
    fn the_line_of_a_program_is_recognised() {
        let of = |text: &str| said(&event(text));
        assert_eq!(of("punctual: late\n"), Some((7, None)));
        assert_eq!(of("punctual: late axis_2\n"), Some((7, Some("axis_2".into()))));
        assert_eq!(of("punctual: late\taxis"), Some((7, Some("axis".into()))));
        let long = of(&format!("punctual: late {}", "\u{e4}".repeat(1000))).unwrap().1.unwrap();
        assert_eq!((long.chars().count(), long.ends_with('…')), (NAME + 1, true));
        for other in ["late", "punctual: later", "punctual: latency 5", "x punctual: late"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
