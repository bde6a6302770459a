//! Rows of latencies (worst, quantiles, skipped periods) with one value per boot.

use crate::CONFIDENCE;
use crate::boots::{Boots, Groups};
use crate::figures::{ALL, is_of_latencies, is_worst_known, least, mean, merged, of_latencies, skipped, worst};
use crate::rows::{Wanted, row_of_boots, row_of_runs};
use punctual_model::{Against, Claim, ComparisonRow, Conclusion, Known, Recording};
use punctual_stats::{median, quantile_rank_bounds_clustered};

const OVER_ALL: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
const OF_LOAD: (&str, f64) = ("p99.9", 0.999);

pub(crate) fn rows(groups: &Groups, common: &[String]) -> Vec<ComparisonRow> {
    if common.is_empty() {
        return Vec::new();
    }
    let cells: Vec<Vec<Vec<Found>>> = groups.boots.iter().map(|boots| found(boots, common)).collect();
    let mut rows: Vec<ComparisonRow> = Vec::new();
    rows.extend(plain(groups, ALL, common));
    rows.extend(OVER_ALL.iter().filter_map(|(name, q)| quantiles(groups, &cells, ALL, 0, name, *q)));
    if cells.iter().flatten().flatten().any(|found| OVER_ALL.iter().any(|(_, q)| found.quantile(0, *q).is_none())) {
        rows.extend(summary_rows(groups, common));
    }
    rows.extend(skips(groups, ALL, common));
    if common.len() > 1 {
        for (n, load) in common.iter().enumerate() {
            let one = std::slice::from_ref(load);
            rows.extend(plain(groups, load, one));
            rows.extend(quantiles(groups, &cells, load, n + 1, OF_LOAD.0, OF_LOAD.1));
            rows.extend(skips(groups, load, one));
        }
    }
    rows
}

/// Returns the values of the runs of each boot.
fn found(boots: &Boots, common: &[String]) -> Vec<Vec<Found>> {
    let of_boot =
        |runs: &[&Recording]| runs.iter().filter(|r| is_of_latencies(r)).map(|r| Found::of(r, common)).collect();
    boots.all.iter().map(|boot| of_boot(&boot.runs)).collect()
}

/// Corrected latencies of a run over all loads and for each load, and their clustering.
struct Found {
    known: Vec<Known<'static>>,
    theta: f64,
}

impl Found {
    fn of(recording: &Recording, common: &[String]) -> Found {
        let each = common.iter().map(|load| merged(recording, std::slice::from_ref(load)));
        let known = std::iter::once(merged(recording, common)).chain(each).collect();
        // The judge estimates the clustering of the worst wakeups of each CPU. The smallest value over all cells is
        // used.
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

/// Returns a row for the worst wakeup; `None` if a file does not state whether another wakeup was worse.
fn plain(groups: &Groups, load: &str, loads: &[String]) -> Option<ComparisonRow> {
    let wanted = Wanted { load, figure: "max", unit: "ns", more_is_better: false };
    let mut row = row_of_runs(groups, &wanted, |r| worst(r, loads))?;
    let is_known: Vec<bool> = groups.sides.iter().map(|s| of_latencies(s).all(|r| is_worst_known(r, loads))).collect();
    for (against, known) in row.against.iter_mut().zip(is_known.iter().skip(1)) {
        if !(is_known[0] && *known) {
            let conclusion =
                if against.conclusion == Conclusion::TooFew { Conclusion::TooFew } else { Conclusion::Missing };
            *against = Against { ratio: against.ratio, conclusion, ..Against::default() };
        }
    }
    Some(row)
}

/// Returns rows for the mean and the minimum, for files without quantiles.
fn summary_rows(groups: &Groups, loads: &[String]) -> Vec<ComparisonRow> {
    let wanted = |figure| Wanted { load: ALL, figure, unit: "ns", more_is_better: false };
    let (mean, least) = (|r: &Recording| mean(r, loads), |r: &Recording| least(r, loads));
    [row_of_runs(groups, &wanted("mean"), mean), row_of_runs(groups, &wanted("min"), least)]
        .into_iter()
        .flatten()
        .collect()
}

fn skips(groups: &Groups, load: &str, loads: &[String]) -> Option<ComparisonRow> {
    let wanted = Wanted { load, figure: "skipped", unit: "share", more_is_better: false };
    let row = row_of_runs(groups, &wanted, |r| skipped(r, loads))?;
    row.groups.iter().any(|g| g.values.iter().any(|v| *v > 0.0)).then_some(row)
}

/// Returns a row for a quantile, with bounds if the group consists of a single run. A group has no value if the
/// quantile of one of its runs is unknown.
fn quantiles(
    groups: &Groups,
    cells: &[Vec<Vec<Found>>],
    load: &str,
    index: usize,
    figure: &str,
    q: f64,
) -> Option<ComparisonRow> {
    let wanted = Wanted { load, figure, unit: "ns", more_is_better: false };
    let of_boot =
        |runs: &Vec<Found>| median(&runs.iter().filter_map(|found| found.quantile(index, q)).collect::<Vec<f64>>());
    let values: Vec<Vec<Option<f64>>> = cells
        .iter()
        .map(|boots| match boots.iter().flatten().all(|found| found.quantile(index, q).is_some()) {
            true => boots.iter().map(of_boot).collect(),
            false => Vec::new(),
        })
        .collect();
    let mut row = row_of_boots(groups, &wanted, &values)?;
    for (sampled, boots) in row.groups.iter_mut().zip(cells).filter(|(sampled, _)| sampled.n > 0) {
        let mut runs = boots.iter().flatten();
        let (Some(only), None) = (runs.next(), runs.next()) else { continue };
        let Some(known) = only.known.get(index) else { continue };
        let ranks = quantile_rank_bounds_clustered(known.all().count(), only.theta, q, CONFIDENCE);
        sampled.lower = ranks.lower.and_then(|rank| known.at_least(rank)).map(|ns| ns as f64);
        sampled.upper = ranks.upper.and_then(|rank| known.at_most(rank)).map(|ns| ns as f64);
    }
    Some(row)
}
