//! Tests how well a generalised Pareto distribution fits exceedances.

use crate::binned::{Bin, Binned, ln_probability};
use crate::gamma::chi_square_sf;
use crate::gpd::Gpd;
use crate::gpd_fit::{Exceedances, Values};
use crate::order::sorted;
use crate::random::SplitMix64;

/// Largest number of binned exceedances for which the fit is tested by simulation. Each replicate draws and fits as
/// many values.
const SIMULATED: f64 = 20_000.0;
/// χ² p-value below which there is no simulation, because it would not change the result.
const CLEARLY: f64 = 1e-6;
/// The simulation stops after this many replicates that are at least as far from their fit as the sample, because more
/// replicates would not change the result.
const ENOUGH: u32 = 10;

/// Distances between a sample and a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distances {
    /// Anderson–Darling A² = −n − Σ (2i−1)[ln Fᵢ + ln(1−Fₙ₊₁₋ᵢ)]/n, which emphasises the tails.
    pub anderson_darling: f64,
    /// Cramér–von Mises W² = 1/12n + Σ (Fᵢ − (2i−1)/2n)².
    pub cramer_von_mises: f64,
}

/// Returns the distances of exceedances from a distribution. A² is infinite if the distribution cannot produce one of
/// the exceedances.
///
/// Returns `None` if there is no exceedance or one of them is not finite.
///
/// Source: V. Choulakian and M. A. Stephens, "Goodness-of-fit tests for the generalized Pareto distribution",
/// Technometrics 43 (2001).
pub fn distances(exceedances: &[f64], gpd: Gpd) -> Option<Distances> {
    let x = sorted(exceedances)?;
    let n = x.len() as f64;
    let (mut a, mut w) = (0.0, 1.0 / (12.0 * n));
    for (i, (low, high)) in x.iter().zip(x.iter().rev()).enumerate() {
        let odd = 2.0 * i as f64 + 1.0;
        let below = -gpd.ln_survival(*low).exp_m1();
        a += odd * (below.ln() + gpd.ln_survival(*high));
        w += (below - odd / (2.0 * n)).powi(2);
    }
    Some(Distances { anderson_darling: -n - a / n, cramer_von_mises: w })
}

/// Returns the p-value of the hypothesis that the exceedances come from a generalised Pareto distribution: the share of
/// `replicates` samples with at least the same A². Each sample is drawn from the fit and fitted again, because critical
/// values for known parameters do not apply.
///
/// Returns `None` if the fit fails, or if `replicates` is 0 or above 100 000.
///
/// Source: W. Stute, W. González Manteiga and M. Presedo Quindimil, "Bootstrap based goodness-of-fit-tests", Metrika 40
/// (1993).
pub fn fit_p(exceedances: &[f64], replicates: u32, seed: u64) -> Option<f64> {
    let fitted = |x: &[f64]| Values::new(x)?.fit();
    let gpd = fitted(exceedances)?.gpd;
    let seen = distances(exceedances, gpd)?.anderson_darling;
    let mut random = SplitMix64::new(seed);
    simulated(replicates, replicates, seen, || {
        let drawn: Option<Vec<f64>> = exceedances.iter().map(|_| gpd.exceeded_with(random.uniform())).collect();
        let drawn = drawn?;
        Some(distances(&drawn, fitted(&drawn)?.gpd)?.anderson_darling)
    })
}

/// Like [`fit_p`], for bins. The statistic is G² = 2 Σ O ln(O/E) over bins that are merged until at least 5 exceedances
/// are expected in each. Up to 20 000 exceedances, the p-value comes from simulation; above, from χ² with three degrees
/// of freedom fewer than there are merged bins. Returns `None` also if fewer than 4 merged bins remain.
///
/// There is no simulation if χ² gives a p-value below 1e-6. The simulation stops after 10 replicates that are at least
/// as far from their fit as the sample; p is then 10 divided by the number of draws (J. Besag and P. Clifford,
/// "Sequential Monte Carlo p-values", Biometrika 78 (1991)).
pub fn binned_fit_p(data: &Binned, replicates: u32, seed: u64) -> Option<f64> {
    let gpd = data.fit()?.gpd;
    let (seen, bins) = deviance(data.bins(), data.count(), gpd)?;
    let by_chi_square = chi_square_sf(seen, bins as f64 - 3.0);
    if data.count() > SIMULATED || (by_chi_square < CLEARLY && replicates > 0) {
        return Some(by_chi_square);
    }
    let grid = grid(data.bins());
    let mut random = SplitMix64::new(seed);
    simulated(replicates, ENOUGH, seen, || {
        let mut drawn = grid.clone();
        for _ in 0..data.count() as u64 {
            let x = gpd.exceeded_with(random.uniform())?;
            let at = drawn.partition_point(|b| b.high <= x);
            drawn.get_mut(at)?.count += 1;
        }
        let drawn = Binned::above(&drawn, 0.0)?;
        Some(deviance(drawn.bins(), drawn.count(), drawn.fit_near(gpd)?)?.0)
    })
}

/// Returns the simulated p-value: (1 + number of draws at least as large as `seen`) / (1 + `replicates`). If `enough`
/// draws are at least as large before all replicates have been drawn, the result is `enough` / number of draws. Draws
/// that cannot be fitted count as large.
fn simulated(replicates: u32, enough: u32, seen: f64, mut draw: impl FnMut() -> Option<f64>) -> Option<f64> {
    if replicates == 0 || replicates > 100_000 || seen.is_nan() {
        return None;
    }
    let mut as_far = 0;
    for drawn in 1..=replicates {
        as_far += u32::from(draw().is_none_or(|far| far >= seen));
        if as_far >= enough && drawn < replicates {
            return Some(f64::from(as_far) / f64::from(drawn));
        }
    }
    Some((f64::from(as_far) + 1.0) / (f64::from(replicates) + 1.0))
}

/// Returns bins that cover 0 to ∞ without gaps: the non-empty bins and the bins between them.
fn grid(occupied: &[Bin]) -> Vec<Bin> {
    let (mut bins, mut end) = (vec![], 0.0);
    for bin in occupied {
        if bin.low > end {
            bins.push(Bin { low: end, high: bin.low, count: 0 });
        }
        bins.push(Bin { count: 0, ..*bin });
        end = bin.high;
    }
    if end.is_finite() {
        bins.push(Bin { low: end, high: f64::INFINITY, count: 0 });
    }
    bins
}

/// Returns G² and the number of bins over which it is summed.
fn deviance(occupied: &[Bin], count: f64, gpd: Gpd) -> Option<(f64, usize)> {
    let mut counts = occupied.iter().map(|b| (b.low, b.count as f64)).peekable();
    // (observed, expected) of each merged bin.
    let mut joined: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for bin in grid(occupied) {
        let seen = counts.next_if(|(low, _)| *low == bin.low).map_or(0.0, |(_, n)| n);
        if joined.last().is_some_and(|(_, expected)| *expected >= 5.0) {
            joined.push((0.0, 0.0));
        }
        let last = joined.last_mut()?;
        last.0 += seen;
        last.1 += count * ln_probability(gpd, &bin).exp();
    }
    if let Some(rest) = joined.pop_if(|(_, expected)| *expected < 5.0) {
        let last = joined.last_mut()?;
        *last = (last.0 + rest.0, last.1 + rest.1);
    }
    let term = |(seen, expected): &(f64, f64)| if *seen > 0.0 { seen * (seen / expected).ln() } else { 0.0 };
    (joined.len() >= 4).then(|| (2.0 * joined.iter().map(term).sum::<f64>(), joined.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(random: &mut SplitMix64, n: usize) -> Vec<f64> {
        let gpd = Gpd { shape: 0.1, scale: 5.0 };
        (0..n).map(|_| gpd.exceeded_with(random.uniform()).unwrap()).collect()
    }

    fn bins(values: &[f64]) -> Vec<Bin> {
        let mut ticks: Vec<u64> = values.iter().map(|v| *v as u64).collect();
        ticks.sort_unstable();
        let bin = |t: &[u64]| Bin { low: t[0] as f64, high: t[0] as f64 + 1.0, count: t.len() as u64 };
        ticks.chunk_by(|a, b| a == b).map(bin).collect()
    }

    #[test]
    fn impossible_input_is_none() {
        let gpd = Gpd { shape: 0.1, scale: 5.0 };
        assert_eq!(distances(&[], gpd), None);
        assert_eq!(distances(&[f64::NAN], gpd), None);
        assert_eq!(fit_p(&[1.0, 2.0], 9, 1), None);
        assert_eq!(fit_p(&draw(&mut SplitMix64::new(1), 30), 0, 1), None);
        let few = Binned::above(&bins(&[0.1, 1.1, 2.1]), 0.0).unwrap();
        assert_eq!(binned_fit_p(&few, 9, 1), None);
    }

    #[test]
    fn what_fits_passes_and_a_mixture_does_not() {
        let (mut random, mut refused, mut refused_binned, mut caught) = (SplitMix64::new(81), 0, 0, 0);
        for seed in 0..8 {
            let mut x = draw(&mut random, 80);
            refused += u32::from(fit_p(&x, 19, seed).unwrap() <= 0.05);
            refused_binned +=
                u32::from(binned_fit_p(&Binned::above(&bins(&x), 0.0).unwrap(), 19, seed).unwrap() <= 0.05);
            // A second population far out: a fifth of the samples around 60.
            x.iter_mut().step_by(5).for_each(|v| *v = 60.0 + 0.5 * *v);
            caught += u32::from(fit_p(&x, 19, seed).unwrap() <= 0.05);
        }
        assert!(refused <= 2 && refused_binned <= 2 && caught >= 7, "{refused} {refused_binned} {caught}");
    }
}
