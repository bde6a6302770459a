//! Tests whether the distributions of two samples differ.

use crate::order::sorted;

/// Maximum number of steps for the exact distribution. For larger samples the asymptotic distribution is accurate to
/// two digits.
const MAX_STEPS: u128 = 4_000_000;

/// Result of the two-sample Kolmogorov–Smirnov test of the hypothesis that both samples come from the same
/// distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KolmogorovSmirnov {
    /// D, the largest distance between the two empirical distribution functions, 0–1.
    pub distance: f64,
    /// The value at which the distance is largest.
    pub at: f64,
    /// Probability of at least this distance under the hypothesis; conservative with ties.
    pub p: f64,
}

/// Performs the two-sample Kolmogorov–Smirnov test. p is exact if the product of the sample sizes is at most four
/// million.
///
/// Returns `None` if a sample is empty or a value is not finite.
///
/// Source: for the exact distribution, J. L. Hodges, "The significance probability of the Smirnov two-sample test",
/// Arkiv för Matematik 3 (1957); otherwise Kolmogorov's limit, see [`kolmogorov_p`].
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> Option<KolmogorovSmirnov> {
    let (a, b) = (sorted(a)?, sorted(b)?);
    let (distance, at) = largest_distance(&a, &b)?;
    let steps = a.len() as u128 * b.len() as u128;
    let p =
        if steps <= MAX_STEPS { exact(a.len(), b.len(), distance) } else { kolmogorov_p(distance, a.len(), b.len()) };
    Some(KolmogorovSmirnov { distance, at, p })
}

/// Returns P(D ≥ `distance`) for two large samples: 2 Σ (−1)^(k−1) e^(−2k²λ²) with λ = (√m + .12 + .11/√m)·D and m =
/// n_a·n_b/(n_a+n_b). Returns 1 for an empty sample.
///
/// Source of the correction terms: M. A. Stephens, "Use of the Kolmogorov–Smirnov, Cramér–von Mises and related
/// statistics without extensive tables", J. R. Statist. Soc. B 32 (1970).
pub fn kolmogorov_p(distance: f64, n_a: usize, n_b: usize) -> f64 {
    let (a, b) = (n_a as f64, n_b as f64);
    let root = (a * b / (a + b)).sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * distance;
    // Below this the sum converges slowly, and is 1 to twelve digits. Also handles an empty sample.
    if lambda.is_nan() || lambda < 0.25 || root == 0.0 {
        return 1.0;
    }
    let mut sum = 0.0;
    for k in 1..100 {
        let k = f64::from(k);
        let term = (-2.0 * k * k * lambda * lambda).exp();
        sum += if k % 2.0 == 1.0 { term } else { -term };
        if term < 1e-17 * sum {
            break;
        }
    }
    (2.0 * sum).clamp(0.0, 1.0)
}

fn largest_distance(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let (mut i, mut j) = (0, 0);
    let (mut largest, mut at) = (0.0, *a.first()?);
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        let v = x.min(y);
        i += a.get(i..)?.iter().take_while(|&&x| x <= v).count();
        j += b.get(j..)?.iter().take_while(|&&y| y <= v).count();
        let distance = (i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs();
        if distance > largest {
            (largest, at) = (distance, v);
        }
    }
    Some((largest, at))
}

/// Returns P(D ≥ `distance`) for sample sizes m and n: the share of rank orders, seen as paths through a grid, that
/// leave the band of width D. Shares instead of counts of paths are used, so that no number exceeds 1.
fn exact(m: usize, n: usize, distance: f64) -> f64 {
    let (rows, columns) = (m as f64, n as f64);
    // Distances are multiples of 1/mn: half a multiple less means "smaller than D" without rounding errors.
    let band = ((distance * rows * columns).round() - 0.5) / (rows * columns);
    // outside[j] is the share of all paths to (i, j) that left the band.
    let mut outside = vec![0.0; n + 1];
    for i in 0..=m {
        let x = i as f64;
        let mut left = 0.0;
        for (j, cell) in outside.iter_mut().enumerate() {
            let y = j as f64;
            let above = *cell;
            *cell = match (x / rows - y / columns).abs() > band {
                true => 1.0,
                false if i + j == 0 => 0.0,
                false => (x * above + y * left) / (x + y),
            };
            left = *cell;
        }
    }
    outside.last().copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_input_is_none() {
        assert_eq!(kolmogorov_smirnov(&[], &[1.0]), None);
        assert_eq!(kolmogorov_smirnov(&[1.0], &[f64::NAN]), None);
        assert_eq!(kolmogorov_p(0.5, 0, 3), 1.0);
        assert_eq!(kolmogorov_p(f64::NAN, 3, 3), 1.0);
    }

    #[test]
    fn separated_samples() {
        // Of C(8, 4) = 70 orders, 2 are this extreme.
        let far = kolmogorov_smirnov(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).unwrap();
        assert_eq!((far.distance, far.at), (1.0, 4.0));
        assert!((far.p - 2.0 / 70.0).abs() < 1e-14);
        let same = kolmogorov_smirnov(&[1.0, 2.0], &[1.0, 2.0]).unwrap();
        assert_eq!((same.distance, same.p), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn symmetric_and_a_probability(a in proptest::collection::vec(0.0f64..9.0, 1..40), b in proptest::collection::vec(0.0f64..9.0, 1..40)) {
            let (there, back) = (kolmogorov_smirnov(&a, &b).unwrap(), kolmogorov_smirnov(&b, &a).unwrap());
            prop_assert!((there.distance - back.distance).abs() < 1e-12 && (there.p - back.p).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&there.p) && (0.0..=1.0).contains(&there.distance));
        }

        #[test]
        fn the_limit_is_near_the_exact(m in 60usize..120, n in 60usize..120, steps in 8u32..40) {
            let d = f64::from(steps) / 100.0;
            prop_assert!((exact(m, n, d) - kolmogorov_p(d, m, n)).abs() < 0.15);
        }
    }
}
