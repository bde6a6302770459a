//! Tests claims about quantiles of autocorrelated latencies whose true quantile equals the limit.

use super::recorded::{LIMIT, MINUTE, PERIOD, recording};
use super::source::Counts;
use super::{Rates, Row, Runs};
use punctual_judge::judge;
use punctual_model::{Blocks, Claim, Outcome, Quantity};
use punctual_stats::{SplitMix64, normal_cdf, normal_quantile};
use punctual_units::Nanos;

const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];
/// Fractions of the variance of the log latency that an AR(1) process contributes.
const SHARES: [f64; 2] = [0.1, 0.3];
/// Time constants of the AR(1) process, s.
const CONSTANTS: [f64; 2] = [1.0, 5.0];
/// Lengths of runs, min.
const LENGTHS: [u64; 3] = [5, 15, 60];
/// Number of releases for each value of the AR(1) process, one per 100 ms. Counts are recorded in blocks of 5 s.
const STEP: u64 = 100_000_000 / PERIOD.0;
const STEPS: u64 = 50;

/// A table of the probability that a latency exceeds the limit, by the value of the AR(1) process.
struct Beyond(Vec<f64>);

/// The table covers values of the AR(1) process between minus and plus this number, with [`FINE`] entries per unit.
const WIDEST: f64 = 8.0;
const FINE: f64 = 200.0;

impl Beyond {
    /// Computes the table. The log latency is √share·a + √(1 − share)·z, where a and z are normal with variance 1. It
    /// is therefore standard normal, and its quantile is known.
    fn new(q: f64, share: f64) -> Beyond {
        let limit = normal_quantile(q).unwrap_or(f64::NAN);
        let at = |i: u32| {
            let a = f64::from(i) / FINE - WIDEST;
            normal_cdf((share.sqrt() * a - limit) / (1.0 - share).sqrt())
        };
        Beyond((0..=(2.0 * WIDEST * FINE) as u32).map(at).collect())
    }

    fn at(&self, a: f64) -> f64 {
        let place = (a.clamp(-WIDEST, WIDEST) + WIDEST) * FINE;
        self.0[(place + 0.5) as usize]
    }
}

fn claim(q: f64) -> Claim {
    Claim { quantity: Quantity::Quantile { q, limit: LIMIT }, of: None, confidence: 0.95, stall: None }
}

pub fn rows(runs: &Runs) -> Vec<Row> {
    let mut rows = Vec::new();
    for constant in CONSTANTS {
        for share in SHARES {
            for q in QUANTILES {
                for minutes in LENGTHS {
                    let name = format!("p{}, AR(1) of {constant} s, {} %", 100.0 * q, 100.0 * share);
                    rows.extend(runs.row(&name, &format!("{minutes} min"), 1, || {
                        let beyond = Beyond::new(q, share);
                        let outcome = |(): &mut (), random| outcome(&claim(q), &beyond, constant, minutes, random);
                        Rates::of(&runs.each(|| (), outcome))
                    }));
                }
            }
        }
    }
    rows
}

fn outcome(claim: &Claim, beyond: &Beyond, constant: f64, minutes: u64, mut random: SplitMix64) -> Outcome {
    let keeps = (-((STEP * PERIOD.0) as f64) / 1e9 / constant).exp();
    let fresh = (1.0 - keeps * keeps).sqrt();
    let mut blocks = Blocks { limit_ns: Nanos(LIMIT.0 - 1), counts: Vec::new() };
    let mut counts = Counts::default();
    let mut normals = Normals(None);
    let mut a = normals.draw(&mut random);
    let released = STEP * STEPS;
    while counts.released < minutes * MINUTE {
        let (mut mean, mut variance) = (0.0, 0.0);
        for _ in 0..STEPS {
            let p = beyond.at(a);
            mean += STEP as f64 * p;
            variance += STEP as f64 * p * (1.0 - p);
            a = keeps * a + fresh * normals.draw(&mut random);
        }
        let late = if mean < 30.0 {
            poisson(mean, &mut random)
        } else {
            (mean + variance.sqrt() * normals.draw(&mut random)).round().max(0.0) as u64
        };
        let late = late.min(released);
        blocks.push((released, late, late));
        counts.released += released;
        counts.late += late;
    }
    // Recorded, but not used for judging a quantile.
    counts.episodes = counts.late.min(1);
    counts.longest = counts.late.min(1) * counts.released;
    let recording = recording(&[(counts, Some(blocks))], claim, false);
    judge(&recording, std::slice::from_ref(claim)).outcome
}

/// Generates standard normal numbers, in pairs (Box and Muller 1958).
struct Normals(Option<f64>);

impl Normals {
    fn draw(&mut self, random: &mut SplitMix64) -> f64 {
        if let Some(value) = self.0.take() {
            return value;
        }
        let radius = (-2.0 * random.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * random.uniform()).sin_cos();
        self.0 = Some(radius * sin);
        radius * cos
    }
}

/// Returns a number with the Poisson distribution by multiplication (Knuth), for small means.
fn poisson(mean: f64, random: &mut SplitMix64) -> u64 {
    let (least, mut product, mut n) = ((-mean).exp(), random.uniform(), 0);
    while product > least {
        product *= random.uniform();
        n += 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the stationary AR(1) process, a fraction of 1 − q exceeds the limit.
    #[test]
    fn the_limit_is_the_quantile() {
        for q in QUANTILES {
            for share in SHARES {
                let beyond = Beyond::new(q, share);
                let (mut random, mut normals) = (SplitMix64::new(3), Normals(None));
                let n = 400_000;
                let mean = (0..n).map(|_| beyond.at(normals.draw(&mut random))).sum::<f64>() / f64::from(n);
                assert!((mean / (1.0 - q) - 1.0).abs() < 0.02, "{q} {share} {mean}");
            }
        }
    }

    #[test]
    fn an_easy_claim_passes() {
        let easy = Beyond(Beyond::new(0.99, 0.1).0.iter().map(|p| 0.5 * p).collect());
        assert_eq!(outcome(&claim(0.99), &easy, 1.0, 15, SplitMix64::new(1)), Outcome::Pass);
        assert_eq!(outcome(&claim(0.999), &easy, 1.0, 15, SplitMix64::new(1)), Outcome::Fail);
    }
}
