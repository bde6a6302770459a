//! Compares two single runs by the worst wakeup of each second.
//!
//! Neighbouring seconds are alike, so blocks of them are resampled. The result holds for these two runs; it says
//! nothing about the variation between boots of the same kernel.

use crate::figures::{ALL, load_of, of_latencies, seed_of};
use crate::rows::{Wanted, direction, sampled};
use crate::{CONFIDENCE, Side};
use punctual_model::{Against, ComparisonRow, Conclusion, Event, Ratio, Recording, SampleUnit, Sampled};
use punctual_stats::{self as stats, Figure, Resampling};
use std::collections::BTreeMap;

/// Least effective number of values per run; with fewer, resampling intervals are too narrow.
pub(crate) const LEAST_EFFECTIVE: f64 = 10.0;
/// Maximum number of values resampled; beyond it, each value is the median of its neighbours.
const MOST_VALUES: usize = 4_000;
/// Enough for a standard deviation within 4 %.
const REPLICATES: usize = 400;

/// Rows over all loads and for each load, if every group is a single run.
pub(crate) fn rows(sides: &[Side], common: &[String]) -> Vec<ComparisonRow> {
    if common.is_empty() || sides.iter().any(|s| of_latencies(s).count() != 1) {
        return Vec::new();
    }
    let runs: Vec<BTreeMap<String, Vec<f64>>> = sides.iter().flat_map(of_latencies).map(worst_by_load).collect();
    let of = |load: &str| {
        let values: Vec<Vec<f64>> = runs.iter().map(|r| r.get(load).cloned().unwrap_or_default()).collect();
        let wanted = Wanted { load, figure: "worst of a second", unit: "ns", more_is_better: false };
        series_row(&wanted, SampleUnit::Second, &values)
    };
    match common {
        [only] => of(only).map(|row| ComparisonRow { load: ALL.into(), ..row }).into_iter().collect(),
        several => several.iter().filter_map(|load| of(load)).collect(),
    }
}

/// The worst wakeup of each second over all CPUs, ns, in order of time. Seconds without a wakeup are omitted.
fn worst_by_load(recording: &Recording) -> BTreeMap<String, Vec<f64>> {
    let loads: BTreeMap<&str, String> = recording.run.phases.iter().map(|p| (p.id.as_str(), load_of(p))).collect();
    let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for event in &recording.events {
        let Event::Window(window) = event else { continue };
        let Some(load) = loads.get(window.phase.as_str()) else { continue };
        let worst = window.max_ns.iter().map(|(_, ns)| *ns).max().filter(|ns| *ns > 0);
        if let Some(ns) = worst {
            found.entry(load.clone()).or_default().push(ns as f64);
        }
    }
    found
}

/// A row of time-ordered values: medians by block resampling. `None` if a group has no values.
pub(crate) fn series_row(wanted: &Wanted, sample: SampleUnit, values: &[Vec<f64>]) -> Option<ComparisonRow> {
    if values.len() < 2 || values.iter().any(Vec::is_empty) {
        return None;
    }
    let thinned: Vec<Vec<f64>> = values.iter().map(|v| thinned(v)).collect();
    let first = thinned.first()?;
    let seed = seed_of(wanted.load, wanted.figure);
    let of = if sample == SampleUnit::Batch { Figure::Mean } else { Figure::Quantile(0.5) };
    let against = thinned.iter().skip(1).map(|other| resampled(first, other, of, seed)).collect();
    let groups = values.iter().zip(&thinned).map(|(all, thin)| summary(all, thin, sample)).collect();
    Some(wanted.row(sample, groups, against))
}

fn summary(all: &[f64], thin: &[f64], sample: SampleUnit) -> Sampled {
    let whole = sampled(all.to_vec());
    let values = if sample == SampleUnit::Second { Vec::new() } else { whole.values };
    Sampled { values, effective: effective(thin), lag_one: stats::lag_one(thin), ..whole }
}

/// The effective number of independent values; the total number if the values never change.
fn effective(values: &[f64]) -> Option<f64> {
    stats::effective_n(values)
}

fn thinned(values: &[f64]) -> Vec<f64> {
    let each = values.len().div_ceil(MOST_VALUES).max(1);
    if each == 1 {
        return values.to_vec();
    }
    values.chunks(each).filter_map(stats::median).collect()
}

fn resampled(a: &[f64], b: &[f64], of: Figure, seed: u64) -> Against {
    let middle = |x: &[f64]| match of {
        Figure::Quantile(q) => stats::quantile(x, q),
        Figure::Mean => Some(x.iter().sum::<f64>() / x.len() as f64),
    };
    let middles = middle(a).zip(middle(b)).filter(|(a, _)| *a > 0.0);
    let plain = middles.map(|(a, b)| Ratio { value: b / a, interval: None, confidence: CONFIDENCE, least_n: 0 });
    let few = Against { ratio: plain, told: Conclusion::TooFew, ..Against::default() };
    let enough = |x: &[f64]| effective(x).is_some_and(|n| n >= LEAST_EFFECTIVE);
    let Some(blocks) = stats::block_length(a).zip(stats::block_length(b)) else { return few };
    if !(enough(a) && enough(b)) {
        return few;
    }
    let how = Resampling { of, blocks, replicates: REPLICATES, seed };
    let Some(found) = stats::bootstrap_ratio(a, b, &how, CONFIDENCE) else { return few };
    let Some((student, p)) = found.student.zip(found.p) else { return few };
    let interval = Some((student.low, student.high));
    let ratio = Ratio { value: found.value, interval, confidence: student.confidence, least_n: 0 };
    Against { ratio: Some(ratio), p: Some(p), q: None, told: direction(found.value), covariate: None }
}
