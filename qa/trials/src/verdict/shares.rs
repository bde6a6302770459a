//! Tests claims about shares: how often a verdict is wrong when the true share equals the limit, and how long a
//! decision takes.

use super::recorded::{Judge, LIMIT, MINUTE, PERIOD, judged};
use super::source::{Arrivals, Counts, Event, Sizes, Source, Track};
use super::{Rates, Row, Runs};
use punctual_judge::shortest;
use punctual_model::{Claim, Outcome, Quantity};
use punctual_stats::SplitMix64;
use punctual_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Last minute at which a run is judged; it is judged every minute until then.
const HORIZON: u64 = 12 * 60;
/// Length of runs for which the horizon is too short, as a multiple of the shortest time in which the claim can pass.
const LONG_ENOUGH: u64 = 8;
const SHARES: [f64; 2] = [1e-6, 1e-4];
/// Number of releases in twelve hours at 1 kHz.
const TWELVE_HOURS: f64 = 43.2e6;
/// Number of releases in fourteen minutes at 1 kHz.
const FOURTEEN_MINUTES: u64 = 840_000;

/// Returns disturbances that make this share of the releases late, each with its name and the longest stall to declare,
/// in releases.
fn sources(share: f64) -> Vec<(String, Source, u64)> {
    let of = |name: &str, sizes: Sizes| {
        (name.to_owned(), Source { sizes, arrivals: Arrivals::Random, every: 1, share }, sizes.most())
    };
    let constant = |size: u64| of(&format!("clusters of {size}"), Sizes::Constant(size));
    let every_fifth = of("every 5th for a second", Sizes::Constant(200));
    let periodic = Sizes::Constant(((FOURTEEN_MINUTES as f64 * share).round() as u64).max(1));
    let periodic = of("every 14 min", periodic);
    vec![
        of("independent", Sizes::Constant(1)),
        constant(8),
        constant(50),
        constant(200),
        of("geometric, mean 8, at most 80", Sizes::Geometric { mean: 8.0, most: 80 }),
        of("90 % of 1, 10 % of 71", Sizes::Mixed { usual: 1, most: 71, share: 0.1 }),
        of("Pareto 1.5, at most 200", Sizes::Pareto { exponent: 1.5, most: 200 }),
        (every_fifth.0, Source { every: 5, ..every_fifth.1 }, 1_001),
        of("one burst in 12 h", Sizes::Constant((TWELVE_HOURS * share).round() as u64)),
        (periodic.0, Source { arrivals: Arrivals::Every(FOURTEEN_MINUTES), ..periodic.1 }, periodic.2),
    ]
}

/// Returns the claim. The number of releases that a disturbance makes late exceeds its length in periods by at most
/// one.
fn claim(p: f64, stall: u64) -> Claim {
    Claim {
        quantity: Quantity::Exceedance { limit: LIMIT, p },
        of: None,
        confidence: 0.95,
        stall: (stall > 1).then(|| Nanos(stall * PERIOD.0)),
    }
}

fn minutes(claim: &Claim, times: u64) -> u64 {
    shortest(claim, PERIOD).map_or(0, |time| (time.0 * times).div_ceil(60_000_000_000))
}

pub fn rows(runs: &Runs) -> Vec<Row> {
    let mut rows = Vec::new();
    for p in SHARES {
        for (name, source, stall) in sources(p) {
            let claim = claim(p, stall);
            let name = format!("P < {p:e}, {name}");
            let fixed = minutes(&claim, 2).max(60);
            rows.extend(runs.row(&name, &format!("{fixed} min"), 1, || {
                errors(runs, &claim, fixed, |judge, random, end| at_end(judge, source, end, random))
            }));
            let end = minutes(&claim, LONG_ENOUGH).max(HORIZON);
            rows.extend(runs.row(&name, &format!("until {end} min"), 1, || {
                errors(runs, &claim, end, |judge, random, end| {
                    decided(judge, source, end, random).map_or(Outcome::Inconclusive, |(_, outcome)| outcome)
                })
            }));
        }
    }
    let independent = Source { sizes: Sizes::Constant(1), arrivals: Arrivals::Random, every: 1, share: SHARES[0] };
    for cells in [24, 56] {
        let name = format!("P < {:e}, independent", SHARES[0]);
        rows.extend(runs.row(&name, &format!("until {HORIZON} min"), cells, || {
            errors(runs, &claim(SHARES[0], 1), HORIZON, |judge, random, end| {
                decided_together(judge, independent, cells, end, random)
            })
        }));
    }
    rows.extend(times(runs));
    rows.extend(power(runs));
    rows.extend(none_late(runs));
    rows.extend(one_sample(runs));
    rows
}

/// Returns how often runs end with a decision if the share of their source equals the limit.
fn errors(
    runs: &Runs,
    claim: &Claim,
    end: u64,
    outcome: impl Fn(&mut Judge, SplitMix64, u64) -> Outcome + Sync,
) -> Rates {
    let outcomes = runs.each(|| Judge::new(claim.clone()), |judge, random| outcome(judge, random, end));
    Rates::of(&outcomes)
}

fn at_end(judge: &mut Judge, source: Source, end: u64, random: SplitMix64) -> Outcome {
    let released = end * MINUTE;
    let mut track = Track::default();
    source.events(random).take_while(|event| event.start < released).for_each(|event| track.push(event));
    judge.outcome(track.at(released))
}

/// Returns the first minute, up to `end`, at which the judge decides, and the decision.
///
/// Without a new event, the evidence for a pass increases with time and the evidence for a fail decreases. It is
/// therefore enough to judge at the first minute after the start of an event, at the first after the end of its
/// episode, and at the last before the next event. If the claim passes at the latter, the first minute at which it does
/// is found by bisection.
fn decided(judge: &mut Judge, source: Source, end: u64, random: SplitMix64) -> Option<(u64, Outcome)> {
    let mut track = Track::default();
    let mut events = source.events(random);
    let mut last: Option<Event> = None;
    // The last minute that was judged.
    let mut looked = 0;
    loop {
        let next = events.next();
        let before_next = next.map_or(end, |next| next.start / MINUTE).min(end);
        let after = last.map_or([before_next; 2], |last| [last.start + 1, last.ended()].map(|n| n.div_ceil(MINUTE)));
        for minute in [after[0], after[1], before_next] {
            if minute <= looked || minute > before_next {
                continue;
            }
            match judge.outcome(track.at(minute * MINUTE)) {
                Outcome::Fail => return Some((minute, Outcome::Fail)),
                Outcome::Pass => {
                    let (mut open, mut passed) = (looked, minute);
                    while passed - open > 1 {
                        let middle = open.midpoint(passed);
                        match judge.outcome(track.at(middle * MINUTE)) {
                            Outcome::Pass => passed = middle,
                            _ => open = middle,
                        }
                    }
                    return Some((passed, Outcome::Pass));
                }
                _ => looked = minute,
            }
        }
        if before_next >= end {
            return None;
        }
        track.push(next?);
        last = next;
    }
}

/// Like [`decided`], but for several cells, judged every minute.
///
/// All cells are judged together only if every cell may pass, or if the evidence against the claim, which is the mean
/// over the cells, may be sufficient. The evidence of one cell is bounded after each of its events, since it decreases
/// until the next.
fn decided_together(judge: &mut Judge, source: Source, cells: u32, end: u64, mut random: SplitMix64) -> Outcome {
    let mut sources: Vec<_> = (0..cells).map(|_| source.events(SplitMix64::new(random.next_u64()))).collect();
    let mut tracks = vec![Track::default(); sources.len()];
    let mut evidence = vec![1.0; sources.len()];
    let mut queue = BinaryHeap::new();
    let mut starts: Vec<Option<Event>> = sources.iter_mut().map(Iterator::next).collect();
    queue.extend(starts.iter().enumerate().filter_map(|(cell, event)| Some(Reverse((event.as_ref()?.start, cell)))));
    let mut blocking = 0;
    for minute in 1..=end {
        let released = minute * MINUTE;
        while let Some(Reverse((start, cell))) = queue.peek().copied().filter(|Reverse((start, _))| *start < released) {
            queue.pop();
            if let Some(event) = starts[cell] {
                tracks[cell].push(event);
            }
            // Evaluated just after the start of the event, when the evidence is highest.
            evidence[cell] = judge.evidence_below(tracks[cell].at(start + 1));
            starts[cell] = sources[cell].next();
            queue.extend(starts[cell].map(|event| Reverse((event.start, cell))));
        }
        // Usually the same cell that prevented a pass a minute ago still does.
        let counts = |cell: usize| tracks[cell].at(released);
        let may_pass = judge.may_pass(counts(blocking))
            && (0..tracks.len()).all(|cell| {
                let may = judge.may_pass(counts(cell));
                blocking = if may { blocking } else { cell };
                may
            });
        let may_fail = evidence.iter().sum::<f64>() >= judge.evidence_needed(tracks.len());
        if may_pass || may_fail {
            let all: Vec<Counts> = (0..tracks.len()).map(|cell| tracks[cell].at(released)).collect();
            let outcome = judge.together(&all);
            if matches!(outcome, Outcome::Pass | Outcome::Fail) {
                return outcome;
            }
        }
    }
    Outcome::Inconclusive
}

/// Cases for the median time until a pass: true share relative to the limit, size of the clusters, and the maximum
/// allowed number of minutes.
const TIMES: [(f64, u64, Option<u64>); 7] = [
    (0.0, 1, Some(70)),
    (0.0, 8, Some(60 * 8)),
    (0.0, 50, Some(60 * 50)),
    (0.2, 1, None),
    (0.5, 1, Some(420)),
    (0.2, 8, None),
    (0.5, 8, Some(420 * 8)),
];

fn times(runs: &Runs) -> Vec<Row> {
    let one = |&(of_limit, size, most): &(f64, u64, Option<u64>)| {
        let claim = claim(SHARES[0], size);
        let source = clusters(size, of_limit * SHARES[0]);
        let end = minutes(&claim, 40);
        let name = format!("time to pass, P = {of_limit} of 1e-6, clusters of {size}");
        let (time, found) = runs.text(&name, "until", || {
            let found = runs.each(|| Judge::new(claim.clone()), |judge, random| decided(judge, source, end, random));
            let mut times: Vec<Option<u64>> = found.iter().map(|found| passed(*found)).collect();
            // Runs that did not pass come last.
            times.sort_unstable_by_key(|time| time.unwrap_or(u64::MAX));
            let time = times[times.len() / 2].unwrap_or(u64::MAX);
            (time, format!("median {time} min{}", most.map_or(String::new(), |most| format!(" (<= {most})"))))
        })?;
        Some(found.ok_if(most.is_none_or(|most| time <= most)))
    };
    TIMES.iter().filter_map(one).collect()
}

fn passed(decided: Option<(u64, Outcome)>) -> Option<u64> {
    decided.filter(|(_, outcome)| *outcome == Outcome::Pass).map(|(minute, _)| minute)
}

fn clusters(size: u64, share: f64) -> Source {
    Source { sizes: Sizes::Constant(size), arrivals: Arrivals::Random, every: 1, share }
}

/// Checks that a machine that is late three times as often as claimed fails within three times the shortest time to pass.
fn power(runs: &Runs) -> Vec<Row> {
    let one = |size: u64| {
        let claim = claim(SHARES[0], size);
        let source = clusters(size, 3.0 * SHARES[0]);
        let end = minutes(&claim, 3);
        let name = format!("power, P = 3 of 1e-6, clusters of {size}");
        let (failed, found) = runs.text(&name, &format!("until {end} min"), || {
            let found = runs.each(|| Judge::new(claim.clone()), |judge, random| decided(judge, source, end, random));
            let failed = found.iter().filter(|found| matches!(found, Some((_, Outcome::Fail)))).count();
            let failed = failed as f64 / found.len() as f64;
            (failed, format!("FAIL in {:.1} % (>= 90)", 100.0 * failed))
        })?;
        Some(found.ok_if(failed >= 0.9))
    };
    [1, 8, 50].into_iter().filter_map(one).collect()
}

/// Checks that, if no stall is declared, an hour without a late release passes only for disturbances of a single
/// period: the bounds for longer disturbances are above the limit.
fn none_late(runs: &Runs) -> Vec<Row> {
    let one = |size: u64| {
        let claim = claim(SHARES[0], 1);
        let source = clusters(size, 2.0 * SHARES[0]);
        let name = format!("P = 2e-6 in 1 h, no stall declared, clusters of {size}");
        let (right, found) = runs.text(&name, "60 min", || {
            let passed = runs.each(
                || (),
                |(), random| {
                    let mut track = Track::default();
                    let released = 60 * MINUTE;
                    source
                        .events(random)
                        .take_while(|event| event.start < released)
                        .for_each(|event| track.push(event));
                    let counts = track.at(released);
                    let verdict = judged(&[counts], &claim);
                    let cell = &verdict.claims[0].cells[0];
                    let longer = cell.bounds.iter().filter(|bound| bound.stall_ns > PERIOD);
                    let is_bounded = cell.bounds.len() == 3 && longer.clone().all(|bound| bound.upper > SHARES[0]);
                    (verdict.outcome == Outcome::Pass).then_some(is_bounded && counts.longest <= 1)
                },
            );
            let passes = passed.iter().flatten().count();
            let right = passed.iter().flatten().all(|right| *right);
            let share = 100.0 * passes as f64 / passed.len() as f64;
            let said = if right { "all" } else { "NOT all" };
            (right, format!("PASS in {share:.1} %; bounds of 10, 50 ms above: {said}"))
        })?;
        Some(found.ok_if(right))
    };
    [1, 8, 50, 200].into_iter().filter_map(one).collect()
}

/// Checks that no claim passes with a single sample.
fn one_sample(runs: &Runs) -> Option<Row> {
    let counts = Counts { released: 1, ..Counts::default() };
    let texts = [
        "P(>100us) < 1e-6",
        "P(>100us) < 0.5",
        "P(>100us) < 0.5 @stall 10ms @50%",
        "episodes(>100us) < 1 per second",
        "p50 < 100us",
        "p99.9 < 100us",
        "max < 100us",
        "missed <= 3 per 1e6",
        "missed = 0",
    ];
    let (passed, found) = runs.text("one sample", "1 ms", || {
        let claims: Vec<Claim> = texts.iter().filter_map(|text| text.parse().ok()).collect();
        let outcomes = claims.iter().map(|claim| judged(&[counts], claim).outcome);
        let passed = outcomes.filter(|outcome| *outcome == Outcome::Pass).count();
        (passed, format!("{passed} of {} claims PASS (0)", claims.len()))
    })?;
    Some(found.ok_if(passed == 0))
}

#[cfg(test)]
mod tests {
    use super::super::source::Events;
    use super::*;

    /// Does the same as [`decided_together`], but judges every minute.
    fn every_minute(claim: &Claim, mut sources: Vec<Events>, end: u64) -> Option<(u64, Outcome)> {
        let mut tracks = vec![Track::default(); sources.len()];
        let mut next: Vec<Option<Event>> = sources.iter_mut().map(Iterator::next).collect();
        (1..=end).find_map(|minute| {
            for (cell, track) in tracks.iter_mut().enumerate() {
                while let Some(event) = next[cell].filter(|event| event.start < minute * MINUTE) {
                    track.push(event);
                    next[cell] = sources[cell].next();
                }
            }
            let counts: Vec<Counts> = tracks.iter().map(|track| track.at(minute * MINUTE)).collect();
            let outcome = judged(&counts, claim).outcome;
            matches!(outcome, Outcome::Pass | Outcome::Fail).then_some((minute, outcome))
        })
    }

    #[test]
    fn no_decision_is_left_out() {
        let mut seen = Vec::new();
        for (size, every, stall) in [(1, 1, 1), (8, 1, 8), (200, 5, 1_001)] {
            for of_limit in [0.2, 1.0, 3.0] {
                let claim = claim(1e-4, stall);
                let source = Source { every, ..clusters(size, of_limit * 1e-4) };
                for seed in 0..2 {
                    let random = || SplitMix64::new(seed);
                    let found = decided(&mut Judge::new(claim.clone()), source, 60, random());
                    assert_eq!(found, every_minute(&claim, vec![source.events(random())], 60), "{source:?} {seed}");
                    seen.extend(found);
                }
            }
        }
        assert!(seen.iter().any(|(_, outcome)| *outcome == Outcome::Pass), "{seen:?}");
        assert!(seen.iter().any(|(_, outcome)| *outcome == Outcome::Fail), "{seen:?}");
    }

    #[test]
    fn no_decision_of_several_cells_is_left_out() {
        let claim = claim(1e-4, 1);
        let mut seen = Vec::new();
        for of_limit in [0.1, 1.0, 1.5] {
            let source = clusters(1, of_limit * 1e-4);
            for seed in 0..4 {
                let found = decided_together(&mut Judge::new(claim.clone()), source, 3, 40, SplitMix64::new(seed));
                let mut random = SplitMix64::new(seed);
                let sources = (0..3).map(|_| source.events(SplitMix64::new(random.next_u64()))).collect();
                let all = every_minute(&claim, sources, 40).map_or(Outcome::Inconclusive, |(_, outcome)| outcome);
                assert_eq!(found, all, "{of_limit} {seed}");
                seen.push(found);
            }
        }
        assert!([Outcome::Pass, Outcome::Fail].iter().all(|outcome| seen.contains(outcome)), "{seen:?}");
    }
}
