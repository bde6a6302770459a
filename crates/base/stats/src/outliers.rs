//! Finds values that are too large to be the largest by chance.

use crate::order::median;
use crate::random::SplitMix64;

/// Ratio of standard deviation to median absolute deviation for a normal distribution.
const OF_MAD: f64 = 1.482_602_218_505_602;

/// Random distances from the median, in scaled median absolute deviations, for values with a Gumbel distribution.
///
/// The largest of many latencies has a tail like c·x^−α (Fréchet's distribution) or a lighter one. Its logarithm then
/// has a Gumbel distribution, whatever α is, or a lighter tail, so the distribution of the scores depends only on the
/// number of values and can be simulated.
///
/// Source: E. J. Gumbel, Statistics of Extremes, 1958.
#[derive(Clone, Debug)]
pub struct GumbelScores {
    sorted: Vec<f64>,
}

impl GumbelScores {
    /// Draws at least `draws` scores, in samples of `n` values. `None` for fewer than 3 values or no draws.
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

    /// The probability of a score this high by chance; at least 1/(draws + 1), so that it is never understated.
    pub fn p(&self, score: f64) -> f64 {
        let below = self.sorted.partition_point(|drawn| *drawn < score);
        (1.0 + (self.sorted.len() - below) as f64) / (1.0 + self.sorted.len() as f64)
    }
}

/// The median, and the median absolute deviation scaled to estimate the standard deviation of a normal distribution.
///
/// `None` without values, or if one is not finite.
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
