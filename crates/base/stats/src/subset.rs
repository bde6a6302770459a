//! Exact distributions of rank sums under the null hypothesis, also with ties.
//!
//! They are computed by the shift algorithm of B. Streitberg and J. Röhmel, "Exact distributions for permutation and
//! rank tests", Statistical Software Newsletter 12 (1986). Counts are `f64` sums of positive numbers, so 14 digits are
//! correct whatever their size.

/// Maximum number of additions for an exact distribution. This many additions take about 20 ms. Above this limit, the
/// normal approximation is accurate to three digits.
const MAX_WORK: u64 = 20_000_000;

/// Returns P(sum = s) for each s from 0, where all choices of `chosen` of these weights are equally likely.
///
/// Returns `None` if the computation would exceed [`MAX_WORK`] or nothing can be chosen.
pub(crate) fn of_choices(weights: &[u64], chosen: usize) -> Option<Vec<f64>> {
    let most = largest_sum(weights, chosen)?;
    let cells = (chosen as u64).checked_add(1)?.checked_mul(most + 1)?;
    if chosen == 0 || chosen > weights.len() || cells.checked_mul(weights.len() as u64)? > MAX_WORK {
        return None;
    }
    let width = most as usize + 1;
    let mut ways = vec![vec![0.0; width]; chosen + 1];
    *ways.first_mut()?.first_mut()? = 1.0;
    for (taken, &weight) in weights.iter().enumerate() {
        let weight = weight as usize;
        for k in (0..chosen.min(taken + 1)).rev() {
            let (below, above) = ways.split_at_mut(k + 1);
            let (Some(from), Some(to)) = (below.last(), above.first_mut()) else { continue };
            for (to, from) in to.iter_mut().skip(weight).zip(from) {
                *to += from;
            }
        }
    }
    normalised(ways.pop()?)
}

/// Returns P(sum = s) for each s from 0, where each weight is included with probability ½.
///
/// Returns `None` if the computation would exceed [`MAX_WORK`], or if there are no weights or more than 1000.
pub(crate) fn of_signs(weights: &[u64]) -> Option<Vec<f64>> {
    let most = largest_sum(weights, weights.len())?;
    if weights.is_empty() || weights.len() > 1_000 || (most + 1).checked_mul(weights.len() as u64)? > MAX_WORK {
        return None;
    }
    let mut ways = vec![0.0; most as usize + 1];
    *ways.first_mut()? = 1.0;
    for &weight in weights {
        for s in (weight as usize..ways.len()).rev() {
            let from = ways.get(s - weight as usize).copied().unwrap_or(0.0);
            if let Some(to) = ways.get_mut(s) {
                *to += from;
            }
        }
    }
    normalised(ways)
}

/// Returns the two-sided p-value of `sum`: twice the probability of the smaller tail, at most 1.
pub(crate) fn two_sided(distribution: &[f64], sum: u64) -> f64 {
    let at = sum as usize;
    let low: f64 = distribution.iter().take(at + 1).sum();
    let high: f64 = distribution.iter().skip(at).sum();
    (2.0 * low.min(high)).min(1.0)
}

/// Returns the largest c ≥ 1 with 2·P(sum < c) ≤ 1 − `confidence`, and 1 − 2·P(sum < c). c is counted from `from`, the
/// smallest possible sum. `None` if no c ≥ 1 satisfies this.
pub(crate) fn critical(distribution: &[f64], from: usize, confidence: f64) -> Option<(u64, f64)> {
    let (mut below, mut found) = (0.0, None);
    for (c, p) in (1u64..).zip(distribution.iter().skip(from)) {
        below += p;
        // A confidence that is met exactly, such as 1 − 2⁻⁵, counts as met.
        if 2.0 * below > (1.0 - confidence) * (1.0 + 1e-12) {
            break;
        }
        found = Some((c, 1.0 - 2.0 * below));
    }
    found
}

/// Returns the sum of the `chosen` largest weights, which is the largest possible sum; `None` if it reaches
/// [`MAX_WORK`].
fn largest_sum(weights: &[u64], chosen: usize) -> Option<u64> {
    let mut sorted = weights.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    sorted.iter().take(chosen).try_fold(0u64, |sum, &w| sum.checked_add(w)).filter(|&sum| sum < MAX_WORK)
}

fn normalised(mut ways: Vec<f64>) -> Option<Vec<f64>> {
    let all: f64 = ways.iter().sum();
    if !(all.is_finite() && all > 0.0) {
        return None;
    }
    ways.iter_mut().for_each(|w| *w /= all);
    Some(ways)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_five() {
        // Sums of 3 of 1..5: 6 7 8 8 9 9 10 10 11 12.
        let p = of_choices(&[1, 2, 3, 4, 5], 3).unwrap();
        let tenths: Vec<f64> = p.iter().skip(6).map(|p| (p * 10.0).round()).collect();
        assert_eq!(tenths, [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn signs_of_three() {
        let eighths: Vec<f64> = of_signs(&[1, 2, 3]).unwrap().iter().map(|p| p * 8.0).collect();
        assert_eq!(eighths, [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0]);
        assert_eq!(two_sided(&of_signs(&[1, 2, 3]).unwrap(), 0), 0.25);
        assert_eq!(two_sided(&of_signs(&[1, 2, 3]).unwrap(), 3), 1.0);
    }

    #[test]
    fn too_much_is_refused() {
        let many: Vec<u64> = (1..=100_000).collect();
        assert_eq!(of_choices(&many, 50_000), None);
        assert_eq!(of_signs(&many), None);
        assert_eq!(of_choices(&[u64::MAX, 1], 2), None);
        assert_eq!(of_choices(&[1], 2), None);
        assert_eq!(of_choices(&[], 0), None);
        assert_eq!(of_signs(&[]), None);
    }

    #[test]
    fn the_critical_value_of_six_pairs() {
        let p = of_signs(&[1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(critical(&p, 0, 0.95), Some((1, 0.96875)));
        assert_eq!(critical(&p, 0, 0.96875), Some((1, 0.96875)));
        assert_eq!(critical(&p, 0, 0.97), None);
    }
}
