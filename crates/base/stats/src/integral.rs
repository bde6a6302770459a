//! Tails of the beta distribution by numerical integration of its density, for parameters so large that the continued
//! fraction converges slowly.

use crate::special::ln_power_term;

/// Positive nodes and weights of the ten-point Gauss–Legendre quadrature on −1…1 (Abramowitz and Stegun, Handbook of
/// Mathematical Functions, 25.4.30).
const NODES: [(f64, f64); 5] = [
    (0.148_874_338_981_631_2, 0.295_524_224_714_752_87),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996_36),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
    (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
];

/// Returns ln I_x(a, b) for `x` up to, or slightly above, the mean. Both parameters must be above 1000; `y` is 1 − x.
pub(crate) fn ln_lower_tail(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    let deviation = (a / n * b / n / n).sqrt();
    let below = ((a / n - x) / deviation).max(0.0);
    // Within one panel the logarithm of the density falls by about 2 to 8 and is almost a parabola.
    let panel = deviation / (0.5 * below).max(1.0);
    let at_x = ln_power_term(a, b, x, y);
    // Relative to the density at x, so that far tails do not underflow; the density is the power term over t(1−t).
    let density = |below_x: f64| {
        let (t, u) = (x - below_x, y + below_x);
        if t <= 0.0 { 0.0 } else { (ln_power_term(a, b, t, u) - at_x).exp() / (t * u) }
    };
    let mut sum = 0.0;
    for k in 0..200 {
        let part = integrate(&density, f64::from(k) * panel, panel);
        sum += part;
        if part <= 1e-17 * sum {
            break;
        }
    }
    at_x + sum.ln()
}

fn integrate(f: &impl Fn(f64) -> f64, from: f64, width: f64) -> f64 {
    let (half, middle) = (0.5 * width, from + 0.5 * width);
    NODES.iter().map(|&(node, weight)| weight * (f(middle - half * node) + f(middle + half * node))).sum::<f64>() * half
}
