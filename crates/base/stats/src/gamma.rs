//! The chi-square and Student distributions.

use crate::beta::{Tail, beta_quantile, ln_beta_tails};

/// Returns P(X ≥ `x`) for X ~ χ² with `degrees` of freedom, which is Q(degrees/2, x/2). NaN if `degrees` is not
/// positive or `x` is negative or NaN.
///
/// Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.4.4, 6.5.29 (series) and 6.5.31 (continued
/// fraction, by Lentz's method).
pub fn chi_square_sf(x: f64, degrees: f64) -> f64 {
    let (a, x) = (0.5 * degrees, 0.5 * x);
    if !(a > 0.0 && a.is_finite() && x >= 0.0) {
        return f64::NAN;
    }
    if x == 0.0 || x == f64::INFINITY {
        return if x == 0.0 { 1.0 } else { 0.0 };
    }
    let ln_power = a * x.ln() - x - libm::lgamma(a);
    if x < a + 1.0 { 1.0 - ln_power.exp() * series(a, x) } else { ln_power.exp() * fraction(a, x) }
}

/// Maximum number of steps. It is enough for `a` up to about 1e7, because about √a steps are needed.
const MAX_STEPS: u32 = 20_000;

fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / a, 1.0 / a);
    for n in 1..MAX_STEPS {
        term *= x / (a + f64::from(n));
        sum += term;
        if term <= sum * 1e-17 {
            break;
        }
    }
    sum
}

fn fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut value = d;
    for n in 1..MAX_STEPS {
        let n = f64::from(n);
        let numerator = -n * (n - a);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        value *= c * d;
        if (c * d - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    value
}

/// Returns the t with P(|T| ≤ t) = `confidence` for Student's T with `degrees` of freedom (not necessarily an integer);
/// `None` if the confidence is not strictly between 0 and 1 or `degrees` is not positive.
///
/// T²/(degrees + T²) has the distribution Beta(½, degrees/2) (Abramowitz and Stegun, Handbook of Mathematical
/// Functions, 26.7.1).
pub fn student_two_sided(confidence: f64, degrees: f64) -> Option<f64> {
    let share = beta_quantile(0.5, 0.5 * degrees, Tail::Lower, confidence)?;
    Some((degrees * share / (1.0 - share)).sqrt()).filter(|t| t.is_finite())
}

/// Returns P(|T| ≥ |t|) for Student's T with `degrees` of freedom; `None` as for [`student_two_sided`], or if `t` is
/// not finite.
pub fn student_p(t: f64, degrees: f64) -> Option<f64> {
    if !(t.is_finite() && degrees > 0.0 && degrees.is_finite()) {
        return None;
    }
    let square = t * t;
    let (x, y) = (square / (degrees + square), degrees / (degrees + square));
    Some(ln_beta_tails(0.5, 0.5 * degrees, x, y).ln(Tail::Upper).exp().min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

    #[test]
    fn known_values() {
        assert!((chi_square_sf(3.841_458_820_694_124, 1.0) - 0.05).abs() < 1e-14);
        let t = student_two_sided(0.95, 10.0).unwrap();
        assert!((t - 2.228_138_851_964_939).abs() < 1e-10, "{t:e}");
        assert!((student_two_sided(0.95, 1e9).unwrap() - 1.959_963_987).abs() < 1e-8);
        assert_eq!((chi_square_sf(0.0, 3.0), chi_square_sf(f64::INFINITY, 3.0)), (1.0, 0.0));
        assert!(chi_square_sf(-1.0, 3.0).is_nan() && chi_square_sf(1.0, 0.0).is_nan());
        assert_eq!(student_two_sided(1.0, 3.0), None);
        assert_eq!(student_two_sided(0.95, 0.0), None);
    }

    proptest! {
        #[test]
        fn agrees_with_statrs(x in 0.01f64..60.0, degrees in 0.5f64..60.0, confidence in 0.5f64..0.999) {
            let theirs = ChiSquared::new(degrees).unwrap().sf(x);
            prop_assert!((chi_square_sf(x, degrees) - theirs).abs() < 1e-10, "{theirs}");
            let t = student_two_sided(confidence, degrees).unwrap();
            let theirs = StudentsT::new(0.0, 1.0, degrees).unwrap().cdf(t);
            prop_assert!((2.0 * theirs - 1.0 - confidence).abs() < 1e-9, "{theirs}");
            prop_assert!((student_p(t, degrees).unwrap() - (1.0 - confidence)).abs() < 1e-9);
        }
    }
}
