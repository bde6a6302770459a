//! Correction for repeated tests of growing data.

use std::f64::consts::PI;

/// Returns the confidence to use at the `look`-th test (from 1) of growing data, so that all decisions together hold
/// with `confidence`, however many tests there are: 1 − α·6/(π²k²) with α = 1 − confidence and k = `look`. By the union
/// bound this is valid because Σ 1/k² = π²/6. H. Robbins divides α in the same way ("Statistical methods related to the
/// law of the iterated logarithm", Ann. Math. Stat. 41, 1970).
///
/// The times of the tests must not depend on the data. `look` = 0 means that there is a single test at the end; the
/// function then returns `confidence`. An invalid confidence is returned unchanged.
pub fn confidence_at_look(confidence: f64, look: u64) -> f64 {
    if look == 0 || !(confidence > 0.0 && confidence < 1.0) {
        return confidence;
    }
    let k = look as f64;
    1.0 - (1.0 - confidence) * 6.0 / (PI * PI * k * k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SplitMix64, exceedance_lower, exceedance_upper};
    use proptest::prelude::*;

    #[test]
    fn one_that_is_not_looked_at_stays() {
        assert_eq!(confidence_at_look(0.95, 0), 0.95);
        assert_eq!(confidence_at_look(1.0, 3), 1.0);
        assert!(confidence_at_look(f64::NAN, 3).is_nan());
    }

    #[test]
    fn the_tenth_look_asks_for_more() {
        assert!((confidence_at_look(0.95, 1) - 0.969_603_6).abs() < 1e-6);
        assert!((confidence_at_look(0.95, 10) - 0.999_696_0).abs() < 1e-6);
    }

    /// Returns the share of runs in which a claim exactly at the limit is decided at one of eight tests, each with
    /// twice the data of the previous test.
    fn decided(correct: bool, pass: bool) -> f64 {
        const RUNS: u64 = 1_500;
        let p = 0.05;
        let mut random = SplitMix64::new(7);
        let mut wrong = 0;
        for _ in 0..RUNS {
            let (mut n, mut k, mut erred) = (0u64, 0u64, false);
            for look in 1..=8u64 {
                let upto = 64 << (look - 1);
                while n < upto {
                    k += u64::from(random.uniform() <= p);
                    n += 1;
                }
                let sure = if correct { confidence_at_look(0.95, look) } else { 0.95 };
                let (k, n) = (k as f64, n as f64);
                erred |= if pass { exceedance_upper(k, n, sure) < p } else { exceedance_lower(k, n, sure) > p };
            }
            wrong += u64::from(erred);
        }
        wrong as f64 / RUNS as f64
    }

    /// Tests the guarantee with 1500 simulated runs of 8 tests each.
    #[test]
    fn repeated_looks_err_no_more_than_promised() {
        for pass in [true, false] {
            let (plain, spent) = (decided(false, pass), decided(true, pass));
            assert!(plain > 0.08, "looking often without a correction errs more than 5 %: {plain}");
            assert!(spent <= 0.05, "{spent}");
        }
    }

    proptest! {
        #[test]
        fn all_looks_together_keep_the_promise(confidence in 0.5f64..0.999_999) {
            let spent: f64 = (1..100_000u64).map(|k| 1.0 - confidence_at_look(confidence, k)).sum();
            prop_assert!(spent <= (1.0 - confidence) * (1.0 + 1e-6), "{spent}");
            prop_assert!(spent >= (1.0 - confidence) * 0.999);
        }

        #[test]
        fn every_look_asks_for_more(confidence in 0.5f64..0.999_999, look in 1u64..1_000) {
            let (now, next) = (confidence_at_look(confidence, look), confidence_at_look(confidence, look + 1));
            prop_assert!(confidence < now && now < next && next < 1.0);
        }
    }
}
