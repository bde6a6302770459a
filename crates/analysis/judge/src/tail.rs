//! The tail of every load: a latency extrapolated beyond the data (the level), subject to the checks of
//! [`punctual_stats::assess`], and the arrival pattern of the worst wakeups.
//!
//! For each load only the CPU with the worst wakeup is examined, because the worst wakeup determines the tail, and all
//! CPUs together would be a mixture.

use crate::cell::{Cell, Samples};
use crate::{arrival, cluster};
use punctual_model::{
    BlockMaximum, Blur, ClusterNote, Event, Recording, Tail, TailOutcome, TailRefusal, TailSeries, TailThreshold,
};
use punctual_stats::{Assessment, Bin, Evidence, Extrapolation, Refusal, ThresholdFit, assess, kpss, kpss_lags};
use punctual_units::{CpuId, Nanos};
use std::collections::BTreeMap;

const CONFIDENCE: f64 = 0.95;
const DECADES: f64 = 2.0;
/// Fixed seed, so that the same run gives the same result.
const SEED: u64 = 1;
const LEAST_SERIES: usize = 20;
const MICRO: u64 = 1_000;

/// The worst wakeup of each second by phase and CPU: middle of the second (CLOCK_MONOTONIC, ns), and latency (ns).
pub(crate) type Seconds<'a> = BTreeMap<(&'a str, CpuId), Vec<(u64, u64)>>;

pub(crate) fn tails(recording: &Recording, cells: &[Cell]) -> Vec<Tail> {
    let worst_of = |phase: &str| {
        let mine = cells.iter().filter(|c| c.phase == phase);
        mine.filter_map(|c| Some((c, c.samples.as_ref()?))).min_by_key(|(_, s)| std::cmp::Reverse(s.max))
    };
    let picked: Vec<_> =
        recording.run.phases.iter().filter(|p| p.is_of_releases()).filter_map(|p| worst_of(&p.id)).collect();
    let seconds = seconds(recording, &picked.iter().map(|(c, _)| (c.phase, c.cpu)).collect::<Vec<_>>());
    picked.into_iter().map(|(cell, samples)| tail(recording, cell, samples, &seconds)).collect()
}

fn seconds<'a>(recording: &Recording, of: &[(&'a str, CpuId)]) -> Seconds<'a> {
    let mut all: Seconds = of.iter().map(|key| (*key, Vec::new())).collect();
    for event in &recording.events {
        let Event::Window(window) = event else { continue };
        let middle = window.mono_ns.saturating_sub(window.interval_ns / 2);
        for (phase, cpu) in of.iter().filter(|(phase, _)| *phase == window.phase) {
            let max = window.max_ns.iter().find(|(c, max)| c == cpu && *max > 0);
            if let Some((kept, (_, max))) = all.get_mut(&(*phase, *cpu)).zip(max) {
                kept.push((middle, *max));
            }
        }
    }
    all
}

fn tail(recording: &Recording, cell: &Cell, samples: &Samples, seconds: &Seconds) -> Tail {
    let seconds = seconds.get(&(cell.phase, cell.cpu)).map_or(&[][..], Vec::as_slice);
    let (clustering, theta) = cluster::clustering(&samples.late, 0);
    let known = matches!(clustering, ClusterNote::Estimated { .. });
    let (series, kpss) = stationarity(recording, cell, seconds);
    let once_in = once_in(samples.corrected.count() as f64 * theta);
    let bins = bins(samples);
    let evidence = Evidence { bins: bins.as_deref().unwrap_or_default(), kpss, theta: known.then_some(theta) };
    let found = assess(&evidence, 1.0 / once_in, CONFIDENCE, SEED);
    let thresholds = found.thresholds.iter().map(threshold).collect();
    let mut reasons = refusals(&found, samples, &clustering);
    if bins.is_none() {
        reasons = vec![TailRefusal::Imprecise];
    }
    reasons.extend(cell.doubtful.then_some(TailRefusal::Doubtful));
    let outcome = match found.level {
        Ok(level) if reasons.is_empty() => at_level(level, once_in, samples.period),
        _ => TailOutcome::Refused { once_in, reasons },
    };
    Tail {
        phase: cell.phase.to_owned(),
        cpu: cell.cpu,
        samples: samples.corrected.count(),
        max_ns: samples.max,
        clustering,
        series,
        kpss,
        thresholds,
        outcome,
        arrivals: arrival::arrivals(recording, cell, seconds),
    }
}

/// Returns the largest power of ten at most two decades beyond this number of independent samples.
fn once_in(effective: f64) -> f64 {
    10f64.powf((effective.max(1.0).log10() + DECADES + 1e-9).floor())
}

fn at_level(found: Extrapolation, once_in: f64, period: u64) -> TailOutcome {
    let once_in_ns = (period > 0).then_some(Nanos((once_in * period as f64) as u64));
    TailOutcome::Level {
        once_in,
        once_in_ns,
        level_ns: found.level,
        lower_ns: found.interval.low,
        upper_ns: found.interval.high,
        confidence: found.interval.confidence,
        fit_p: found.fit_p,
        decades: found.decades,
    }
}

fn threshold(at: &ThresholdFit) -> TailThreshold {
    TailThreshold {
        threshold_ns: at.threshold,
        exceedances: at.exceedances,
        shape: at.fit.gpd.shape,
        shape_interval: at.shape.map(|i| (i.low, i.high)),
        scale_ns: at.fit.gpd.scale,
        modified_scale_ns: at.modified_scale,
    }
}

fn refusals(found: &Assessment, samples: &Samples, clustering: &ClusterNote) -> Vec<TailRefusal> {
    let known = match clustering {
        ClusterNote::Estimated { from, .. } | ClusterNote::TooFew { from } => *from,
    };
    let refusal = |refusal: &Refusal| match *refusal {
        Refusal::NotPossible | Refusal::InsideData => TailRefusal::NotPossible,
        Refusal::StationarityUnknown => TailRefusal::OrderUnknown,
        Refusal::NotStationary(kpss) => TailRefusal::NotStationary { kpss },
        Refusal::ClusteringUnknown => TailRefusal::ClusteringUnknown { from: known },
        Refusal::TooFar(decades) => TailRefusal::TooFar { decades },
        Refusal::FewThresholds(n) => TailRefusal::FewThresholds { thresholds: n as u64 },
        Refusal::ShapeUnstable { at_most, at_least } => TailRefusal::ShapeUnstable { at_most, at_least },
        Refusal::PoorFit(p) => TailRefusal::PoorFit { p },
        Refusal::BelowObserved { level, .. } => {
            TailRefusal::BelowObserved { upper_ns: level, observed_ns: samples.max }
        }
        Refusal::Unbounded => TailRefusal::Unbounded,
    };
    match &found.level {
        // The check uses the bin of the maximum; here its exact value is known.
        Ok(level) if level.interval.high < samples.max as f64 => {
            vec![TailRefusal::BelowObserved { upper_ns: level.interval.high, observed_ns: samples.max }]
        }
        Ok(_) => Vec::new(),
        Err(reasons) => reasons.iter().map(refusal).collect(),
    }
}

/// Returns the corrected histogram, with bins of whole microseconds for imported files of that resolution; `None` if
/// samples may have any value.
fn bins(samples: &Samples) -> Option<Vec<Bin>> {
    let Blur { below_ns, above_ns, unplaced, hidden_from_ns, .. } = samples.blur;
    let exact = unplaced.is_none() && hidden_from_ns.is_none() && samples.uncounted == 0 && below_ns == 0;
    let edges: fn(u64, u64) -> (u64, u64) = match above_ns {
        0 => |low, high| (low, high.saturating_add(1)),
        // The range from the first whole microsecond of the bin to one past the last.
        999 => |low, high| (low.div_ceil(MICRO) * MICRO, (high / MICRO).saturating_add(1).saturating_mul(MICRO)),
        _ => return None,
    };
    let bin = |b: punctual_units::Bin| {
        let (low, high) = edges(b.low, b.high);
        Bin { low: low as f64, high: high as f64, count: b.count }
    };
    exact.then(|| samples.corrected.bins().map(bin).collect())
}

/// Tests the worst wakeups of each second for stationarity. Returns the tested series and the KPSS statistic of its
/// logarithms. For imported runs, and for long runs without seconds, the maxima of whole blocks are used. The logarithm
/// prevents a single very late wakeup from masking a drift.
fn stationarity(recording: &Recording, cell: &Cell, seconds: &[(u64, u64)]) -> (Option<TailSeries>, Option<f64>) {
    let statistic = |maxima: Vec<u64>| {
        let logs: Vec<f64> = maxima.into_iter().filter(|ns| *ns > 0).map(|ns| (ns as f64).ln()).collect();
        (logs.len() >= LEAST_SERIES).then(|| kpss(&logs, kpss_lags(logs.len())))
    };
    if let Some(kpss) = statistic(seconds.iter().map(|(_, max)| *max).collect()) {
        return (Some(TailSeries::Seconds), kpss);
    }
    let length = recording.run.settings.maxima_block_ns;
    let mine = |b: &&BlockMaximum| b.phase == cell.phase && b.cpu == cell.cpu && length.is_some_and(|l| b.is_whole(l));
    match statistic(recording.maxima.iter().filter(mine).filter_map(|b| b.max_ns).collect()) {
        Some(kpss) => (Some(TailSeries::Blocks), kpss),
        None => (None, None),
    }
}
