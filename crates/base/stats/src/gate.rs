//! Extrapolated levels, and the conditions that must hold before one is reported.
//!
//! A fit with a few parameters always gives a number. On the published Raspberry Pi 4 histograms, the levels for one in
//! 10⁹ range from 85 µs, below the observed maximum, to 17 618 µs, depending on the threshold: the tail is a mixture of
//! causes, and extrapolating it is meaningless.

use crate::binned::{Bin, Binned};
use crate::estimate::{Interval, possible_confidence};
use crate::fit_test::binned_fit_p;
use crate::gpd::Gpd;
use crate::gpd_fit::{GpdFit, level_interval, shape_interval};
use crate::stationarity::KPSS_CRITICAL_5;

/// Minimum number of exceedances of a threshold.
const MIN_EXCEEDANCES: u64 = 100;
/// Number of thresholds over which the shape must be stable.
const MIN_THRESHOLDS: usize = 5;
/// How many decades rarer than the rarest observation a level may be.
const MAX_DECADES: f64 = 2.0;
/// Replicates for the goodness-of-fit test.
const REPLICATES: u32 = 99;

/// Known properties of a run.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Histogram of all samples, in any unit.
    pub bins: &'a [Bin],
    /// KPSS statistic of the run over time; `None` if the order of the samples is unknown.
    pub kpss: Option<f64>,
    /// Extremal index of the tail; `None` if unknown.
    pub theta: Option<f64>,
}

/// Why a level is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// The probability or the confidence is not strictly between 0 and 1, or the histogram is invalid.
    NotPossible,
    /// The order of the samples is unknown, so stationarity cannot be tested.
    StationarityUnknown,
    /// Not stationary: this KPSS statistic is not below .463.
    NotStationary(f64),
    /// The clustering of late samples is unknown.
    ClusteringUnknown,
    /// The level is a quantile within the data, where rank bounds apply.
    InsideData,
    /// The level is this many decades, more than 2, rarer than once in the effective number of samples.
    TooFar(f64),
    /// Only this many thresholds have 100 exceedances and a fit; 5 are needed.
    FewThresholds(usize),
    /// No single shape lies within the intervals at all thresholds: the tail is a mixture.
    ShapeUnstable {
        /// Smallest upper end of the shape intervals.
        at_most: f64,
        /// Largest lower end of the shape intervals, above the smallest upper end.
        at_least: f64,
    },
    /// p-value of the goodness of fit at the lowest threshold, at most .05; `None` if it could not be tested.
    PoorFit(Option<f64>),
    /// The level's whole interval is below an observed value, although the level should not have been reached.
    BelowObserved {
        /// Upper end of the interval.
        level: f64,
        /// Lower edge of the highest non-empty bin.
        observed: f64,
    },
    /// The interval of the level is unbounded.
    Unbounded,
}

/// The fit above one threshold, as shown in a threshold stability plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdFit {
    /// The threshold, which is the lower edge of a bin.
    pub threshold: f64,
    /// Number of samples above the threshold.
    pub exceedances: u64,
    pub fit: GpdFit,
    /// Profile likelihood interval of the shape; `None` if it has no end, or clustering leaves too few exceedances.
    pub shape: Option<Interval>,
    /// σ* = σ − ξ·threshold, which is constant over thresholds in a Pareto tail (Coles 4.3.4).
    pub modified_scale: f64,
}

/// A level that passed all conditions. It extrapolates the distribution of this run and does not bound what can happen.
#[derive(Clone, Debug, PartialEq)]
pub struct Extrapolation {
    /// Level exceeded with the requested probability.
    pub level: f64,
    /// Profile likelihood interval of the level.
    pub interval: Interval,
    /// p-value of the goodness of fit.
    pub fit_p: f64,
    /// Decades beyond the effective number of samples; negative if within it.
    pub decades: f64,
    /// Fits over all thresholds, starting with the one that the level is based on.
    pub thresholds: Vec<ThresholdFit>,
}

/// Fits above thresholds that leave about 10 %, 5 %, 2 %, 1 % … of the samples, down to 100 samples. Clustering widens
/// the intervals of the shape by √(1/`theta`).
///
/// Empty if the histogram has too few samples, overlapping bins or invalid edges.
pub fn threshold_fits(bins: &[Bin], theta: f64, confidence: f64) -> Vec<ThresholdFit> {
    let mut sorted: Vec<Bin> = bins.iter().filter(|b| b.count > 0).copied().collect();
    sorted.sort_unstable_by(|a, b| a.low.total_cmp(&b.low));
    let all: f64 = sorted.iter().map(|b| b.count as f64).sum();
    let mut wanted =
        [0.1, 0.05, 0.02].into_iter().cycle().zip(0..).map(|(s, i)| s * all / 10f64.powi(i / 3)).peekable();
    // Number of samples at or above each bin, from the highest bin down.
    let mut above = 0u64;
    let mut tails: Vec<(f64, u64)> = vec![];
    for bin in sorted.iter().rev() {
        above = above.saturating_add(bin.count);
        tails.push((bin.low, above));
    }
    let mut fits = vec![];
    for (threshold, exceedances) in tails.into_iter().rev() {
        if exceedances < MIN_EXCEEDANCES || wanted.peek().is_none_or(|w| exceedances as f64 > *w) {
            continue;
        }
        while wanted.next_if(|w| *w >= exceedances as f64).is_some() {}
        fits.extend(threshold_fit(&sorted, threshold, exceedances, theta, confidence));
    }
    fits
}

fn threshold_fit(bins: &[Bin], threshold: f64, exceedances: u64, theta: f64, confidence: f64) -> Option<ThresholdFit> {
    let data = Binned::above(bins, threshold)?;
    let fit = data.fit()?;
    let shape = shape_interval(&data, &fit, theta, confidence);
    let Gpd { shape: xi, scale } = fit.gpd;
    Some(ThresholdFit { threshold, exceedances, fit, shape, modified_scale: scale - xi * threshold })
}

/// Assessment of a tail: the fits, and the level or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Fits over all thresholds, starting with the one that the level is based on; also if the level is refused.
    pub thresholds: Vec<ThresholdFit>,
    /// The level, or every failed condition; the list is never empty.
    pub level: Result<Extrapolation, Vec<Refusal>>,
}

/// The level that a sample exceeds with `probability`, if the evidence supports it.
///
/// The level comes from the fit above the lowest threshold, its interval is the union over all accepted thresholds;
/// `seed` determines the samples drawn to test it.
///
/// # Errors
/// Every failed condition; never empty.
pub fn extrapolate(
    evidence: &Evidence,
    probability: f64,
    confidence: f64,
    seed: u64,
) -> Result<Extrapolation, Vec<Refusal>> {
    assess(evidence, probability, confidence, seed).level
}

/// Like [`extrapolate`], with the fits over all thresholds even if the level is refused: a threshold stability plot shows
/// why.
pub fn assess(evidence: &Evidence, probability: f64, confidence: f64, seed: u64) -> Assessment {
    let all: f64 = evidence.bins.iter().map(|b| b.count as f64).sum();
    if !(probability > 0.0 && probability < 1.0 && possible_confidence(confidence)) || all == 0.0 {
        return Assessment { thresholds: vec![], level: Err(vec![Refusal::NotPossible]) };
    }
    // Unknown clustering is refused below; the plot then shows the fits without clustering.
    let theta = evidence.theta.filter(|t| *t > 0.0 && *t <= 1.0).unwrap_or(1.0);
    let thresholds = threshold_fits(evidence.bins, theta, confidence);
    let level = gated(evidence, &thresholds, (probability, all, theta, confidence), seed);
    Assessment { thresholds, level }
}

fn gated(
    evidence: &Evidence,
    thresholds: &[ThresholdFit],
    (probability, all, theta, confidence): (f64, f64, f64, f64),
    seed: u64,
) -> Result<Extrapolation, Vec<Refusal>> {
    let mut refusals = known_beforehand(evidence);
    let decades = -(probability * all * theta).log10();
    if decades > MAX_DECADES {
        refusals.push(Refusal::TooFar(decades));
    }
    refusals.extend(unstable(thresholds));
    let Some(lowest) = thresholds.first().copied() else { return Err(refusals) };
    let data = Binned::above(evidence.bins, lowest.threshold);
    let fit_p = data.as_ref().and_then(|data| binned_fit_p(data, REPLICATES, seed));
    if fit_p.is_none_or(|p| p <= 0.05) {
        refusals.push(Refusal::PoorFit(fit_p));
    }
    let m = lowest.exceedances as f64 / all / probability;
    refusals.extend((m <= 1.0).then_some(Refusal::InsideData));
    let above = |x: f64| lowest.threshold + x;
    let interval = union_of_levels(evidence.bins, thresholds, all * probability, theta, confidence);
    let Some((interval, level)) = interval.zip(lowest.fit.gpd.return_level(m).map(above)) else {
        refusals.push(Refusal::Unbounded);
        return Err(refusals);
    };
    refusals.extend(below_observed(evidence.bins, interval.high, decades));
    match fit_p {
        Some(fit_p) if refusals.is_empty() => {
            Ok(Extrapolation { level, interval, fit_p, decades, thresholds: thresholds.to_vec() })
        }
        _ => Err(refusals),
    }
}

/// Any of the accepted thresholds may be the right one, so the interval is the union of their intervals. `None` if the
/// interval of the lowest threshold is unbounded.
fn union_of_levels(
    bins: &[Bin],
    thresholds: &[ThresholdFit],
    wanted: f64,
    theta: f64,
    confidence: f64,
) -> Option<Interval> {
    let of = |at: &ThresholdFit| {
        let data = Binned::above(bins, at.threshold)?;
        let interval = level_interval(&data, &at.fit, at.exceedances as f64 / wanted, theta, confidence)?;
        Some(interval.map(|x| at.threshold + x))
    };
    let first = of(thresholds.first()?)?;
    let others = thresholds.iter().skip(1).filter(|at| at.exceedances as f64 > wanted).filter_map(of);
    Some(others.fold(first, |all, one| Interval { low: all.low.min(one.low), high: all.high.max(one.high), ..all }))
}

fn known_beforehand(evidence: &Evidence) -> Vec<Refusal> {
    let stationarity = match evidence.kpss {
        None => Some(Refusal::StationarityUnknown),
        Some(kpss) if kpss < KPSS_CRITICAL_5 => None,
        Some(kpss) => Some(Refusal::NotStationary(kpss)),
    };
    let clustering = evidence.theta.is_none_or(|t| !(t > 0.0 && t <= 1.0)).then_some(Refusal::ClusteringUnknown);
    stationarity.into_iter().chain(clustering).collect()
}

fn unstable(thresholds: &[ThresholdFit]) -> Option<Refusal> {
    let bounded: Vec<Interval> = thresholds.iter().filter_map(|t| t.shape).collect();
    if bounded.len() < MIN_THRESHOLDS {
        return Some(Refusal::FewThresholds(bounded.len()));
    }
    let at_most = bounded.iter().fold(f64::INFINITY, |m, i| m.min(i.high));
    let at_least = bounded.iter().fold(f64::NEG_INFINITY, |m, i| m.max(i.low));
    (at_least > at_most).then_some(Refusal::ShapeUnstable { at_most, at_least })
}

/// A level rarer than one in all effective samples should not be exceeded by more than its own interval.
fn below_observed(bins: &[Bin], level: f64, decades: f64) -> Option<Refusal> {
    let observed = bins.iter().filter(|b| b.count > 0).map(|b| b.low).fold(f64::NEG_INFINITY, f64::max);
    (decades >= 0.0 && level < observed).then_some(Refusal::BelowObserved { level, observed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Exceedances above 5 µs in bins of 1 µs.
    fn histogram(mut draw: impl FnMut() -> f64, n: usize) -> Vec<Bin> {
        let mut counts = vec![0u64; 4_000];
        (0..n).for_each(|_| {
            if let Some(count) = counts.get_mut(5 + draw() as usize) {
                *count += 1;
            }
        });
        let bin = |(low, count): (f64, u64)| Bin { low, high: low + 1.0, count };
        (0..).map(f64::from).zip(counts).map(bin).collect()
    }

    #[test]
    fn a_pareto_tail_passes() {
        let (mut random, truth) = (SplitMix64::new(91), Gpd { shape: 0.1, scale: 8.0 });
        let bins = histogram(|| truth.exceeded_with(random.uniform()).unwrap(), 20_000);
        let evidence = Evidence { bins: &bins, kpss: Some(0.1), theta: Some(1.0) };
        let passed = extrapolate(&evidence, 1e-6, 0.95, 1).unwrap();
        assert!(passed.interval.holds(5.0 + truth.exceeded_with(1e-6).unwrap()), "{passed:?}");
        assert!(passed.thresholds.len() >= 5 && passed.interval.holds(passed.level));
        assert!((passed.decades - 50f64.log10()).abs() < 1e-9);
        // The same run and a rarer level, with the sample order unknown.
        let blind = Evidence { kpss: None, theta: None, ..evidence };
        let refusals = extrapolate(&blind, 1e-8, 0.95, 1).unwrap_err();
        let [Refusal::StationarityUnknown, Refusal::ClusteringUnknown, Refusal::TooFar(decades)] = refusals[..] else {
            panic!("{refusals:?}")
        };
        assert!((decades - 5_000f64.log10()).abs() < 1e-9);
        let changing = Evidence { kpss: Some(0.9), theta: Some(2.0), ..evidence };
        assert_eq!(known_beforehand(&changing), [Refusal::NotStationary(0.9), Refusal::ClusteringUnknown]);
    }

    /// One in 200 samples has another cause, with values around 60 µs.
    #[test]
    fn a_mixture_is_refused() {
        let mut random = SplitMix64::new(92);
        let draw = || if random.below(200) == 0 { 60.0 + 8.0 * random.uniform() } else { -6.0 * random.uniform().ln() };
        let bins = histogram(draw, 20_000);
        let refusals =
            extrapolate(&Evidence { bins: &bins, kpss: Some(0.1), theta: Some(1.0) }, 1e-6, 0.95, 1).unwrap_err();
        assert!(
            refusals.iter().any(|r| matches!(r, Refusal::ShapeUnstable { .. } | Refusal::PoorFit(_))),
            "{refusals:?}"
        );
    }

    #[test]
    fn impossible_input_is_refused() {
        let evidence = Evidence { bins: &[], kpss: Some(0.1), theta: Some(1.0) };
        assert_eq!(extrapolate(&evidence, 1e-6, 0.95, 1), Err(vec![Refusal::NotPossible]));
        let bins = [Bin { low: f64::NAN, high: 1.0, count: 500 }, Bin { low: 3.0, high: 2.0, count: 500 }];
        let evidence = Evidence { bins: &bins, ..evidence };
        assert_eq!(extrapolate(&evidence, f64::NAN, 0.95, 1), Err(vec![Refusal::NotPossible]));
        assert_eq!(extrapolate(&evidence, 1e-4, 0.95, 1), Err(vec![Refusal::FewThresholds(0)]));
        assert!(threshold_fits(&bins, f64::NAN, 0.95).is_empty());
    }
}
