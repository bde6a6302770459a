//! Judges claims about quantiles by the share beyond the limit in blocks of time.

use crate::cell::Samples;
use punctual_model::BlockCount;
use punctual_stats::student_two_sided;

/// Minimum length of a block. Releases within seconds of each other are correlated.
pub(crate) const LEAST_BLOCK_NS: u64 = 30_000_000_000;
/// Minimum number of blocks for a decision. If there are more than twice as many, blocks are merged, so that they
/// become longer with the length of the run.
pub(crate) const LEAST_BLOCKS: usize = 10;
/// Assumed number of independent samples, for refuting a quantile, if a file does not state the order of its samples.
pub(crate) const UNORDERED: u64 = 100;

/// Bounds of the share beyond the limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub lower: f64,
    pub upper: f64,
    /// Number of independent samples with the same information, divided by the number of samples.
    pub effective: f64,
}

/// Bounds the share by the means of 10 to 20 blocks, each of at least 30 s, and Student's t (B. Schmeiser, "Batch size
/// effects in the analysis of simulation output", Oper. Res. 30, 1982). `None` with fewer than ten blocks, or without
/// recorded blocks.
///
/// Shares of rare events are skewed: if most late releases lie in few blocks, both the mean and its standard error may
/// be underestimated, and the upper bound by t fails in up to 19 % of cases (`cargo trials verdict`). The upper bound
/// therefore assumes a standard error in proportion to the share: m ≥ μ(1 − t·s/m).
pub(crate) fn share(samples: &Samples, limit: u64, confidence: f64) -> Option<Share> {
    let counts = &samples.blocks.iter().find(|blocks| blocks.limit_ns.0 == limit)?.counts;
    // Contradictory counts are a doubt. They refute nothing.
    let late = counts.iter().map(|count| count.1).fold(0, u64::saturating_add);
    if late > samples.beyond(limit).1 {
        return None;
    }
    let released: u64 = counts.iter().map(|count| count.0).fold(0, u64::saturating_add);
    let time = released.saturating_mul(samples.period);
    let blocks = usize::try_from(time / LEAST_BLOCK_NS).unwrap_or(usize::MAX).min(2 * LEAST_BLOCKS).min(counts.len());
    if blocks < LEAST_BLOCKS {
        return None;
    }
    let (least, most) = together(counts, released, blocks);
    let (low, high) = (bounds(&least, confidence)?, bounds(&most, confidence)?);
    let mean = mean(&most);
    let independent = mean * (1.0 - mean) / high.error.powi(2);
    let effective = (independent / released as f64).clamp(1.0 / released as f64, 1.0);
    Some(Share {
        lower: low.lower.max(0.0),
        upper: high.upper,
        effective: if effective.is_nan() { 1.0 } else { effective },
    })
}

/// Returns the minimum and maximum share beyond the limit of each block, in blocks whose lengths are as equal as the
/// recorded blocks allow.
fn together(counts: &[BlockCount], released: u64, blocks: usize) -> (Vec<f64>, Vec<f64>) {
    let mut shares = (Vec::new(), Vec::new());
    let (mut sum, mut before) = ((0u64, 0u64, 0u64), 0u64);
    for count in counts {
        sum = (sum.0.saturating_add(count.0), sum.1.saturating_add(count.1), sum.2.saturating_add(count.2));
        let due = released as f64 * (shares.0.len() + 1) as f64 / blocks as f64;
        if before.saturating_add(sum.0) as f64 >= due - 0.5 && sum.0 > 0 {
            shares.0.push(sum.1 as f64 / sum.0 as f64);
            shares.1.push(sum.2 as f64 / sum.0 as f64);
            before = before.saturating_add(sum.0);
            sum = (0, 0, 0);
        }
    }
    shares
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Two-sided bounds of a mean.
struct Bounds {
    lower: f64,
    upper: f64,
    /// Standard error of the mean.
    error: f64,
}

fn bounds(values: &[f64], confidence: f64) -> Option<Bounds> {
    let n = values.len() as f64;
    let mean = mean(values);
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    let half = student_two_sided(confidence, n - 1.0)? * error;
    let upper = match mean > 0.0 {
        true if half < mean => mean / (1.0 - half / mean),
        true => f64::INFINITY,
        false => 0.0,
    };
    Some(Bounds { lower: mean - half, upper, error })
}
