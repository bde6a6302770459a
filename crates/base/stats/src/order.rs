//! Sorting, ranks and sample quantiles.

/// Returns a sorted copy; `None` if there are no values or a value is not finite.
pub(crate) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut copy = values.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    Some(copy)
}

/// Returns the `q` quantile (0–1) of values in ascending order, by linear interpolation as in R and numpy (type 7 of R.
/// J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", Am. Stat. 50 (1996)).
///
/// Returns `None` if there are no values or `q` is outside 0–1.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let at = q * last as f64;
    let below = at.floor();
    let low = sorted.get(below as usize)?;
    let high = sorted.get((below as usize + 1).min(last))?;
    let part = at - below;
    // Each form is exact at its end, as in numpy.
    Some(if part < 0.5 { low + (high - low) * part } else { high - (high - low) * (1.0 - part) })
}

/// Like [`quantile_of_sorted`], for values in any order. Returns `None` also if a value is not finite.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(values)?, q)
}

pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns twice the rank (1 = smallest) of each value, in the order of the values, and Σ(t³ − t) over groups of t
/// equal values. Equal values share their mean rank, which may be a half; twice the rank is always an integer.
pub(crate) fn double_ranks(values: &[f64]) -> (Vec<u64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let value = |i: usize| values.get(i).copied().unwrap_or(f64::NAN);
    order.sort_unstable_by(|&i, &j| value(i).total_cmp(&value(j)));
    let (mut ranks, mut ties, mut before) = (vec![0; values.len()], 0.0, 0u64);
    for group in order.chunk_by(|&i, &j| value(i) == value(j)) {
        let t = group.len() as u64;
        for &i in group {
            if let Some(rank) = ranks.get_mut(i) {
                *rank = 2 * before + t + 1;
            }
        }
        ties += (t as f64).powi(3) - t as f64;
        before += t;
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn type_seven() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(median(&values), Some(2.5));
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 1.0), Some(4.0));
        assert_eq!(quantile(&values, 0.9), Some(3.7));
        assert_eq!(quantile(&[7.0], 0.3), Some(7.0));
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(median(&[1.0, f64::INFINITY]), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(quantile_of_sorted(&[1.0], 1.1), None);
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(double_ranks(&[5.0, 1.0, 5.0, 9.0]), (vec![5, 2, 5, 8], 6.0));
        assert_eq!(double_ranks(&[0.0, -0.0]), (vec![3, 3], 6.0));
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_within(values in proptest::collection::vec(-1e6f64..1e6, 1..50), q in 0.0f64..0.9) {
            let (low, high) = (quantile(&values, q).unwrap(), quantile(&values, q + 0.1).unwrap());
            prop_assert!(low <= high + 1e-9);
            prop_assert!(quantile(&values, 0.0).unwrap() <= low && high <= quantile(&values, 1.0).unwrap());
        }

        #[test]
        fn ranks_add_up(values in proptest::collection::vec(0u8..9, 1..50)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let n = values.len() as u64;
            prop_assert_eq!(double_ranks(&values).0.iter().sum::<u64>(), n * (n + 1));
        }
    }
}
