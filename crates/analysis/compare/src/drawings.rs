use crate::figures::{ALL, common_loads, merged};
use crate::{Side, series};
use punctual_model::{Comparison, ComparisonDrawings, Known};

/// Collects data for drawings: latencies of every group, over all loads and for each load, and values plotted against
/// temperature.
pub fn drawings(sides: &[Side], comparison: &Comparison) -> ComparisonDrawings {
    let common = common_loads(sides);
    let of = |loads: &[String]| -> Vec<Known<'static>> {
        let one = |side: &Side| {
            let mut all = Known::default();
            side.runs.iter().for_each(|(_, r)| all.add(&merged(r, loads)));
            all
        };
        sides.iter().map(one).collect()
    };
    let mut histograms = Vec::new();
    if !common.is_empty() {
        histograms.push((ALL.to_owned(), of(&common)));
    }
    if common.len() > 1 {
        histograms.extend(common.iter().map(|load| (load.clone(), of(std::slice::from_ref(load)))));
    }
    let mut scatters = series::scatters(sides);
    for scatter in &mut scatters {
        let row = comparison.rows.iter().find(|r| r.load == scatter.of && r.figure == scatter.name);
        scatter.at = row.and_then(|r| r.against.iter().find_map(|a| a.covariate)).map(|c| c.at);
    }
    ComparisonDrawings { histograms, scatters }
}
