//! Test for values that are too large to be the largest by chance.

use crate::order::median;
use crate::random::SplitMix64;

/// Ratio of standard deviation to median absolute deviation for a normal distribution.
const OF_MAD: f64 = 1.482_602_218_505_602;

/// Simulated scores of values with a Gumbel distribution. A score is the distance from the median of its sample,
/// divided by the scaled median absolute deviation (see [`location`]).
///
/// The largest of many latencies has a tail like c·x^−α (Fréchet distribution) or a lighter tail. Its logarithm then
/// has a Gumbel distribution or a lighter tail, whatever the value of α. The distribution of the scores therefore
/// depends only on the number of values and can be simulated.
///
/// Source: E. J. Gumbel, Statistics of Extremes, 1958.
#[derive(Clone, Debug)]
pub struct GumbelScores {
    sorted: Vec<f64>,
}

impl GumbelScores {
    /// Simulates at least `draws` scores in samples of `n` values. Returns `None` if `n` is below 3 or `draws` is 0.
    pub fn draw(n: usize, draws: usize, seed: u64) -> Option<GumbelScores> {
        if n < 3 || draws == 0 {
            return None;
        }
        let mut random = SplitMix64::new(seed);
        let mut sorted = Vec::with_capacity(draws.div_ceil(n) * n);
        for _ in 0..draws.div_ceil(n) {
            let sample: Vec<f64> = (0..n).map(|_| -(-random.uniform().ln()).ln()).collect();
            let (middle, deviation) = location(&sample)?;
            sorted.extend(sample.iter().map(|value| (value - middle) / deviation));
        }
        sorted.sort_unstable_by(f64::total_cmp);
        Some(GumbelScores { sorted })
    }

    /// Returns the probability that a score at least this high occurs by chance. It is at least 1/(number of scores +
    /// 1), so that it is never understated.
    pub fn p(&self, score: f64) -> f64 {
        let below = self.sorted.partition_point(|drawn| *drawn < score);
        (1.0 + (self.sorted.len() - below) as f64) / (1.0 + self.sorted.len() as f64)
    }
}

/// Returns the median, and the median absolute deviation, scaled so that it estimates the standard deviation of a
/// normal distribution.
///
/// Returns `None` if there are no values or a value is not finite.
pub fn location(x: &[f64]) -> Option<(f64, f64)> {
    let middle = median(x)?;
    let away: Vec<f64> = x.iter().map(|value| (value - middle).abs()).collect();
    Some((middle, OF_MAD * median(&away)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_input_is_none() {
        assert!(GumbelScores::draw(2, 100, 1).is_none() && GumbelScores::draw(9, 0, 1).is_none());
        assert_eq!(location(&[]), None);
        assert_eq!(location(&[1.0, f64::NAN]), None);
    }

    /// The median of Gumbel's distribution is −ln ln 2, and its scaled MAD is 0.7670 (computed numerically from its
    /// quantiles).
    #[test]
    fn many_values_score_as_the_distribution_does() {
        let scores = GumbelScores::draw(2_000, 200_000, 1).unwrap();
        for p in [0.1, 0.01, 0.001] {
            let value = -(-f64::ln(1.0 - p)).ln();
            let score = (value + 2f64.ln().ln()) / (OF_MAD * 0.767);
            assert!((scores.p(score) / p - 1.0).abs() < 0.2, "{p} {}", scores.p(score));
        }
        assert!(scores.p(f64::INFINITY) > 0.0 && scores.p(f64::NEG_INFINITY) == 1.0);
        assert!(scores.p(f64::NAN) > 0.0);
    }

    #[test]
    fn few_values_ask_for_more() {
        let [ten, fifty] = [10, 50].map(|n| GumbelScores::draw(n, 100_000, 1).unwrap().p(6.0));
        assert!(ten > 1.5 * fifty, "{ten} {fifty}");
    }
}
