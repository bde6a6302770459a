//! Measures all loads in rounds until every claim is decided. Each round lasts about an eighth of the time measured
//! before it, and the claims are checked after each round. Order and length of the rounds are random, so that no
//! periodic event can repeatedly fall outside the measurement of a load.

use punctual_judge as judge;
use punctual_measure::Cell;
use punctual_model::{Claim, CpuResult, EndedBy, Judged, Look, Quantity, Recording, Verdict};
use punctual_stats::{SplitMix64, confidence_at_look};
use punctual_units::Nanos;

/// Determines how long each load is measured in each round. As the statistical bounds require, this does not depend on
/// the measured values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Measurement time of one load in the first round.
    first: Nanos,
    /// Maximum measurement time of one load in all rounds.
    max: Nanos,
    /// Minimum length of a round: one period.
    least: Nanos,
    seed: u64,
    /// Time for which each load has been measured so far.
    pub done: Nanos,
}

impl Schedule {
    /// Creates the schedule of a run with this number of loads. Without `max` it has a single round.
    pub fn new(duration: Nanos, max: Option<Nanos>, period: Nanos, loads: usize, seed: u64) -> Schedule {
        let share = |all: Nanos| Nanos(all.0 / loads.max(1) as u64);
        Schedule { first: share(duration), max: share(max.unwrap_or(duration)), least: period, seed, done: Nanos::ZERO }
    }

    /// Returns the measurement time of one load in the next round: `first` in the first round, later an eighth of the
    /// time measured so far, varied randomly by up to a quarter. `None` if no round remains.
    pub fn slice(&self) -> Option<Nanos> {
        let left = self.max.saturating_sub(self.done);
        let usual = self.first.0.max(self.done.0 / 8);
        let wanted =
            if self.done == Nanos::ZERO { usual } else { (usual as f64 * (0.75 + 0.5 * self.draw().uniform())) as u64 };
        // A short remainder is added to this round.
        let slice = if left.0 <= wanted.saturating_add(wanted / 2) { left } else { Nanos(wanted) };
        (slice >= self.least).then_some(slice)
    }

    /// Returns a generator that yields the same values throughout a round, but different values in each round.
    fn draw(&self) -> SplitMix64 {
        SplitMix64::new(self.seed ^ self.done.0)
    }

    /// Returns the order of the loads in the next round. The first round has the given order.
    pub fn order(&self, loads: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..loads).collect();
        if self.done > Nanos::ZERO {
            self.draw().shuffle(&mut order);
        }
        order
    }

    fn after(mut self) -> Option<Schedule> {
        self.done = self.done + self.slice()?;
        Some(self)
    }

    /// Returns the total measurement time of one load after `ahead` more rounds; `None` if there are fewer rounds.
    fn ahead(&self, ahead: u64) -> Option<Nanos> {
        (0..ahead).try_fold(*self, |schedule, _| schedule.after()).map(|schedule| schedule.done)
    }

    /// Returns the number of bytes that a load may write in the next round: the remaining amount in proportion to the
    /// time, and a small minimum.
    pub fn allowance(&self, left: u64) -> u64 {
        const LITTLE: u64 = 16 << 20;
        let time = self.max.saturating_sub(self.done).0.max(1);
        let slice = self.slice().map_or(0, |slice| slice.0).min(time);
        let share = (u128::from(left) * u128::from(slice) / u128::from(time)) as u64;
        share.max(LITTLE).min(left)
    }
}

pub(crate) struct Seen {
    pub look: Look,
    pub verdict: Verdict,
    /// Why a longer measurement cannot decide any open claim; `None` if it can.
    pub hopeless: Option<String>,
}

/// Judges the claims as if the run ended now, and records this check.
pub(crate) fn look(kept: &mut Recording, claims: &[Claim], mono_ns: u64) -> Seen {
    let before = (kept.run.complete, kept.run.ended_by.take());
    let mut look = Look { mono_ns, measured_ns: measured(kept), open: Vec::new() };
    kept.run.looks.push(look.clone());
    (kept.run.complete, kept.run.ended_by) = (true, Some(EndedBy::Duration));
    let verdict = judge::judge(kept, claims);
    (kept.run.complete, kept.run.ended_by) = before;
    let number = kept.run.looks.len() as u64;
    let is_open = |judged: &&Judged| judge::is_open(judged) || !judge::decides_at(&judged.claim, number);
    look.open = verdict.claims.iter().filter(is_open).map(|j| j.claim.clone()).collect();
    if let Some(last) = kept.run.looks.last_mut() {
        last.open.clone_from(&look.open);
    }
    // A run with problems can never pass. The same holds for a claim if a stall longer than the declared one was
    // observed.
    let doubt = verdict.problems.first().map(|(_, problem)| problem.text.clone());
    let exceeded = |judged: &&Judged| judge::is_open(judged) && judged.cells.iter().any(|cell| cell.stall_exceeded);
    let hopeless = doubt.or_else(|| {
        let judged = verdict.claims.iter().find(exceeded)?;
        Some(format!("`{}`: longer stalls than declared were observed; declare the longest with @stall", judged.claim))
    });
    Seen { look, verdict, hopeless }
}

/// Returns the measurement time of all loads, computed from the number of released periods.
fn measured(kept: &Recording) -> Nanos {
    let released = kept.run.phases.iter().map(|p| p.cpus.iter().map(CpuResult::scored).max().unwrap_or(0));
    Nanos(released.fold(0, u64::saturating_add).saturating_mul(kept.run.settings.period_ns.unwrap_or_default().0))
}

/// Returns the additional time that measuring `loads` loads, each with `warmup`, will take until all claims are
/// decided, provided that the machine behaves as before. `None` if it exceeds the remaining time.
pub(crate) fn left(seen: &Seen, look: u64, schedule: &Schedule, loads: usize, warmup: Nanos) -> Option<Nanos> {
    let done = schedule.done;
    let growth = |at: u64| Some(schedule.ahead(at - look)?.0 as f64 / (done.0 as f64).max(1.0));
    let at = judge::expected_look(&seen.verdict, look, growth)?;
    let more = schedule.ahead(at - look)?.saturating_sub(done);
    let of_one = more.0.saturating_add(warmup.0.saturating_mul(at - look));
    Some(Nanos(of_one.saturating_mul(loads as u64)))
}

/// Returns the claims that a single wakeup can refute, which ends the run immediately. Returns none while other claims
/// are open.
pub(crate) fn refutable(claims: &[Claim], looks: &[Look]) -> Vec<Claim> {
    let undecided = match looks.last() {
        Some(look) => look.open.iter().any(|claim| !judge::is_of_observed(claim)),
        None => claims.iter().any(|claim| !judge::is_of_observed(claim)),
    };
    if undecided { Vec::new() } else { claims.iter().filter(|claim| judge::is_of_observed(claim)).cloned().collect() }
}

/// Returns true if the measurement so far refutes one of these claims.
pub(crate) fn is_refuted(claims: &[Claim], deadline: Option<Nanos>, cell: &Cell) -> bool {
    let worst = cell.worst();
    claims.iter().any(|claim| worst.iter().any(|w| judge::is_refuted_by(claim, deadline, Nanos(w.latency), w.skipped)))
}

#[derive(Clone, Copy)]
pub(crate) enum Why<'a> {
    /// A wakeup refuted a claim, and no other claim was open.
    Refuted,
    /// A longer measurement cannot decide the open claims, for this reason.
    Hopeless(&'a str),
    /// All claims are decided, the time has elapsed, or the run was ended early.
    Other,
}

/// Returns notes on how the run ended, and on the number of checks.
pub(crate) fn notes(kept: &Recording, claims: &[Claim], max: Nanos, why: Why) -> Vec<String> {
    let looks = &kept.run.looks;
    let Some(last) = looks.last() else { return Vec::new() };
    let open: Vec<String> = last.open.iter().map(|claim| format!("`{claim}`")).collect();
    let after = last.measured_ns;
    let how = match why {
        Why::Refuted => format!("ended at once, after {after}, because a wakeup refuted a claim"),
        Why::Hopeless(why) => {
            format!("ended after {after} because measuring longer could not have decided {}: {why}", open.join(", "))
        }
        Why::Other if open.is_empty() => format!("every claim was decided after {after} of measurement"),
        Why::Other => format!("{} undecided after {after}", open.join(", ")),
    };
    let mut notes = vec![format!("measured until decided, for {max} at most: {how}")];
    let k = looks.len() as u64;
    let quantiles = claims.iter().filter(|claim| matches!(claim.quantity, Quantity::Quantile { .. }));
    notes.push(match quantiles.map(|claim| claim.confidence).reduce(f64::min) {
        Some(sure) => format!(
            "checks of the claims: {k}; shares and episodes are valid at any of them; a quantile is checked only at the 1st, 2nd, 4th, 8th … check, with the confidence 1 − α·6/(π²n²) instead of 1 − α (after ten of them {} instead of {})",
            percent(confidence_at_look(sure, 10)),
            percent(sure)
        ),
        None => format!("checks of the claims: {k}; the evidence is valid at any of them"),
    });
    if claims.iter().all(judge::is_of_observed) {
        notes.push(
            "these claims concern only the observed wakeups, so they hold until refuted: claim a probability, for example \
             `P(>100us) < 1e-6`, to have the run made long enough for one"
                .into(),
        );
    }
    notes
}

fn percent(confidence: f64) -> String {
    let text = format!("{:.5}", confidence * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slices(mut schedule: Schedule) -> Vec<u64> {
        let mut all = Vec::new();
        while let Some(slice) = schedule.slice() {
            all.push(slice.0);
            schedule.done = schedule.done + slice;
        }
        all
    }

    #[test]
    fn rounds_grow_slowly_and_are_drawn_at_random() {
        let ms = Nanos::from_millis;
        let schedule = |seed| Schedule::new(ms(200), Some(ms(60_000)), ms(1), 2, seed);
        let (one, other) = (slices(schedule(1)), slices(schedule(2)));
        assert!(one[0] == ms(100).0 && one[1..].iter().zip(&other[1..]).any(|(a, b)| a != b), "{one:?} {other:?}");
        let mut done = 0;
        for slice in &one[..one.len() - 1] {
            let usual = (done / 8).max(ms(100).0) as f64;
            assert!(done == 0 || (0.75 * usual..=1.25 * usual).contains(&(*slice as f64)), "{slice} after {done}");
            done += slice;
        }
        assert_eq!(slices(Schedule::new(ms(200), None, ms(1), 2, 1)), [100_000_000]);
        let mut later = schedule(1);
        assert_eq!(later.order(5), [0, 1, 2, 3, 4]);
        let orders: std::collections::BTreeSet<Vec<usize>> = (1..50)
            .map(|n| {
                later.done = ms(n);
                later.order(5)
            })
            .collect();
        assert!(orders.len() > 20, "{orders:?}");
    }

    #[test]
    fn looks_come_only_while_claims_of_observations_are_all() {
        let claims: Vec<Claim> = ["max < 1ms", "P(>1ms) < 1e-3"].map(|t| t.parse().unwrap()).to_vec();
        assert!(refutable(&claims, &[]).is_empty());
        assert_eq!(refutable(&claims[..1], &[]).len(), 1);
        let mut look = Look { mono_ns: 0, measured_ns: Nanos(1), open: vec![claims[1].clone()] };
        assert!(refutable(&claims, std::slice::from_ref(&look)).is_empty());
        look.open.clear();
        assert_eq!(refutable(&claims, &[look]), [claims[0].clone()]);
    }

    proptest! {
        #[test]
        fn rounds_use_what_there_is(first in 1u64..1_000_000, more in 0u64..1_000_000_000, loads in 1usize..9) {
            let (duration, max) = (Nanos(first * loads as u64), Nanos((first + more) * loads as u64));
            let schedule = Schedule::new(duration, Some(max), Nanos(1), loads, more);
            let slices = slices(schedule);
            prop_assert_eq!(slices.iter().sum::<u64>(), first + more);
            prop_assert!(slices.len() <= 300);
            prop_assert_eq!(schedule.ahead(slices.len() as u64), Some(Nanos(first + more)));
            prop_assert_eq!(schedule.ahead(slices.len() as u64 + 1), None);
        }

        #[test]
        fn the_cap_holds_over_all_rounds(cap in 0u64..1 << 34, first in 1u64..1_000_000, more in 0u64..1_000_000_000) {
            let mut schedule = Schedule::new(Nanos(first), Some(Nanos(first + more)), Nanos(1), 1, cap);
            let mut left = cap;
            while let Some(slice) = schedule.slice() {
                let allowed = schedule.allowance(left);
                prop_assert!(allowed <= left);
                left -= allowed;
                schedule.done = schedule.done + slice;
            }
        }
    }
}
