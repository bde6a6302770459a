use super::run::{board, latest, name, settings};
use punctual_model::FleetOutlier;
use punctual_model::history::RunSummary;
use punctual_stats::median;
use punctual_units::Arrange;
use std::collections::BTreeMap;

/// Fewer boards than this have no outlier.
const LEAST: usize = 5;
/// Robust standard deviations beyond which a value is one (Iglewicz and Hoaglin, 1993).
pub(super) const LIMIT: f64 = 3.5;
/// Smallest deviation, on the logarithmic scale: 2 %.
const LEAST_DEVIATION: f64 = 0.02;
/// Ratio of standard to median absolute deviation of a normal distribution.
const OF_MAD: f64 = 1.482_602_218_505_602;
/// The same for mean absolute deviation, used if more than half of the values are equal.
const OF_MEAN: f64 = 1.253_314_137_315_500_3;

/// Those more than [`LIMIT`] from the median of all boards under the same load and settings, the farthest first.
pub(super) fn outliers(runs: &[&RunSummary]) -> Vec<FleetOutlier> {
    let mut groups: BTreeMap<(String, String), Vec<(&RunSummary, u64)>> = BTreeMap::new();
    for run in runs {
        for (load, ns) in latest(run) {
            groups.entry((settings(run), load.to_owned())).or_default().push((*run, ns));
        }
    }
    let mut found: Vec<FleetOutlier> = groups.iter().flat_map(|((s, load), all)| of_group(s, load, all)).collect();
    found.arrange_by(|a, b| b.score.abs().total_cmp(&a.score.abs()));
    found
}

fn of_group(settings: &str, load: &str, all: &[(&RunSummary, u64)]) -> Vec<FleetOutlier> {
    let logs = of_boards(all);
    if logs.len() < LEAST {
        return Vec::new();
    }
    let values: Vec<f64> = logs.into_values().collect();
    let Some((middle, deviation)) = spread(&values) else { return Vec::new() };
    let score = |ns: u64| (log(ns) - middle) / deviation;
    let far = all.iter().map(|(run, ns)| (run, *ns, score(*ns))).filter(|(.., score)| score.abs() > LIMIT);
    far.map(|(run, ns, score)| FleetOutlier {
        run: name(run),
        host: run.host.clone(),
        kernel: run.kernel.release.clone(),
        load: load.to_owned(),
        settings: settings.to_owned(),
        ns,
        median_ns: middle.exp(),
        score,
        boards: values.len() as u64,
    })
    .collect()
}

/// A value for each board: the median of its runs.
pub(super) fn of_boards(all: &[(&RunSummary, u64)]) -> BTreeMap<String, f64> {
    let mut by_board: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    all.iter().for_each(|(run, ns)| by_board.entry(board(run)).or_default().push(log(*ns)));
    by_board.into_iter().filter_map(|(board, values)| Some((board, median(&values)?))).collect()
}

/// Ratios of latencies matter; none is below a nanosecond.
fn log(ns: u64) -> f64 {
    (ns.max(1) as f64).ln()
}

/// Median and robust standard deviation, at least [`LEAST_DEVIATION`].
fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let middle = median(values)?;
    let away: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let mad = OF_MAD * median(&away)?;
    let mean = OF_MEAN * away.iter().sum::<f64>() / away.len() as f64;
    let deviation = if mad > 0.0 { mad } else { mean };
    // Boards that agree to a fraction of a percent by chance must not make an outlier of one that is a percent away.
    Some((middle, deviation.max(LEAST_DEVIATION)))
}
