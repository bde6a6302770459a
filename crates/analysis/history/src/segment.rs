//! Steps or a line: where a series shifted, and whether it rather drifts.

use punctual_stats::{ChangePoint, TheilSen, median, pettitt};
use punctual_units::Arrange;

/// Fewer values than this cannot show a shift at 5 %: 2/C(7, 3) = 0.057.
pub const LEAST: usize = 8;
/// Fixed seed of random orders, so that the same runs give the same p.
pub const SEED: u64 = 0x7075_6e63;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// The first value after it.
    pub at: usize,
    /// Its p, within its part of the series.
    pub p: f64,
}

/// All shifts of a series, given the clearest one: either part is cut again while that is significant at alpha/4, the
/// parts of these at alpha/16, and so on, so that P(a false one is added) stays below alpha over all depths (there are
/// 2ᵈ parts at depth d: α/2 + α/4 + …).
pub fn cuts(x: &[f64], root: &ChangePoint, alpha: f64) -> Vec<Cut> {
    let mut found = vec![Cut { at: root.at, p: root.p }];
    let mut open = vec![(0, root.at, 0.25 * alpha), (root.at, x.len(), 0.25 * alpha)];
    while let Some((from, to, alpha)) = open.pop() {
        let part = x.get(from..to).filter(|part| part.len() >= LEAST);
        let clear = part.and_then(|part| pettitt(part, 0.95, SEED)).filter(|c| c.p <= alpha);
        if let Some(change) = clear {
            let at = from + change.at;
            found.push(Cut { at, p: change.p });
            open.extend([(from, at, 0.25 * alpha), (at, to, 0.25 * alpha)]);
        }
    }
    found.arrange_by_key(|cut| cut.at);
    found
}

/// Does a line describe the values better than steps? By the Bayesian information criterion with Laplace's distribution
/// (for both are fitted by medians): n ln(Σ|rest|/n) + k ln n, with k = 2 for a line and 2c + 1 for c cuts (their
/// places and the levels).
///
/// Source: G. Schwarz, "Estimating the dimension of a model", Ann. Statist. 6 (1978).
pub fn is_line(points: &[(f64, f64)], line: &TheilSen, cuts: &[Cut]) -> bool {
    let n = points.len() as f64;
    let of_line: f64 = points.iter().map(|(x, y)| (y - line.intercept - line.slope * x).abs()).sum();
    let ends = cuts.iter().map(|cut| cut.at).chain([points.len()]);
    let mut from = 0;
    let mut of_steps = 0.0;
    for to in ends {
        let part: Vec<f64> = points.get(from..to).unwrap_or_default().iter().map(|p| p.1).collect();
        let level = median(&part).unwrap_or(0.0);
        of_steps += part.iter().map(|y| (y - level).abs()).sum::<f64>();
        from = to;
    }
    let criterion = |rest: f64, k: f64| n * (rest.max(1e-12) / n).ln() + k * n.ln();
    criterion(of_line, 2.0) < criterion(of_steps, 2.0 * cuts.len() as f64 + 1.0)
}
