use super::run::{board, name, settings, worst_by_load};
use super::{LEAST_BOARDS, LEVEL};
use punctual_model::history::RunSummary;
use punctual_model::{FleetOutlier, FleetTooFew};
use punctual_stats::{GumbelScores, benjamini_hochberg, location, median};
use punctual_units::Arrange;
use std::collections::BTreeMap;

/// Minimum deviation on the logarithmic scale: 2 %.
const LEAST_DEVIATION: f64 = 0.02;
/// Ratio of standard to mean absolute deviation of a normal distribution. Used if more than half of the values are
/// equal.
const OF_MEAN: f64 = 1.253_314_137_315_500_3;
/// Minimum number of simulated scores for each number of boards. It is chosen so that, for each board and load, 15 of
/// them exceed the cut-off of a single board. This takes at most a second.
const DRAWS: usize = 20_000;
const DRAWS_EACH: usize = 300;
const MOST_DRAWS: usize = 5_000_000;
const SEED: u64 = 0x0066_6c65_6574;

pub(super) struct Outliers {
    pub found: Vec<FleetOutlier>,
    pub tests: usize,
    pub too_few: Vec<FleetTooFew>,
}

type Groups<'a> = BTreeMap<(String, String), Vec<(&'a RunSummary, u64)>>;

/// Returns the boards that are worse than the worst of an equal number of boards under the same load and settings is
/// expected to be by chance. The most certain outlier comes first.
pub(super) fn outliers(runs: &[&RunSummary]) -> Outliers {
    let mut groups = Groups::new();
    for run in runs {
        for (load, ns) in worst_by_load(run) {
            groups.entry((settings(run), load.to_owned())).or_default().push((*run, ns));
        }
    }
    let (mut too_few, mut scored) = (Vec::new(), Vec::new());
    for ((settings, load), all) in &groups {
        let boards = of_boards(all);
        match boards.len() < LEAST_BOARDS {
            true => too_few.push(FleetTooFew {
                settings: settings.clone(),
                load: load.clone(),
                boards: boards.len() as u64,
            }),
            false => scored.extend(scores(settings, load, all, &boards)),
        }
    }
    let tests = scored.len();
    let draws = DRAWS.max(DRAWS_EACH * tests).min(MOST_DRAWS);
    let mut chance: BTreeMap<u64, Option<GumbelScores>> = BTreeMap::new();
    for one in &mut scored {
        let drawn = chance.entry(one.boards).or_insert_with(|| GumbelScores::draw(one.boards as usize, draws, SEED));
        one.p = drawn.as_ref().map_or(1.0, |drawn| drawn.p(one.score));
    }
    let raw: Vec<f64> = scored.iter().map(|one| one.p).collect();
    // A value that is not a probability supports no conclusion.
    let adjusted = benjamini_hochberg(&raw).unwrap_or_else(|| vec![1.0; tests]);
    scored.iter_mut().zip(adjusted).for_each(|(one, p)| one.p = p);
    scored.retain(|one| one.p <= LEVEL);
    scored.arrange_by(|a, b| a.p.total_cmp(&b.p).then(b.score.total_cmp(&a.score)));
    Outliers { found: scored, tests, too_few }
}

/// Returns the scores of all boards of a group. Their p-values are computed later.
fn scores(settings: &str, load: &str, all: &[(&RunSummary, u64)], boards: &BTreeMap<String, f64>) -> Vec<FleetOutlier> {
    let values: Vec<f64> = boards.values().copied().collect();
    let Some((middle, deviation)) = spread(&values) else { return Vec::new() };
    let one = |(wanted, value): (&String, &f64)| {
        let own = all.iter().filter(|(run, _)| board(run) == *wanted);
        let (run, _) = own.max_by_key(|(_, ns)| *ns)?;
        Some(FleetOutlier {
            run: name(run),
            host: run.host.clone(),
            kernel: run.kernel.release.clone(),
            load: load.to_owned(),
            settings: settings.to_owned(),
            ns: value.exp().round() as u64,
            median_ns: middle.exp(),
            score: (value - middle) / deviation,
            p: 1.0,
            boards: values.len() as u64,
        })
    };
    boards.iter().filter_map(one).collect()
}

/// Returns one value per board: the median of its runs.
pub(super) fn of_boards(all: &[(&RunSummary, u64)]) -> BTreeMap<String, f64> {
    let mut by_board: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    all.iter().for_each(|(run, ns)| by_board.entry(board(run)).or_default().push(log(*ns)));
    by_board.into_iter().filter_map(|(board, values)| Some((board, median(&values)?))).collect()
}

/// Returns the logarithm, because ratios of latencies are compared. Latencies are at least 1 ns.
fn log(ns: u64) -> f64 {
    (ns.max(1) as f64).ln()
}

/// Returns the median and robust standard deviation, which is at least [`LEAST_DEVIATION`].
fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let (middle, deviation) = location(values)?;
    let mean = OF_MEAN * values.iter().map(|value| (value - middle).abs()).sum::<f64>() / values.len() as f64;
    let deviation = if deviation > 0.0 { deviation } else { mean };
    // The minimum prevents a board that differs by one percent from becoming an outlier if the others agree closely by
    // chance.
    Some((middle, deviation.max(LEAST_DEVIATION)))
}
