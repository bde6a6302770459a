//! Block bootstrap within one boot, where successive values depend on each other.

use crate::estimate::{Interval, logarithms, possible_confidence};
use crate::gamma::{student_p, student_two_sided};
use crate::order::{quantile_in_place, quantile_of_sorted};
use crate::random::SplitMix64;
use crate::series::{effective_n, inflation};

/// Limit on the number of values drawn in total: about 10 s.
const MOST_WORK: usize = 1_000_000_000;

/// The statistic whose ratio is estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A quantile (0–1); 0.5 is the median.
    Quantile(f64),
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

/// Parameters of a block bootstrap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resampling {
    /// Statistic of each sample.
    pub of: Figure,
    /// Block length of either sample; 1 for independent values. See [`block_length`].
    pub blocks: (usize, usize),
    /// Number of replicates, 1 to 1 000 000; 2000 is usual.
    pub replicates: usize,
    /// Seed of the random draws.
    pub seed: u64,
}

/// A ratio of quantiles or means, with bootstrap intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootstrapRatio {
    /// b / a of the original samples.
    pub value: f64,
    /// Type 7 quantiles of the replicates at (1 ∓ confidence)/2. Too narrow as an interval for dependent values: at 95
    /// % it contains the ratio in 82 to 93 %.
    pub percentiles: (f64, f64),
    /// The interval value · exp(± t·s). s is the standard deviation of the log replicates, divided by √(1 − block/n)
    /// and corrected for the dependence that blocks cut off; t is Student's for the number of blocks minus 2. `None`
    /// for at most 2 blocks.
    pub student: Option<Interval>,
    /// Two-sided p-value of "the ratio is 1" from the same t; `None` like `student`.
    pub p: Option<f64>,
    pub mean: f64,
    /// Standard deviation of the replicates (n − 1).
    pub sd: f64,
}

/// The block length for these values: 1 if successive values are independent, else three times n/n_eff, at most n/4 so
/// that four blocks remain. `None` as for [`effective_n`].
///
/// Blocks much longer than the correlations preserve their effect; see Künsch in [`bootstrap_ratios`].
pub fn block_length(x: &[f64]) -> Option<usize> {
    let per_value = x.len() as f64 / effective_n(x)?;
    let length = if per_value > 1.0 { (3.0 * per_value).ceil() as usize } else { 1 };
    Some(length.min(x.len() / 4).max(1))
}

/// The ratio (b / a) of the statistic in every replicate, in the order drawn. Each replicate draws n_a values from `a`,
/// then n_b from `b`, as blocks of successive values from random positions (circular).
///
/// `None` if a value is not positive, a sample is empty, a block is 0 or longer than its sample, the quantile is not a
/// probability, or there are no replicates, more than a million, or more than 10⁹ values in total.
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

/// The ratio of the statistic with its intervals. `None` as for [`bootstrap_ratios`], and for a confidence not strictly
/// between 0 and 1.
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
    // Blocks vary around the mean of their own sample, which loses one degree of freedom of the number of blocks.
    let cut = cut_off(a, how.blocks.0).max(cut_off(b, how.blocks.1));
    let missing = ((1.0 - 1.0 / blocks.0.min(blocks.1)) * (1.0 - cut)).sqrt();
    let degrees = blocks.0 + blocks.1 - 2.0;
    let student = student_two_sided(confidence, degrees).map(|t| t * ln_sd / missing);
    let p = student_p(value.ln() * missing / ln_sd, degrees);
    let student = student.filter(|half| half.is_finite());
    let student = student.map(|half| Interval { low: value * (-half).exp(), high: value * half.exp(), confidence });
    Some(BootstrapRatio { value, percentiles: (low, high), student, p, mean, sd })
}

/// The share of the variance lost where blocks are cut, at most a half: Σ 2k·ρₖ / (n/n_eff) over the block length
/// (Künsch, theorem 3.3). For correlations that decay as ρᵏ, the sum is (τ − 1/τ)/2 with τ = n/n_eff.
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
