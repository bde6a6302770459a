//! Probability that a run of a given length includes a rare event.

/// Returns the probability of at least one event within the time `observed` if events occur at random once in `every`
/// on average (a Poisson process): 1 − exp(−observed/every). Both times have the same unit.
///
/// For one event in 14 minutes and an observation of 10 minutes it is 51 %. Returns 0 if nothing was observed or
/// `every` is not positive.
pub fn probability_seen(observed: f64, every: f64) -> f64 {
    if observed > 0.0 && every > 0.0 { -(-observed / every).exp_m1() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_event_every_14_minutes_is_seen_within_10_with_51_percent() {
        assert_eq!((probability_seen(10.0, 14.0) * 100.0).round(), 51.0);
    }

    #[test]
    fn nothing_observed_nothing_seen() {
        assert_eq!(probability_seen(0.0, 1.0), 0.0);
        assert_eq!(probability_seen(1.0, 0.0), 0.0);
        assert_eq!(probability_seen(f64::NAN, 1.0), 0.0);
        assert_eq!(probability_seen(1.0, f64::INFINITY), 0.0);
    }

    proptest! {
        #[test]
        fn looking_longer_sees_more(observed in 1e-6f64..1e3, more in 1.001f64..10.0, every in 1.0f64..1e9) {
            let (short, long) = (probability_seen(observed, every), probability_seen(observed * more, every));
            prop_assert!(0.0 < short && short <= long && long <= 1.0);
        }
    }
}
