//! The k-th smallest of all pairwise differences or means, found without enumerating them.
//!
//! The number of pairs at or below a value is counted with two pointers into the sorted samples. The k-th smallest
//! value is found by bisection over the representable numbers, so the result is exactly the value of one of the pairs
//! after at most 64 counts. Rounding is monotonic, so sorted samples give sorted pairs in floating point too.

/// Returns the `k`-th smallest (from 1) of the differences y − x over all x in `xs` and y in `ys`, both in ascending
/// order; `None` if there are fewer than `k` differences.
pub(crate) fn nth_difference(xs: &[f64], ys: &[f64], k: u128) -> Option<f64> {
    let pairs = xs.len() as u128 * ys.len() as u128;
    smallest(k, pairs, |v| {
        let (mut below, mut count) = (0, 0u128);
        for x in xs {
            while ys.get(below).is_some_and(|y| y - x <= v) {
                below += 1;
            }
            count += below as u128;
        }
        count
    })
}

/// Returns the `k`-th smallest (from 1) of the Walsh averages (xᵢ + xⱼ)/2, i ≤ j, of a sample in ascending order.
pub(crate) fn nth_walsh(xs: &[f64], k: u128) -> Option<f64> {
    let n = xs.len() as u128;
    smallest(k, n * (n + 1) / 2, |v| {
        let (mut end, mut count) = (xs.len(), 0u128);
        for (i, x) in xs.iter().enumerate() {
            while end > i && xs.get(end - 1).is_some_and(|y| 0.5 * x + 0.5 * y > v) {
                end -= 1;
            }
            count += end.saturating_sub(i) as u128;
        }
        count
    })
}

/// Returns the median of `count` values, where `nth` returns the k-th smallest: the middle value, or the mean of the
/// two middle values.
pub(crate) fn middle(count: u128, nth: impl Fn(u128) -> Option<f64>) -> Option<f64> {
    let low = nth(count.div_ceil(2))?;
    if count % 2 == 1 {
        return Some(low);
    }
    Some(0.5 * low + 0.5 * nth(count / 2 + 1)?)
}

fn smallest(k: u128, of: u128, at_or_below: impl Fn(f64) -> u128) -> Option<f64> {
    if k == 0 || k > of {
        return None;
    }
    let (mut low, mut high) = (key(f64::NEG_INFINITY), key(f64::INFINITY));
    while low < high {
        let middle = low + (high - low) / 2;
        if at_or_below(value(middle)) >= k {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // Turns −0 into 0.
    Some(value(low) + 0.0).filter(|v| v.is_finite())
}

/// Maps a number to an unsigned integer, preserving the order.
fn key(v: f64) -> u64 {
    let bits = v.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn value(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn out_of_range_is_none() {
        assert_eq!(nth_difference(&[1.0], &[2.0], 0), None);
        assert_eq!(nth_difference(&[1.0], &[2.0], 2), None);
        assert_eq!(nth_difference(&[], &[2.0], 1), None);
        assert_eq!(nth_walsh(&[], 1), None);
        assert_eq!(nth_difference(&[-f64::MAX], &[f64::MAX], 1), None);
    }

    #[test]
    fn all_pairs_of_many_need_no_memory() {
        let xs: Vec<f64> = (0..20_000).map(f64::from).collect();
        assert_eq!(nth_difference(&xs, &xs, 200_000_000), Some(0.0));
    }

    fn samples() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(prop_oneof![-9.0f64..9.0, Just(0.0), Just(-0.0), Just(1.0)], 1..15)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(80))]

        #[test]
        fn differences_as_if_written_down(mut xs in samples(), mut ys in samples()) {
            xs.sort_unstable_by(f64::total_cmp);
            ys.sort_unstable_by(f64::total_cmp);
            let mut all: Vec<f64> = xs.iter().flat_map(|x| ys.iter().map(move |y| y - x)).collect();
            all.sort_unstable_by(f64::total_cmp);
            for (k, want) in (1..).zip(&all) {
                prop_assert_eq!(nth_difference(&xs, &ys, k), Some(*want));
            }
        }

        #[test]
        fn walsh_averages_as_if_written_down(mut xs in samples()) {
            xs.sort_unstable_by(f64::total_cmp);
            let mut all = vec![];
            for (i, x) in xs.iter().enumerate() {
                all.extend(xs[i..].iter().map(|y| 0.5 * x + 0.5 * y));
            }
            all.sort_unstable_by(f64::total_cmp);
            for (k, want) in (1..).zip(&all) {
                prop_assert_eq!(nth_walsh(&xs, k), Some(*want));
            }
        }
    }
}
