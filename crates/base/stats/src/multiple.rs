//! Correction for multiple comparisons (CPUs, quantiles, workloads).

/// Returns the adjusted p-value of each test. If all tests with an adjusted p-value of at most q are rejected, the
/// expected share of false rejections is at most q. The i-th smallest of m p-values becomes the smallest m·p₍ⱼ₎/j for j
/// ≥ i, at most 1. Valid for independent or positively dependent tests.
///
/// The result has the order of the input. Returns `None` if a value is not a probability.
///
/// Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57 (1995).
pub fn benjamini_hochberg(p: &[f64]) -> Option<Vec<f64>> {
    if p.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return None;
    }
    let mut ordered: Vec<(usize, f64)> = p.iter().copied().enumerate().collect();
    ordered.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![1.0; p.len()];
    let mut smallest = 1.0f64;
    for (j, &(index, p)) in ordered.iter().enumerate().rev() {
        smallest = smallest.min(p * (ordered.len() as f64 / (j + 1) as f64));
        if let Some(slot) = adjusted.get_mut(index) {
            *slot = smallest;
        }
    }
    Some(adjusted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_tests() {
        let adjusted = benjamini_hochberg(&[0.03, 0.01, 0.02, 0.5, 0.04]).unwrap();
        let want = [0.05, 0.05, 0.05, 0.5, 0.05];
        assert!(adjusted.iter().zip(want).all(|(a, w)| (a - w).abs() < 1e-15), "{adjusted:?}");
        assert_eq!(benjamini_hochberg(&[]), Some(vec![]));
        assert_eq!(benjamini_hochberg(&[f64::NAN]), None);
        assert_eq!(benjamini_hochberg(&[1.1]), None);
    }

    proptest! {
        #[test]
        fn never_smaller_and_in_the_same_order(p in proptest::collection::vec(0.0f64..1.0, 1..30)) {
            let adjusted = benjamini_hochberg(&p).unwrap();
            for (i, a) in p.iter().zip(&adjusted) {
                prop_assert!(a >= i && *a <= 1.0);
                prop_assert!(p.iter().zip(&adjusted).all(|(j, b)| j < i || b >= a));
            }
        }
    }
}
