//! Extrapolated levels, and the conditions that must hold before one is reported.
//!
//! A fit with a few parameters always gives a number. On published Raspberry Pi 4 histograms, the levels exceeded once
//! in 10⁹ samples range from 85 µs, which is below the observed maximum, to 17 618 µs, depending on the threshold. The
//! tail is a mixture of causes, and extrapolating it is meaningless.

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
/// Maximum number of decades by which a level may be rarer than once in the effective number of samples.
const MAX_DECADES: f64 = 2.0;
/// Number of replicates for the goodness-of-fit test.
const REPLICATES: u32 = 99;

/// Known properties of a run.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Histogram of all samples, in any unit.
    pub bins: &'a [Bin],
    /// KPSS statistic of the samples in chronological order; `None` if their order is unknown.
    pub kpss: Option<f64>,
    /// Extremal index of the tail; `None` if unknown.
    pub theta: Option<f64>,
}

/// Reason why a level is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// The probability or the confidence is not strictly between 0 and 1, or the histogram is invalid.
    NotPossible,
    /// The order of the samples is unknown, so stationarity cannot be tested.
    StationarityUnknown,
    /// The samples are not stationary: the KPSS statistic, given here, is not below .463.
    NotStationary(f64),
    /// The clustering of late samples is unknown.
    ClusteringUnknown,
    /// The level is a quantile within the data. Use rank bounds instead.
    InsideData,
    /// The level is too far beyond the data. The value, above 2, is the number of decades by which it is rarer than
    /// once in the effective number of samples.
    TooFar(f64),
    /// Too few thresholds have at least 100 exceedances and a shape interval. The value is their number; 5 are needed.
    FewThresholds(usize),
    /// No single shape lies within the confidence intervals of all thresholds, so the tail is a mixture.
    ShapeUnstable {
        /// Smallest upper end of the shape intervals.
        at_most: f64,
        /// Largest lower end of the shape intervals, above the smallest upper end.
        at_least: f64,
    },
    /// The exceedances of the lowest threshold do not follow the fit. The value is the p-value, at most .05; `None` if
    /// it could not be computed.
    PoorFit(Option<f64>),
    /// The whole interval of the level is below an observed value, although a level this rare should not have been
    /// exceeded.
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
    /// Profile likelihood interval of the shape; `None` if it is unbounded, or if clustering leaves too few effective
    /// exceedances.
    pub shape: Option<Interval>,
    /// σ* = σ − ξ·threshold, which is the same for all thresholds in a Pareto tail (S. Coles, An Introduction to
    /// Statistical Modeling of Extreme Values (2001), section 4.3.4).
    pub modified_scale: f64,
}

/// A level that passed all conditions. It extrapolates the distribution of this run and does not bound the values that
/// can occur.
#[derive(Clone, Debug, PartialEq)]
pub struct Extrapolation {
    /// Level exceeded with the requested probability.
    pub level: f64,
    /// Profile likelihood interval of the level.
    pub interval: Interval,
    /// p-value of the goodness of fit.
    pub fit_p: f64,
    /// Number of decades by which the level is rarer than once in the effective number of samples; negative if it is
    /// more frequent.
    pub decades: f64,
    /// One fit for each threshold, to the values above that threshold. The level is based on the first fit.
    pub thresholds: Vec<ThresholdFit>,
}

/// Returns the fits above thresholds that leave about 10 %, 5 %, 2 %, 1 % … of the samples, down to 100 samples. The
/// intervals of the shape are wider by √(1/`theta`) to allow for clustering.
///
/// The result is empty if the histogram has too few samples, overlapping bins or invalid edges.
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

/// Assessment of a tail: the fits, and the level or the reasons why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Fits above all thresholds, even if the level is refused; the level is based on the first fit.
    pub thresholds: Vec<ThresholdFit>,
    /// The level, or the list of all failed conditions, which is never empty.
    pub level: Result<Extrapolation, Vec<Refusal>>,
}

/// Returns the level that a sample exceeds with `probability`, if the evidence supports it.
///
/// The level comes from the fit above the lowest threshold; its interval is the union of the intervals of all accepted
/// thresholds. `seed` determines the samples drawn for the goodness-of-fit test.
///
/// # Errors
/// The list of all failed conditions, which is never empty.
pub fn extrapolate(
    evidence: &Evidence,
    probability: f64,
    confidence: f64,
    seed: u64,
) -> Result<Extrapolation, Vec<Refusal>> {
    assess(evidence, probability, confidence, seed).level
}

/// Like [`extrapolate`], but also returns the fits above all thresholds, even if the level is refused. A threshold
/// stability plot of these fits shows the reason.
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

/// Returns the union of the intervals of all accepted thresholds, because any of them may be the right one; `None` if
/// the interval of the lowest threshold is unbounded.
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

/// Returns a refusal if a sample exceeds the whole interval of a level that is rarer than once in the effective number
/// of samples.
fn below_observed(bins: &[Bin], level: f64, decades: f64) -> Option<Refusal> {
    let observed = bins.iter().filter(|b| b.count > 0).map(|b| b.low).fold(f64::NEG_INFINITY, f64::max);
    (decades >= 0.0 && level < observed).then_some(Refusal::BelowObserved { level, observed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Returns a histogram of `n` drawn values plus 5 µs, in bins of 1 µs.
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

    /// One in 200 samples has another cause, with values of 60 to 68 µs.
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
