//! The factor xᵃ yᵇ / B(a, b) of incomplete beta functions, computed without the cancellation in ln Γ(a+b) − ln Γ(a) −
//! ln Γ(b).

/// Returns the error of Stirling's formula, δ(z) = ln Γ(z) − (z − ½) ln z + z − ½ ln 2π, for `z` > 0.
///
/// Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1.41; for small `z`, by recurrence from z + 1.
pub(crate) fn stirling_error(z: f64) -> f64 {
    let (mut z, mut carried) = (z, 0.0);
    while z < 16.0 {
        carried += (z + 0.5) * (1.0 / z).ln_1p() - 1.0;
        z += 1.0;
    }
    let r = 1.0 / (z * z);
    let series = 1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r / 1188.0)));
    carried + series / z
}

/// Returns ln(1 + u) − u without cancellation near 0. The caller also passes 1 + u, which is more precise than `u` if
/// `u` is near −1.
fn ln_1p_minus(u: f64, one_plus_u: f64) -> f64 {
    if !(-0.5..=0.5).contains(&u) {
        return one_plus_u.ln() - u;
    }
    // With r = u/(2+u): ln(1+u) = 2 artanh r and u = 2r/(1−r), so the difference is −u·r + 2(r³/3 + r⁵/5 + …).
    let r = u / (2.0 + u);
    let (mut power, mut sum, mut k) = (2.0 * r * r * r, 0.0f64, 3.0);
    loop {
        let term = power / k;
        sum += term;
        if term.abs() <= 1e-17 * sum.abs() || term == 0.0 {
            return sum - u * r;
        }
        power *= r * r;
        k += 2.0;
    }
}

/// Returns (a+b)x − a, which is positive if x is above the mean. It is computed from x or y = 1 − x, whichever is
/// smaller and therefore more precise.
pub(crate) fn distance(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    if x <= y { n.mul_add(x, -a) } else { -n.mul_add(y, -b) }
}

/// Returns ln[xᵃ yᵇ / B(a, b)] with y = 1 − x. Precise for `a` and `b` up to 1e15.
///
/// Source: C. Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000). With Stirling's formula the
/// large terms cancel algebraically, and only deviances of second order remain.
pub(crate) fn ln_power_term(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let (n, d) = (a + b, distance(a, b, x, y));
    let deviance = a * ln_1p_minus(d / a, n * x / a) + b * ln_1p_minus(-d / b, n * y / b);
    let stirling = stirling_error(n) - stirling_error(a) - stirling_error(b);
    deviance + stirling + 0.5 * (a / n * b / std::f64::consts::TAU).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::function::gamma::ln_gamma;

    proptest! {
        #[test]
        fn stirling_error_completes_ln_gamma(z in 0.01f64..150.0) {
            let whole = (z - 0.5) * z.ln() - z + 0.5 * std::f64::consts::TAU.ln() + stirling_error(z);
            prop_assert!((whole - ln_gamma(z)).abs() < 1e-12 * (1.0 + ln_gamma(z).abs()), "{whole} {}", ln_gamma(z));
        }

        #[test]
        fn the_logarithm_agrees_with_the_plain_one_where_that_is_precise(u in -0.99f64..20.0) {
            prop_assume!(u.abs() > 0.1);
            let plain = u.ln_1p() - u;
            prop_assert!((ln_1p_minus(u, 1.0 + u) - plain).abs() <= 1e-13 * (1.0 + plain.abs()));
        }

        #[test]
        fn near_zero_the_logarithm_is_its_series(u in -1e-5f64..1e-5) {
            let series = -u * u / 2.0 + u * u * u / 3.0 - u.powi(4) / 4.0;
            prop_assert!((ln_1p_minus(u, 1.0 + u) - series).abs() <= 1e-14 * series.abs());
        }
    }
}
