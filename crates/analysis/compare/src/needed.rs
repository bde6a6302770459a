//! Computes the number of boots needed to detect a difference.

use crate::CONFIDENCE;
use crate::boots::{Groups, LEAST_BOOTS};
use punctual_model::{BootsNeeded, BootsRecipe, ComparisonRow, SampleUnit};
use punctual_stats::boots_for_difference;

/// Relative differences for which the number is computed.
const DIFFERENCES: [f64; 4] = [0.05, 0.1, 0.2, 0.5];
/// Spreads between boots that are assumed if the data do not show them.
const ASSUMED: [f64; 2] = [0.03, 0.1];

/// Computes the number of boots needed, from the spread between boots of the worst wakeup and of the rarest quantile
/// over all loads (or of the first row). If no group has two boots, assumes two spreads.
pub(crate) fn recipes(groups: &Groups, rows: &[ComparisonRow]) -> Vec<BootsRecipe> {
    let of_boots = || rows.iter().filter(|row| row.sample == SampleUnit::Boot);
    let tests = of_boots().flat_map(|row| &row.against).count().max(1);
    let in_turns = groups.pairs.iter().all(Option::is_some) && !groups.pairs.is_empty();
    let recipe = |row: &ComparisonRow, spread: f64, is_seen: bool| BootsRecipe {
        load: row.load.clone(),
        figure: row.figure.clone(),
        spread,
        is_seen,
        tests: tests as u64,
        needed: DIFFERENCES.iter().filter_map(|difference| needed(spread, *difference, tests, in_turns)).collect(),
    };
    let Some(first) = of_boots().next() else { return Vec::new() };
    let rarest = of_boots().rfind(|row| row.load == first.load && row.figure.starts_with('p'));
    let seen = |row: &ComparisonRow| spread(row).filter(|s| *s > 0.0).map(|spread| recipe(row, spread, true));
    let found: Vec<BootsRecipe> = [Some(first), rarest].into_iter().flatten().filter_map(seen).collect();
    if found.is_empty() { ASSUMED.iter().map(|spread| recipe(first, *spread, false)).collect() } else { found }
}

fn needed(spread: f64, difference: f64, tests: usize, in_turns: bool) -> Option<BootsNeeded> {
    let boots = boots_for_difference(spread, difference.ln_1p(), (1.0 - CONFIDENCE) / tests as f64, in_turns)?;
    Some(BootsNeeded { difference, boots: boots.max(LEAST_BOOTS) })
}

/// Returns the pooled standard deviation of the logarithms within groups; `None` if a group has fewer than two values.
fn spread(row: &ComparisonRow) -> Option<f64> {
    let (mut squares, mut degrees) = (0.0, 0.0);
    for group in &row.groups {
        if group.values.len() < 2 || group.values.iter().any(|v| *v <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = group.values.iter().map(|v| v.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        squares += logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>();
        degrees += logs.len() as f64 - 1.0;
    }
    Some((squares / degrees).sqrt())
}
