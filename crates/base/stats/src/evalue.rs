//! Evidence about the rate of rare events that is valid whenever it is checked (anytime-valid).
//!
//! An e-process against the hypothesis "events occur at least (or at most) at this rate" has an expected value of at
//! most 1 at any time if the hypothesis is true. It therefore reaches 1/α with a probability of at most α (Ville's
//! inequality), however often it is checked and whatever the reason for stopping. Here it is a mixture of likelihood
//! ratios of Poisson processes against the rate at the limit (H. Robbins, "Statistical methods related to the law of
//! the iterated logarithm", Ann. Math. Stat. 41, 1970; S. Howard et al., "Time-uniform, nonparametric, nonasymptotic
//! confidence sequences", Ann. Stat. 49, 2021). The rate need not be constant and the events need not be independent.
//! It is enough that at each moment the rate given the past satisfies the hypothesis.
//!
//! Events may have weights between 0 and 1. A sum of weights instead of a count is valid too, because q^w ≤ 1 − w·(1 −
//! q) for 0 ≤ w ≤ 1.

/// Rates below the limit as ratios to the rate at the limit, each with its weight. Half of the weight is on the ratio
/// 0: if no event occurs, a decision needs at most ln 40 expected events. If the true rate is half the limit, the other
/// ratios decide after 21 expected events (median).
const BELOW: [(f64, f64); 7] =
    [(0.0, 0.5), (0.1, 0.1), (0.2, 0.1), (0.35, 0.1), (0.5, 0.09), (0.65, 0.07), (0.85, 0.04)];
const ABOVE: [(f64, f64); 9] = [
    (1.1, 0.05),
    (1.3, 0.05),
    (1.7, 0.15),
    (2.5, 0.3),
    (3.5, 0.2),
    (6.0, 0.1),
    (20.0, 0.05),
    (100.0, 0.05),
    (1000.0, 0.05),
];

/// Returns the natural logarithm of the e-value against the hypothesis "the rate is at least the limit", after `events`
/// were observed and `expected` events would be expected at the limit. Minus infinity for invalid input.
pub fn ln_e_below(events: f64, expected: f64) -> f64 {
    ln_e(&BELOW, events, expected)
}

/// Like [`ln_e_below`], against the hypothesis "the rate is at most the limit".
pub fn ln_e_above(events: f64, expected: f64) -> f64 {
    ln_e(&ABOVE, events, expected)
}

fn ln_e(mixture: &[(f64, f64)], events: f64, expected: f64) -> f64 {
    if !(events >= 0.0 && expected >= 0.0 && events.is_finite() && expected.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let of = |&(ratio, weight): &(f64, f64)| {
        let counted = if events > 0.0 { events * ratio.ln() } else { 0.0 };
        weight.ln() + expected * (1.0 - ratio) + counted
    };
    ln_sum(mixture.iter().map(of))
}

/// Returns the logarithm of a sum of terms that are given by their logarithms: ln Σ exp(x).
fn ln_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    match largest.is_finite() {
        true => largest + terms.map(|x| (x - largest).exp()).sum::<f64>().ln(),
        false => largest,
    }
}

/// Returns the natural logarithm of the mean of e-values that are given by their logarithms. The mean is itself an
/// e-value, whatever the dependence between them (V. Vovk, R. Wang, "E-values: calibration, combination and
/// applications", Ann. Stat. 49, 2021). Minus infinity if there are none.
pub fn ln_mean_e(ln_e: &[f64]) -> f64 {
    ln_sum(ln_e.iter().copied()) - (ln_e.len().max(1) as f64).ln()
}

/// Returns the value that the logarithm of an e-value must reach for a decision at this confidence: −ln(1 −
/// confidence).
pub fn ln_e_needed(confidence: f64) -> f64 {
    -(-confidence).ln_1p()
}

/// Returns an upper bound at `confidence` on the expected number of events if `events` were observed. It is valid at
/// any time. It is the smallest expected number that [`ln_e_below`] rejects: 3.38 at 95 % if no event occurred (3.00
/// for a time that was fixed beforehand). Infinite for invalid input.
pub fn expected_upper(events: f64, confidence: f64) -> f64 {
    let needed = ln_e_needed(confidence);
    if !(events >= 0.0 && events.is_finite() && needed.is_finite() && needed > 0.0) {
        return f64::INFINITY;
    }
    // The evidence grows with the expected number.
    let rejected = |expected: f64| ln_e_below(events, expected) >= needed;
    bisected(events, 2.0 * events + 16.0 * needed + 64.0, rejected).unwrap_or(f64::INFINITY)
}

/// Returns a lower bound like [`expected_upper`]: the largest expected number that [`ln_e_above`] rejects. 0 for
/// invalid input.
pub fn expected_lower(events: f64, confidence: f64) -> f64 {
    let needed = ln_e_needed(confidence);
    if !(events > 0.0 && events.is_finite() && needed.is_finite() && needed > 0.0) {
        return 0.0;
    }
    // The evidence falls with the expected number.
    bisected(0.0, events, |expected| ln_e_above(events, expected) < needed).unwrap_or(0.0)
}

/// Returns the smallest value from `low` to `high` for which the predicate holds, provided that it also holds for all
/// larger values; `None` if it does not hold at `high`.
fn bisected(low: f64, high: f64, is_so: impl Fn(f64) -> bool) -> Option<f64> {
    if !is_so(high) {
        return None;
    }
    let (mut low, mut high) = (low, high);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if is_so(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;
    use proptest::prelude::*;

    #[test]
    fn nothing_known_claims_nothing() {
        for (events, expected) in [(-1.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY), (1.0, -1.0), (1.0, f64::NAN)] {
            assert_eq!(ln_e_below(events, expected), f64::NEG_INFINITY);
            assert_eq!(ln_e_above(events, expected), f64::NEG_INFINITY);
        }
        assert_eq!((expected_upper(f64::NAN, 0.95), expected_upper(0.0, 1.0)), (f64::INFINITY, f64::INFINITY));
        assert_eq!((expected_lower(0.0, 0.95), expected_lower(3.0, f64::NAN)), (0.0, 0.0));
        assert_eq!(ln_mean_e(&[]), f64::NEG_INFINITY);
    }

    #[test]
    fn without_an_event_three_and_a_half_are_excluded() {
        assert!((expected_upper(0.0, 0.95) - 3.38).abs() < 0.01, "{}", expected_upper(0.0, 0.95));
        assert!((ln_e_needed(0.95) - 20f64.ln()).abs() < 1e-12);
        assert!((ln_mean_e(&[0.0, 3f64.ln()]) - 2f64.ln()).abs() < 1e-12);
    }

    /// Simulates 4,000 Poisson processes at the limit, up to 60 expected events each, and checks them after every event
    /// and just before the next event.
    #[test]
    fn at_the_limit_it_rejects_at_most_one_in_twenty_whenever_one_looks() {
        let (mut random, needed, runs) = (SplitMix64::new(11), ln_e_needed(0.95), 4_000);
        let (mut below, mut above) = (0, 0);
        for _ in 0..runs {
            let (mut at, mut events, mut erred) = (0.0, 0.0, (false, false));
            while at < 60.0 {
                at -= random.uniform().ln();
                erred.0 |= ln_e_below(events, at) >= needed;
                events += 1.0;
                erred.1 |= ln_e_above(events, at) >= needed;
            }
            below += i32::from(erred.0);
            above += i32::from(erred.1);
        }
        assert!(below <= runs / 20 && above <= runs / 20, "{below} {above}");
        // The test has some power too.
        assert!(below > runs / 40 && above > runs / 80, "{below} {above}");
    }

    proptest! {
        #[test]
        fn bounds_contain_what_came(events in 0.0f64..1e6, confidence in 0.5f64..0.999_9) {
            let (low, high) = (expected_lower(events, confidence), expected_upper(events, confidence));
            prop_assert!(low <= events && events <= high && high.is_finite(), "{low} {high}");
            prop_assert!(ln_e_below(events, high * 1.000_001) >= ln_e_needed(confidence) - 1e-6);
        }

        #[test]
        fn more_events_raise_the_bounds(events in 0.0f64..1e4, more in 0.1f64..100.0, confidence in 0.5f64..0.999) {
            prop_assert!(expected_upper(events, confidence) < expected_upper(events + more, confidence));
            prop_assert!(expected_lower(events, confidence) <= expected_lower(events + more, confidence));
        }
    }
}
