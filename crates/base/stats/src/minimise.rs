//! Minimisation of functions. A function returns infinity for an infeasible point.

/// Number of golden section steps that shrink the bracket by a factor of 1e-10.
pub(crate) const FINE: u32 = 48;
/// Number of golden section steps that shrink the bracket by a factor of 4e-6, which is enough if only the function
/// value matters.
pub(crate) const ROUGH: u32 = 26;

/// Returns the position and the value of the minimum of a unimodal `f` between `low` and `high`, by golden section
/// search with the given number of steps.
///
/// Source: J. Kiefer, "Sequential minimax search for a maximum", Proc. AMS 4 (1953).
pub(crate) fn golden(low: f64, high: f64, steps: u32, f: impl Fn(f64) -> f64) -> (f64, f64) {
    let part = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (low, high);
    let (mut left, mut right) = (high - part * (high - low), low + part * (high - low));
    let (mut at_left, mut at_right) = (f(left), f(right));
    for _ in 0..steps {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - part * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + part * (high - low);
            at_right = f(right);
        }
    }
    if at_left < at_right { (left, at_left) } else { (right, at_right) }
}

/// Returns the position and the value of a local minimum of `f` near `start`, by a Nelder–Mead simplex of initial size
/// `step`. The search is restarted once, in case the simplex collapses early.
///
/// Returns `None` if `f` is not finite at the start or the simplex does not converge within 2000 steps.
///
/// Source: J. A. Nelder and R. Mead, "A simplex method for function minimization", Computer Journal 7 (1965).
pub(crate) fn simplex<const N: usize>(
    start: [f64; N],
    step: f64,
    f: impl Fn(&[f64; N]) -> f64,
) -> Option<([f64; N], f64)> {
    let (first, _) = one_simplex(start, step, 1e-8, &f)?;
    one_simplex(first, 0.1 * step, 1e-8, &f)
}

/// Like [`simplex`], but without the restart. Ends when all corners are within `width` of the best corner.
pub(crate) fn one_simplex<const N: usize>(
    start: [f64; N],
    step: f64,
    width: f64,
    f: &impl Fn(&[f64; N]) -> f64,
) -> Option<([f64; N], f64)> {
    // NaN counts as infeasible.
    let value = |at: &[f64; N]| Some(f(at)).filter(|v| !v.is_nan()).unwrap_or(f64::INFINITY);
    let mut corners = vec![(start, value(&start))];
    for axis in 0..N {
        let mut corner = start;
        corner.iter_mut().skip(axis).take(1).for_each(|c| *c += step);
        corners.push((corner, value(&corner)));
    }
    for _ in 0..2_000 {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (best, worst) = (*corners.first()?, *corners.last()?);
        let apart = corners.iter().flat_map(|(c, _)| c.iter().zip(&best.0)).map(|(a, b)| (a - b).abs());
        if !best.1.is_finite() {
            return None;
        }
        if apart.fold(0.0, f64::max) < width {
            return Some(best);
        }
        let second = corners.iter().rev().nth(1)?.1;
        let middle = centroid(corners.get(..N)?);
        let along = |t: f64| {
            let at = std::array::from_fn(|i| match (middle.get(i), worst.0.get(i)) {
                (Some(m), Some(w)) => m + t * (w - m),
                _ => 0.0,
            });
            (at, value(&at))
        };
        let new = replacement(best.1, second, worst.1, along);
        if new.1 < worst.1 {
            *corners.last_mut()? = new;
        } else {
            shrink(&mut corners, &best.0, &value);
        }
    }
    None
}

/// Returns the new position and value of the worst corner: it is reflected, then expanded or contracted depending on
/// the value at the reflected point.
fn replacement<C>(best: f64, second: f64, worst: f64, along: impl Fn(f64) -> (C, f64)) -> (C, f64) {
    let reflected = along(-1.0);
    if reflected.1 < best {
        let expanded = along(-2.0);
        return if expanded.1 < reflected.1 { expanded } else { reflected };
    }
    if reflected.1 < second {
        return reflected;
    }
    if reflected.1 < worst { along(-0.5) } else { along(0.5) }
}

fn centroid<const N: usize>(corners: &[([f64; N], f64)]) -> [f64; N] {
    let mut middle = [0.0; N];
    for (corner, _) in corners {
        middle.iter_mut().zip(corner).for_each(|(m, c)| *m += c / corners.len() as f64);
    }
    middle
}

fn shrink<const N: usize>(corners: &mut [([f64; N], f64)], best: &[f64; N], value: &impl Fn(&[f64; N]) -> f64) {
    for (corner, at) in corners.iter_mut().skip(1) {
        corner.iter_mut().zip(best).for_each(|(c, b)| *c = b + 0.5 * (*c - b));
        *at = value(corner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola() {
        let (x, y) = golden(-3.0, 10.0, FINE, |x| (x - 2.0) * (x - 2.0) + 1.0);
        assert!((x - 2.0).abs() < 1e-7 && (y - 1.0).abs() < 1e-12);
        let (x, _) = golden(-3.0, 10.0, FINE, |x| if x < 2.5 { f64::INFINITY } else { x });
        assert!((x - 2.5).abs() < 1e-6);
    }

    #[test]
    fn a_bent_valley() {
        let rosenbrock = |p: &[f64; 2]| (1.0 - p[0]).powi(2) + 100.0 * (p[1] - p[0] * p[0]).powi(2);
        let (at, value) = simplex([-1.2, 1.0], 0.5, rosenbrock).unwrap();
        assert!((at[0] - 1.0).abs() < 1e-6 && (at[1] - 1.0).abs() < 1e-6 && value < 1e-12, "{at:?}");
        let (at, _) = simplex([1.0, 1.0, 1.0], 0.5, |p| p.iter().map(|v| (v - 3.0).powi(2)).sum()).unwrap();
        assert!(at.iter().all(|v| (v - 3.0).abs() < 1e-6));
        assert_eq!(simplex([0.0], 1.0, |_| f64::NAN), None);
        assert_eq!(simplex([0.0], 1.0, |p| p[0]), None);
    }
}
