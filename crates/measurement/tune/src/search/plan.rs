//! Determines the number of pairs needed, and evaluates them.

use punctual_stats::{Estimate, confidence_at_look, median, paired_shift, signed_rank};
use std::f64::consts::LN_2;
use std::iter::repeat;

/// Returns the significance level of the `nth` confirmation (from 1). The levels of all confirmations sum to at most
/// `alpha`.
pub(crate) fn alpha_of(alpha: f64, nth: u64) -> f64 {
    1.0 - confidence_at_look(1.0 - alpha, nth)
}

/// Returns the number of pairs of a confirmation at the one-sided level `alpha`: the number needed if all have the same
/// sign, plus two.
pub(crate) fn pairs_for(alpha: f64) -> usize {
    let least = (-alpha.ln() / LN_2).ceil().max(5.0);
    least as usize + 2
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judgement {
    /// Value with the change minus value without it, ns; negative if the change is an improvement.
    pub shift: Estimate,
    /// Probability of pairs at least this favourable if the change has no effect.
    pub p: f64,
}

/// Evaluates pairs; `None` if there are none.
pub(crate) fn judge(pairs: &[(f64, f64)]) -> Option<Judgement> {
    let shift = paired_shift(pairs, 0.95)?;
    let differences: Vec<f64> = pairs.iter().map(|(without, with)| with - without).collect();
    let test = signed_rank(&differences)?;
    let most = 0.5 * test.n as f64 * (test.n as f64 + 1.0);
    let helps = test.w < 0.5 * most;
    Some(Judgement { shift, p: if helps { 0.5 * test.p } else { 1.0 - 0.5 * test.p } })
}

/// Returns true if `pairs` cannot reach level `alpha` even if the remaining pairs, up to `all`, are as favourable as
/// possible.
pub(crate) fn is_futile(pairs: &[(f64, f64)], all: usize, alpha: f64) -> bool {
    // The most favourable case: the remaining differences are negative and larger in magnitude than all others.
    let largest = pairs.iter().map(|(a, b)| (b - a).abs()).fold(1.0, f64::max);
    let hoped = (pairs.len()..all).map(|n| (0.0, -largest * (2.0 + n as f64)));
    let hoped: Vec<(f64, f64)> = pairs.iter().copied().chain(hoped).collect();
    judge(&hoped).is_none_or(|best| best.p > alpha)
}

/// Returns true if the median of all `all` differences can no longer reach the minimum effect that `least` returns for
/// the typical value of a block: more than half are too small even for the smallest typical value still possible.
pub(crate) fn is_hopeless(pairs: &[(f64, f64)], all: usize, least: impl Fn(f64) -> f64) -> bool {
    let without: Vec<f64> = pairs.iter().map(|(without, _)| *without).chain(repeat(0.0)).take(all).collect();
    let least = least(median(&without).unwrap_or(0.0));
    2 * pairs.iter().filter(|(without, with)| without - with < least).count() > all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_of_one_sign_are_enough() {
        for nth in 1..40 {
            let alpha = alpha_of(0.05, nth);
            let pairs: Vec<(f64, f64)> = (0..pairs_for(alpha) - 2).map(|n| (100.0, 90.0 - n as f64)).collect();
            assert!(judge(&pairs).unwrap().p <= alpha, "{nth}: {} pairs", pairs.len());
        }
        let sum: f64 = (1..100_000).map(|nth| alpha_of(0.05, nth)).sum();
        assert!(sum <= 0.05, "{sum}");
    }

    #[test]
    fn equal_blocks_help_nobody() {
        let judged = judge(&[(10.0, 10.0); 8]).unwrap();
        assert!(judged.p >= 0.5, "{judged:?}");
    }

    proptest! {
        #[test]
        fn futile_is_futile(pairs in proptest::collection::vec((0.0f64..100.0, 0.0f64..100.0), 8..9), cut in 1usize..8, alpha in 0.001f64..0.05) {
            if is_futile(&pairs[..cut], pairs.len(), alpha) {
                prop_assert!(judge(&pairs).unwrap().p > alpha);
            }
        }

        #[test]
        fn hopeless_is_hopeless(pairs in proptest::collection::vec((0.0f64..100.0, 0.0f64..100.0), 1..6), cut in 0usize..6) {
            let least = |usual: f64| (0.3 * usual).max(10.0);
            let cut = cut.min(pairs.len());
            if is_hopeless(&pairs[..cut], pairs.len(), least) {
                let of = |figure: fn(&(f64, f64)) -> f64| median(&pairs.iter().map(figure).collect::<Vec<_>>()).unwrap();
                prop_assert!(of(|(without, with)| without - with) < least(of(|(without, _)| *without)));
            }
        }
    }
}
