//! Error rates of verdicts if the truth equals the limit: 400 runs under a few conditions. `cargo trials verdict`
//! covers all conditions.

use crate::common;
use common::{claims, one};
use punctual_judge::judge;
use punctual_model::{Blocks, Claim, EPISODE_GAP, Episodes, Outcome, Recording, UntilDecided};
use punctual_stats::{SplitMix64, normal_cdf, normal_quantile};
use punctual_units::Nanos;
use std::collections::HashMap;

const RUNS: u64 = 400;
/// Maximum number of errors on either side; the method guarantees 5 %.
const MOST: usize = 32;
const IN_TIME: u64 = 5_000;
const LATE: u64 = 150_000;

/// Recorded counts: releases, late releases, episodes, and the longest episode.
type Counts = (u64, u64, u64, u64);

/// Returns a run of one cell at 1 kHz with these counts, without an open episode.
fn recorded(limit: u64, (released, late, episodes, longest): Counts) -> Recording {
    let mut recording = one(vec![IN_TIME]);
    recording.run.settings.worst_kept = 0;
    recording.worst.clear();
    let distribution = recording.distributions.values_mut().next().unwrap();
    distribution.raw.record_n(IN_TIME, released - late - 1);
    distribution.raw.record_n(LATE, late);
    let result = &mut recording.run.phases[0].cpus[0];
    (result.released, result.ran) = (Some(released), released);
    (result.max_ns, result.mean_ns) = (distribution.raw.max(), distribution.raw.mean());
    result.episodes = vec![Episodes { limit_ns: Nanos(limit), count: episodes, late, longest, ..Episodes::default() }];
    recording
}

/// Returns the numbers of passes and fails of runs that are checked each time the expected number of events has grown
/// by one, up to 12 times.
fn until_decided(claim: &str, p: f64, every: u64, mean: f64, size: fn(&mut SplitMix64) -> u64) -> (usize, usize) {
    let claim = claims(&[claim]).remove(0);
    let pause = mean / p - ((mean - 1.0) * every as f64 + 1.0);
    let mut known = HashMap::new();
    let mut outcomes = (0..RUNS).map(|run| {
        let mut random = SplitMix64::new(100 + run);
        let mut next = |from: u64| {
            let start = from + (-random.uniform().ln() / (1.0 / pause).ln_1p()) as u64;
            (start, size(&mut random))
        };
        let ((mut late, mut episodes, mut longest), mut end) = ((0, 0, 0), 0);
        let (mut first, mut event) = (0, next(0));
        for look in 1..=12 {
            let at = (f64::from(look) * mean / p) as u64;
            while event.0 < at.max(end + EPISODE_GAP) {
                let goes_on = episodes > 0 && event.0 - (end - 1) <= EPISODE_GAP;
                (first, episodes) = if goes_on { (first, episodes) } else { (event.0, episodes + 1) };
                end = event.0 + (event.1 - 1) * every + 1;
                (late, longest) = (late + event.1, longest.max(end - first));
                event = next(end);
            }
            // The check waits for the end of the episode.
            let counts = (at.max(end + EPISODE_GAP), late, episodes, longest);
            match *known.entry(counts).or_insert_with(|| outcome(&claim, recorded(100_000, counts))) {
                Outcome::Inconclusive => {}
                decided => return decided,
            }
        }
        Outcome::Inconclusive
    });
    sides(&mut outcomes)
}

fn outcome(claim: &Claim, mut recording: Recording) -> Outcome {
    recording.run.settings.until_decided = Some(UntilDecided { max_ns: Nanos(u64::MAX) });
    judge(&recording, std::slice::from_ref(claim)).outcome
}

fn sides(outcomes: &mut dyn Iterator<Item = Outcome>) -> (usize, usize) {
    outcomes.fold((0, 0), |(passed, failed), outcome| match outcome {
        Outcome::Pass => (passed + 1, failed),
        Outcome::Fail => (passed, failed + 1),
        _ => (passed, failed),
    })
}

#[test]
fn at_the_limit_few_shares_are_decided() {
    let mixed = |random: &mut SplitMix64| if random.uniform() < 0.1 { 71 } else { 1 };
    let found = [
        until_decided("P(>100us) < 1e-4", 1e-4, 1, 1.0, |_| 1),
        until_decided("P(>100us) < 1e-4 @stall 8ms", 1e-4, 1, 8.0, |_| 8),
        until_decided("P(>100us) < 1e-4 @stall 71ms", 1e-4, 1, 8.0, mixed),
        until_decided("P(>100us) < 1e-4 @stall 1s", 1e-4, 5, 200.0, |_| 200),
    ];
    assert!(found.iter().all(|&(passed, failed)| passed <= MOST && failed <= MOST), "{found:?}");
    // Some errors must occur.
    assert!(found.iter().any(|&(passed, _)| passed > 0) && found.iter().any(|&(_, failed)| failed > 0), "{found:?}");
}

fn normal(random: &mut SplitMix64) -> f64 {
    normal_quantile(random.uniform()).unwrap()
}

/// p99 of log-normal latencies with an AR(1) component of 1 s and a tenth of the variance, over 15 min.
#[test]
fn at_the_limit_few_quantiles_are_decided() {
    let claim = claims(&["p99 < 100us"]).remove(0);
    let (share, keeps) = (0.1f64, (-1.0f64).exp());
    let limit = normal_quantile(0.99).unwrap();
    let mut outcomes = (0..RUNS).map(|run| {
        let mut random = SplitMix64::new(run);
        let mut blocks = Blocks { limit_ns: Nanos(99_999), counts: Vec::new() };
        let (mut late, mut a) = (0, normal(&mut random));
        for _ in 0..180 {
            let mut expected = 0.0;
            for _ in 0..5 {
                expected += 1_000.0 * normal_cdf((share.sqrt() * a - limit) / (1.0 - share).sqrt());
                a = keeps * a + (1.0 - keeps * keeps).sqrt() * normal(&mut random);
            }
            let count = (expected + expected.sqrt() * normal(&mut random)).round().max(0.0) as u64;
            blocks.push((5_000, count, count));
            late += count;
        }
        let mut recording = recorded(99_999, (900_000, late, 1, 900_000));
        recording.run.phases[0].cpus[0].blocks.push(blocks);
        judge(&recording, std::slice::from_ref(&claim)).outcome
    });
    let (passed, failed) = sides(&mut outcomes);
    assert!(passed <= MOST && failed <= MOST, "{passed} {failed}");
}
