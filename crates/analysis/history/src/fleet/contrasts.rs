//! Effects of kernels and settings on the worst wakeups.

use super::LEAST_BOARDS;
use super::outliers::of_boards;
use super::run::{settings, worst_by_load};
use punctual_model::history::RunSummary;
use punctual_model::{FleetContrast, FleetFactor};
use punctual_stats::{benjamini_hochberg, mann_whitney, ratio};
use punctual_units::Arrange;
use std::collections::BTreeMap;

/// Minimum number of boards on each side. With fewer, no interval at 95 % exists.
const LEAST: usize = 4;
const CONFIDENCE: f64 = 0.95;

/// Values by the properties held equal (stratum and load) and by the property that differs.
type Strata<'a> = BTreeMap<(String, String), BTreeMap<String, Vec<(&'a RunSummary, u64)>>>;

/// Compares each kernel with all others under the same settings, and each combination of settings with all others on
/// the same kernel. The most certain difference comes first.
pub(super) fn contrasts(runs: &[&RunSummary]) -> Vec<FleetContrast> {
    let kernel = |run: &RunSummary| run.kernel.release.clone().unwrap_or_else(|| "unknown".into());
    let mut all = of_factor(FleetFactor::Kernel, &strata(runs, &settings, &kernel));
    all.extend(of_factor(FleetFactor::Settings, &strata(runs, &kernel, &settings)));
    let raw: Vec<f64> = all.iter().map(|contrast| contrast.p).collect();
    // A value that is not a probability supports no conclusion.
    let adjusted = benjamini_hochberg(&raw).unwrap_or_else(|| vec![1.0; raw.len()]);
    for (contrast, p) in all.iter_mut().zip(adjusted) {
        contrast.p = p;
    }
    all.arrange_by(|a, b| a.p.total_cmp(&b.p));
    all
}

fn strata<'a>(
    runs: &[&'a RunSummary],
    alike: &dyn Fn(&RunSummary) -> String,
    differs: &dyn Fn(&RunSummary) -> String,
) -> Strata<'a> {
    let mut strata = Strata::new();
    for &run in runs {
        for (load, ns) in worst_by_load(run) {
            let levels = strata.entry((alike(run), load.to_owned())).or_default();
            levels.entry(differs(run)).or_default().push((run, ns));
        }
    }
    strata
}

fn of_factor(factor: FleetFactor, strata: &Strata) -> Vec<FleetContrast> {
    let mut found = Vec::new();
    for ((within, load), levels) in strata {
        for (level, mine) in levels {
            let others = levels.iter().filter(|(other, _)| *other != level).flat_map(|(_, runs)| runs.iter().copied());
            let others: Vec<(&RunSummary, u64)> = others.collect();
            let (mine, others) = (values(mine), values(&others));
            if mine.len().min(others.len()) < LEAST || mine.len() + others.len() < LEAST_BOARDS {
                continue;
            }
            let Some((estimate, test)) = ratio(&others, &mine, CONFIDENCE).zip(mann_whitney(&others, &mine)) else {
                continue;
            };
            found.push(FleetContrast {
                factor,
                level: level.clone(),
                within: within.clone(),
                load: load.clone(),
                boards: mine.len() as u64,
                others: others.len() as u64,
                ratio: estimate.value,
                interval: estimate.interval.map(|interval| (interval.low, interval.high)),
                p: test.p,
            });
        }
    }
    found
}

/// Returns values in ns, one per board.
fn values(all: &[(&RunSummary, u64)]) -> Vec<f64> {
    of_boards(all).into_values().map(f64::exp).collect()
}
