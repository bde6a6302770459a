//! Latencies: worst, quantiles, and skipped periods; one value per run.

use crate::figures::{ALL, merged, of_latencies, skipped, worst};
use crate::rows::{Wanted, row_of_runs};
use crate::{CONFIDENCE, Side};
use punctual_model::{Claim, ComparisonRow, Recording, SampleUnit};
use punctual_stats::quantile_rank_bounds_clustered;
use punctual_units::Histogram;

const OVER_ALL: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
const OF_LOAD: (&str, f64) = ("p99.9", 0.999);

pub(crate) fn rows(sides: &[Side], common: &[String]) -> Vec<ComparisonRow> {
    if common.is_empty() {
        return Vec::new();
    }
    let found = |s: &Side| of_latencies(s).map(|r| Found::of(r, common)).collect();
    let cells: Vec<Vec<Found>> = sides.iter().map(found).collect();
    let mut rows: Vec<ComparisonRow> = Vec::new();
    rows.extend(plain(sides, ALL, common));
    rows.extend(OVER_ALL.iter().filter_map(|(name, q)| quantiles(&cells, ALL, 0, name, *q)));
    rows.extend(skips(sides, ALL, common));
    if common.len() > 1 {
        for (n, load) in common.iter().enumerate() {
            let one = std::slice::from_ref(load);
            rows.extend(plain(sides, load, one));
            rows.extend(quantiles(&cells, load, n + 1, OF_LOAD.0, OF_LOAD.1));
            rows.extend(skips(sides, load, one));
        }
    }
    rows
}

/// Corrected latencies of a run: over all loads, then for each load; and their clustering.
struct Found {
    histograms: Vec<Histogram>,
    theta: f64,
}

impl Found {
    fn of(recording: &Recording, common: &[String]) -> Found {
        let each = common.iter().map(|load| merged(recording, std::slice::from_ref(load)));
        let histograms = std::iter::once(merged(recording, common)).chain(each).collect();
        // The judge estimates the clustering of the worst wakeups of each CPU; the smallest of all cells counts.
        let verdict = punctual_judge::judge(recording, &[Claim::none_missed()]);
        let thetas = verdict.claims.iter().flat_map(|c| &c.cells).map(|c| match c.samples {
            0 => 1.0,
            n => (c.effective_samples / n as f64).clamp(0.0, 1.0),
        });
        Found { histograms, theta: thetas.fold(1.0, f64::min) }
    }
}

fn plain(sides: &[Side], load: &str, loads: &[String]) -> Option<ComparisonRow> {
    let wanted = Wanted { load, figure: "max", unit: "ns", more_is_better: false };
    row_of_runs(sides, &wanted, |r| worst(r, loads))
}

fn skips(sides: &[Side], load: &str, loads: &[String]) -> Option<ComparisonRow> {
    let wanted = Wanted { load, figure: "skipped", unit: "share", more_is_better: false };
    let row = row_of_runs(sides, &wanted, |r| skipped(r, loads))?;
    row.groups.iter().any(|g| g.values.iter().any(|v| *v > 0.0)).then_some(row)
}

/// A row for a quantile; with bounds if the group is a single run.
fn quantiles(cells: &[Vec<Found>], load: &str, index: usize, figure: &str, q: f64) -> Option<ComparisonRow> {
    let value = |found: &Found| found.histograms.get(index).and_then(|h| h.quantile(q)).map(|ns| ns as f64);
    let wanted = Wanted { load, figure, unit: "ns", more_is_better: false };
    let mut row = crate::rows::row_of_values(
        &wanted,
        SampleUnit::Run,
        cells.iter().map(|runs| runs.iter().filter_map(value).collect()),
    )?;
    for (sampled, runs) in row.groups.iter_mut().zip(cells) {
        let [only] = runs.as_slice() else { continue };
        let Some(histogram) = only.histograms.get(index) else { continue };
        let ranks = quantile_rank_bounds_clustered(histogram.count(), only.theta, q, CONFIDENCE);
        let at = |rank: Option<u64>| rank.and_then(|r| histogram.value_at_rank(r)).map(|ns| ns as f64);
        (sampled.lower, sampled.upper) = (at(ranks.lower), at(ranks.upper));
    }
    Some(row)
}
