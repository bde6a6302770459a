//! Resampling inside one boot, where neighbouring values depend on each other: whole blocks are drawn.

use crate::estimate::{Interval, logarithms, possible_confidence};
use crate::gamma::{student_p, student_two_sided};
use crate::order::{quantile_in_place, quantile_of_sorted};
use crate::random::SplitMix64;
use crate::series::{effective_n, inflation};

/// Values drawn in all, at most: about 10 s.
const MOST_WORK: usize = 1_000_000_000;

/// The figure of a sample whose ratio is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A quantile (0–1): 0.5 is the median.
    Quantile(f64),
    /// The arithmetic mean.
    Mean,
}

impl Figure {
    fn of(self, x: &[f64]) -> Option<f64> {
        self.in_place(&mut x.to_vec())
    }

    fn in_place(self, x: &mut [f64]) -> Option<f64> {
        match self {
            Figure::Quantile(q) => quantile_in_place(x, q),
            Figure::Mean => Some(x.iter().sum::<f64>() / x.len() as f64).filter(|mean| mean.is_finite()),
        }
    }
}

/// What to resample and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resampling {
    /// What is taken of each sample.
    pub of: Figure,
    /// Values in a block of either sample; 1 where they are independent. See [`block_length`].
    pub blocks: (usize, usize),
    /// Replicates, 1 to 1 000 000; 2000 are usual.
    pub replicates: usize,
    /// Decides all draws.
    pub seed: u64,
}

/// A ratio of quantiles or means by resampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootstrapRatio {
    /// b / a of the samples themselves.
    pub value: f64,
    /// The type 7 quantiles of the replicates at (1 ∓ confidence)/2. Of dependent values, too narrow for an interval: with 95 % it
    /// holds the ratio in 82 to 93 %.
    pub percentiles: (f64, f64),
    /// The interval: value · exp(± t·s), s the replicates' standard deviation on the logarithms over √(1 − block/n) and over what
    /// blocks leave out of the dependence, t Student's for the number of blocks less 2. `None` where they are at most 2.
    pub student: Option<Interval>,
    /// Two-sided p of "the ratio is 1", from the same t; `None` as `student`.
    pub p: Option<f64>,
    /// Mean of the replicates.
    pub mean: f64,
    /// Their standard deviation (n − 1).
    pub sd: f64,
}

/// The block length for these values: 1 where neighbours do not depend on each other, else three times the n/n_eff
/// values that say as much as one independent value, at most n/4 so that there remain four blocks. `None` as
/// [`effective_n`].
///
/// A block much longer than the correlations keeps their effect; Künsch, see [`bootstrap_ratios`].
pub fn block_length(x: &[f64]) -> Option<usize> {
    let per_value = x.len() as f64 / effective_n(x)?;
    let length = if per_value > 1.0 { (3.0 * per_value).ceil() as usize } else { 1 };
    Some(length.min(x.len() / 4).max(1))
}

/// The ratio of the figures (b / a) in every replicate, in the order drawn: each draws n_a values from `a`, then n_b
/// from `b`, as blocks of successive values from random places (the end joined to the start).
///
/// `None` where a value is not above 0, a sample is empty, a block is 0 or longer than its sample, the quantile no
/// probability, or the replicates none or more than a million or more than 10⁹ values.
///
/// Source: H. R. Künsch, "The jackknife and the bootstrap for general stationary observations", Ann. Statist. 17
/// (1989); circular blocks: D. N. Politis and J. P. Romano (1992).
pub fn bootstrap_ratios(a: &[f64], b: &[f64], how: &Resampling) -> Option<Vec<f64>> {
    let positive = a.iter().chain(b).all(|&v| v > 0.0 && v.is_finite());
    let blocks_fit = (1..=a.len()).contains(&how.blocks.0) && (1..=b.len()).contains(&how.blocks.1);
    let work = a.len().checked_add(b.len())?.checked_mul(how.replicates)?;
    if !positive || !blocks_fit || !(1..=1_000_000).contains(&how.replicates) || work > MOST_WORK {
        return None;
    }
    let mut random = SplitMix64::new(how.seed);
    let mut drawn = Vec::with_capacity(a.len().max(b.len()));
    let mut one = |x: &[f64], block| {
        draw(x, block, &mut random, &mut drawn);
        how.of.in_place(&mut drawn)
    };
    (0..how.replicates)
        .map(|_| {
            let of_a = one(a, how.blocks.0)?;
            Some(one(b, how.blocks.1)? / of_a)
        })
        .collect()
}

/// The ratio of the figures with its intervals. `None` as [`bootstrap_ratios`], and for a confidence not strictly between
/// 0 and 1.
pub fn bootstrap_ratio(a: &[f64], b: &[f64], how: &Resampling, confidence: f64) -> Option<BootstrapRatio> {
    if !possible_confidence(confidence) {
        return None;
    }
    let mut ratios = bootstrap_ratios(a, b, how)?;
    let value = how.of.of(b)? / how.of.of(a)?;
    let (mean, sd) = mean_and_sd(&ratios);
    let (_, ln_sd) = mean_and_sd(&logarithms(&ratios)?);
    ratios.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - confidence);
    let (low, high) = (quantile_of_sorted(&ratios, tail)?, quantile_of_sorted(&ratios, 1.0 - tail)?);
    let blocks = (a.len() as f64 / how.blocks.0 as f64, b.len() as f64 / how.blocks.1 as f64);
    // Blocks vary about the mean of the very sample they are from: too little by one in the number of blocks.
    let cut = cut_off(a, how.blocks.0).max(cut_off(b, how.blocks.1));
    let missing = ((1.0 - 1.0 / blocks.0.min(blocks.1)) * (1.0 - cut)).sqrt();
    let degrees = blocks.0 + blocks.1 - 2.0;
    let student = student_two_sided(confidence, degrees).map(|t| t * ln_sd / missing);
    let p = student_p(value.ln() * missing / ln_sd, degrees);
    let student = student.filter(|half| half.is_finite());
    let student = student.map(|half| Interval { low: value * (-half).exp(), high: value * half.exp(), confidence });
    Some(BootstrapRatio { value, percentiles: (low, high), student, p, mean, sd })
}

/// The share of the variance that is lost where blocks are cut apart, at most a half: Σ 2k·ρₖ / (n/n_eff) over the block length
/// (Künsch, theorem 3.3), for correlations that fall as ρᵏ; then the sum is (τ − 1/τ)/2 with τ = n/n_eff.
fn cut_off(x: &[f64], block: usize) -> f64 {
    let persistence = inflation(x).or_else(|| effective_n(x).map(|n| x.len() as f64 / n)).unwrap_or(1.0).max(1.0);
    (0.5 * (persistence - 1.0 / persistence) / block as f64).min(0.5)
}

fn draw(x: &[f64], block: usize, random: &mut SplitMix64, into: &mut Vec<f64>) {
    into.clear();
    while into.len() < x.len() {
        let start = random.below(x.len());
        let left = block.min(x.len() - into.len());
        into.extend(x.iter().skip(start).chain(x).take(left));
    }
}

fn mean_and_sd(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let squares: f64 = x.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOW: Resampling = Resampling { of: Figure::Quantile(0.5), blocks: (1, 1), replicates: 99, seed: 1 };

    #[test]
    fn impossible_input_is_none() {
        let good = [1.0, 2.0, 3.0];
        for bad in [&[][..], &[0.0, 1.0], &[f64::NAN], &[f64::INFINITY]] {
            assert_eq!(bootstrap_ratio(bad, &good, &HOW, 0.95), None);
            assert_eq!(bootstrap_ratio(&good, bad, &HOW, 0.95), None);
        }
        for how in [
            Resampling { blocks: (0, 1), ..HOW },
            Resampling { blocks: (1, 4), ..HOW },
            Resampling { replicates: 0, ..HOW },
            Resampling { replicates: usize::MAX, ..HOW },
            Resampling { of: Figure::Quantile(f64::NAN), ..HOW },
        ] {
            assert_eq!(bootstrap_ratio(&good, &good, &how, 0.95), None);
        }
        assert_eq!(bootstrap_ratio(&good, &good, &HOW, 1.0), None);
        assert_eq!(block_length(&[1.0, 1.0, 1.0]), None);
    }

    #[test]
    fn blocks_are_of_successive_values() {
        let x: Vec<f64> = (0..10).map(f64::from).collect();
        let mut into = vec![];
        draw(&x, 4, &mut SplitMix64::new(2), &mut into);
        assert_eq!(into.len(), 10);
        for (i, pair) in into.windows(2).enumerate().filter(|(i, _)| i % 4 != 3) {
            assert_eq!((pair[0] + 1.0) % 10.0, pair[1], "{i}");
        }
    }

    #[test]
    fn means_are_resampled_too() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 10.0], [2.0, 4.0, 6.0, 8.0, 20.0]);
        let found = bootstrap_ratio(&a, &b, &Resampling { of: Figure::Mean, ..HOW }, 0.95).unwrap();
        assert!(
            found.value == 2.0
                && found.percentiles.0 <= 2.0
                && 2.0 <= found.percentiles.1
                && found.student.unwrap().holds(2.0)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn the_seed_decides(a in proptest::collection::vec(1.0f64..9.0, 4..30), seed: u64) {
            let how = Resampling { blocks: (3, 2), seed, ..HOW };
            let one = bootstrap_ratio(&a, &a, &how, 0.95).unwrap();
            prop_assert_eq!(Some(one), bootstrap_ratio(&a, &a, &how, 0.95));
            prop_assert!(one.value == 1.0 && one.percentiles.0 <= one.percentiles.1);
        }
    }
}
