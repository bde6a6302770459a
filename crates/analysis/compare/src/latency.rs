//! Latencies: worst, quantiles, and skipped periods; one value per run.

use crate::figures::{ALL, is_worst_known, least, mean, merged, of_latencies, skipped, worst};
use crate::rows::{Wanted, row_of_known, row_of_runs};
use crate::{CONFIDENCE, Side};
use punctual_model::{Against, Claim, ComparisonRow, Conclusion, Known, Recording};
use punctual_stats::quantile_rank_bounds_clustered;

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
    if cells.iter().flatten().any(|found| OVER_ALL.iter().any(|(_, q)| found.quantile(0, *q).is_none())) {
        rows.extend(told(sides, common));
    }
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
    known: Vec<Known<'static>>,
    theta: f64,
}

impl Found {
    fn of(recording: &Recording, common: &[String]) -> Found {
        let each = common.iter().map(|load| merged(recording, std::slice::from_ref(load)));
        let known = std::iter::once(merged(recording, common)).chain(each).collect();
        // The judge estimates the clustering of the worst wakeups of each CPU; the smallest of all cells counts.
        let verdict = punctual_judge::judge(recording, &[Claim::none_missed()]);
        let thetas = verdict.claims.iter().flat_map(|c| &c.cells).map(|c| match c.samples {
            0 => 1.0,
            n => (c.effective_samples / n as f64).clamp(0.0, 1.0),
        });
        Found { known, theta: thetas.fold(1.0, f64::min) }
    }

    fn quantile(&self, index: usize, q: f64) -> Option<f64> {
        self.known.get(index)?.quantile(q).map(|ns| ns as f64)
    }
}

/// The worst wakeup. Where a file does not tell whether another one was worse, nothing follows from it.
fn plain(sides: &[Side], load: &str, loads: &[String]) -> Option<ComparisonRow> {
    let wanted = Wanted { load, figure: "max", unit: "ns", more_is_better: false };
    let mut row = row_of_runs(sides, &wanted, |r| worst(r, loads))?;
    let is_known: Vec<bool> = sides.iter().map(|s| of_latencies(s).all(|r| is_worst_known(r, loads))).collect();
    for (against, known) in row.against.iter_mut().zip(is_known.iter().skip(1)) {
        if !(is_known[0] && *known) {
            let told = if against.told == Conclusion::TooFew { Conclusion::TooFew } else { Conclusion::Missing };
            *against = Against { ratio: against.ratio, told, ..Against::default() };
        }
    }
    Some(row)
}

/// What files that have no quantiles tell: the mean and the smallest.
fn told(sides: &[Side], loads: &[String]) -> Vec<ComparisonRow> {
    let wanted = |figure| Wanted { load: ALL, figure, unit: "ns", more_is_better: false };
    let (mean, least) = (|r: &Recording| mean(r, loads), |r: &Recording| least(r, loads));
    [row_of_runs(sides, &wanted("mean"), mean), row_of_runs(sides, &wanted("min"), least)]
        .into_iter()
        .flatten()
        .collect()
}

fn skips(sides: &[Side], load: &str, loads: &[String]) -> Option<ComparisonRow> {
    let wanted = Wanted { load, figure: "skipped", unit: "share", more_is_better: false };
    let row = row_of_runs(sides, &wanted, |r| skipped(r, loads))?;
    row.groups.iter().any(|g| g.values.iter().any(|v| *v > 0.0)).then_some(row)
}

/// A row for a quantile; with bounds if the group is a single run. A group has no value if the quantile of one of its
/// runs is not known.
fn quantiles(cells: &[Vec<Found>], load: &str, index: usize, figure: &str, q: f64) -> Option<ComparisonRow> {
    let wanted = Wanted { load, figure, unit: "ns", more_is_better: false };
    let values = |runs: &Vec<Found>| runs.iter().map(|found| found.quantile(index, q)).collect::<Option<Vec<f64>>>();
    let mut row = row_of_known(&wanted, cells.iter().map(values).collect())?;
    for (sampled, runs) in row.groups.iter_mut().zip(cells).filter(|(sampled, _)| sampled.n > 0) {
        let [only] = runs.as_slice() else { continue };
        let Some(known) = only.known.get(index) else { continue };
        let ranks = quantile_rank_bounds_clustered(known.all().count(), only.theta, q, CONFIDENCE);
        sampled.lower = ranks.lower.and_then(|rank| known.at_least(rank)).map(|ns| ns as f64);
        sampled.upper = ranks.upper.and_then(|rank| known.at_most(rank)).map(|ns| ns as f64);
    }
    Some(row)
}
