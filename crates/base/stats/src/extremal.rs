//! Clustering of late samples: the extremal index θ, from 0 (all in one cluster) to 1 (independent).
//!
//! The extremes of n samples with the extremal index θ carry as much information as the extremes of n·θ independent
//! samples. Both estimators use the gaps between late samples. Gaps of equal size may be grouped, so that a stall that
//! makes thousands of samples late needs one entry.

/// A distance between successive late samples, and how often it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Number of samples from one late sample to the next; 1 if adjacent.
    pub size: u64,
    pub times: u64,
}

/// Returns the gaps between late samples at the given positions (cycle numbers), which must be in ascending order.
/// Equal positions count once.
pub fn gaps(positions: &[u64]) -> impl Iterator<Item = Gap> + '_ {
    positions.windows(2).map(|w| w[1].saturating_sub(w[0])).filter(|&size| size > 0).map(|size| Gap { size, times: 1 })
}

/// Returns the intervals estimate of the extremal index, 0–1, which needs no run length; `None` if there is no gap, or
/// if the gaps give no finite estimate.
///
/// With the N−1 gaps Tᵢ between N late samples: θ̂ = 2(ΣT)² / ((N−1)ΣT²) if the largest gap is at most 2, otherwise
/// 2(Σ(T−1))² / ((N−1)Σ(T−1)(T−2)); at most 1.
///
/// The estimator compares gaps with each other. Late samples that are all adjacent form a single cluster, but give 1.
/// Therefore combine it with [`runs_estimator`].
///
/// Source: C. A. T. Ferro and J. Segers, "Inference for clusters of extreme values", J. R. Statist. Soc. B 65 (2003).
pub fn intervals_estimator(gaps: impl IntoIterator<Item = Gap>) -> Option<f64> {
    let (mut count, mut largest) = (0.0, 0);
    let (mut sum, mut squares, mut less_one, mut products) = (0.0, 0.0, 0.0, 0.0);
    for Gap { size, times } in gaps.into_iter().filter(|g| g.times > 0) {
        let (t, n) = (size as f64, times as f64);
        count += n;
        largest = largest.max(size);
        sum += n * t;
        squares += n * t * t;
        less_one += n * (t - 1.0);
        products += n * (t - 1.0) * (t - 2.0);
    }
    let (first, second) = if largest <= 2 { (sum, squares) } else { (less_one, products) };
    (count > 0.0 && second > 0.0).then(|| (2.0 * first * first / (count * second)).min(1.0))
}

/// Returns the runs estimate of the extremal index: the number of clusters divided by the number of late samples. Late
/// samples at most `run_length` apart belong to one cluster. The result is above 0 and at most 1; it is 1 for a single
/// late sample (no gap).
///
/// Source: R. L. Smith and I. Weissman, "Estimating the extremal index", J. R. Statist. Soc. B 56 (1994).
pub fn runs_estimator(gaps: impl IntoIterator<Item = Gap>, run_length: u64) -> f64 {
    let (mut late, mut clusters) = (1.0, 1.0);
    for Gap { size, times } in gaps {
        late += times as f64;
        if size > run_length {
            clusters += times as f64;
        }
    }
    clusters / late
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_gap_no_estimate() {
        assert_eq!(intervals_estimator(gaps(&[])), None);
        assert_eq!(intervals_estimator(gaps(&[7])), None);
        assert_eq!(intervals_estimator(gaps(&[7, 7])), None);
        assert_eq!(runs_estimator(gaps(&[7]), 1), 1.0);
    }

    #[test]
    fn one_cluster_deceives_the_intervals_but_not_the_runs() {
        let stall = [Gap { size: 1, times: 75 }];
        assert_eq!(intervals_estimator(stall), Some(1.0));
        assert_eq!(runs_estimator(stall, 1), 1.0 / 76.0);
    }

    #[test]
    fn pairs_are_half() {
        let pairs: Vec<u64> =
            (0..1_000u64).flat_map(|i| [i * i * 50 + 1_000 * i, i * i * 50 + 1_000 * i + 1]).collect();
        assert!((runs_estimator(gaps(&pairs), 1) - 0.5).abs() < 1e-12);
        assert!(intervals_estimator(gaps(&pairs)).unwrap() < 0.8);
    }

    proptest! {
        #[test]
        fn between_zero_and_one(mut positions in proptest::collection::vec(0u64..100_000, 2..300), run in 0u64..50) {
            positions.sort_unstable();
            let runs = runs_estimator(gaps(&positions), run);
            prop_assert!(runs > 0.0 && runs <= 1.0);
            prop_assert!(runs_estimator(gaps(&positions), run + 1) <= runs);
            if let Some(theta) = intervals_estimator(gaps(&positions)) {
                prop_assert!(theta > 0.0 && theta <= 1.0, "{theta}");
            }
        }

        #[test]
        fn grouped_gaps_are_the_same_gaps(sizes in proptest::collection::vec((1u64..1_000, 1u64..20), 1..30)) {
            let grouped: Vec<Gap> = sizes.iter().map(|&(size, times)| Gap { size, times }).collect();
            let single: Vec<Gap> = grouped.iter().flat_map(|g| vec![Gap { times: 1, ..*g }; g.times as usize]).collect();
            let (a, b) = (intervals_estimator(grouped.clone()), intervals_estimator(single.clone()));
            prop_assert!(a.zip(b).is_none_or(|(a, b)| (a - b).abs() < 1e-12));
            prop_assert_eq!(a.is_some(), b.is_some());
            prop_assert!((runs_estimator(grouped, 7) - runs_estimator(single, 7)).abs() < 1e-12);
        }
    }
}
