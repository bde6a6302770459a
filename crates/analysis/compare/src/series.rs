//! Compares the times of a benchmark (run by this program or imported) batch by batch, with the temperature after each
//! batch.

use crate::boots::{Boots, Groups, LEAST_BOOTS, all_series, is_heat};
use crate::rows::{Wanted, row_of_runs, sampled};
use crate::{CONFIDENCE, Side, heat};
use punctual_model::{Against, ComparisonRow, Conclusion, Ratio, Recording, SampleUnit, Sampled, Scatter, Series};
use punctual_stats::{self as stats, Point};

/// Returns a row for each series that all groups have, except temperatures, which are used to explain the others.
pub(crate) fn rows(groups: &Groups) -> Vec<ComparisonRow> {
    in_all(groups.sides).into_iter().filter_map(|(of, name, unit)| row(groups, &of, &name, &unit)).collect()
}

pub(crate) fn scatters(sides: &[Side]) -> Vec<Scatter> {
    let one = |(of, name, unit): (String, String, String)| {
        let groups: Vec<Vec<(f64, f64)>> = sides
            .iter()
            .map(|s| points(s, &of, &name, &unit).map(|all| all.iter().map(|p| (p.covariate, p.value)).collect()))
            .collect::<Option<_>>()?;
        Some(Scatter { of, name, unit, at: None, groups })
    };
    in_all(sides).into_iter().filter_map(one).collect()
}

/// Returns subject, name and unit of the series that all groups have, without temperatures.
fn in_all(sides: &[Side]) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let Some(first) = sides.first() else { return found };
    for series in first.runs.iter().flat_map(|(_, r)| all_series(r)).filter(|s| !is_heat(s)) {
        let key = (series.of.clone(), series.name.clone(), series.unit.clone());
        let has = |s: &Side| s.runs.iter().any(|(_, r)| one(r, &key.0, &key.1, &key.2).is_some());
        if !found.contains(&key) && sides.iter().all(has) {
            found.push(key);
        }
    }
    found
}

fn one<'a>(recording: &'a Recording, of: &str, name: &str, unit: &str) -> Option<&'a Series> {
    all_series(recording).find(|s| s.of == of && s.name == name && s.unit == unit)
}

fn row(groups: &Groups, of: &str, name: &str, unit: &str) -> Option<ComparisonRow> {
    let wanted = Wanted { load: of, figure: name, unit, more_is_better: unit.ends_with("/s") };
    let mean = |r: &Recording| one(r, of, name, unit).map(|series| series.mean);
    let is_several = |boots: &Boots| boots.values(mean).into_iter().flatten().nth(1).is_some();
    let mut row = match groups.boots.iter().all(is_several) {
        true => row_of_runs(groups, &wanted, mean)?,
        false => row_of_batches(groups, &wanted)?,
    };
    let with_heat: Vec<Option<Vec<Point>>> = groups.sides.iter().map(|s| points(s, of, name, unit)).collect();
    if let Some(Some(first)) = with_heat.first() {
        for (against, other) in row.against.iter_mut().zip(with_heat.iter().skip(1)) {
            against.covariate = other.as_ref().and_then(|other| heat::explained(first, other));
        }
    }
    Some(row)
}

/// Returns a row of batches, for groups that consist of a single boot. Batches do not predict the next boot, so it is
/// not judged.
fn row_of_batches(groups: &Groups, wanted: &Wanted) -> Option<ComparisonRow> {
    let of_side = |side: &Side| {
        let series: Vec<&Series> =
            side.runs.iter().filter_map(|(_, r)| one(r, wanted.load, wanted.figure, wanted.unit)).collect();
        let values: Vec<f64> = series.iter().flat_map(|s| s.points.iter().copied()).collect();
        let (effective, lag_one) = (stats::effective_n(&values), stats::lag_one(&values));
        // Uses the mean in the file, which also covers series too long to be stored completely.
        let count: u64 = series.iter().map(|s| s.count).sum();
        let mean = series.iter().map(|s| s.mean * s.count as f64).sum::<f64>() / count as f64;
        (count > 0).then(|| Sampled { n: count, mean: Some(mean), effective, lag_one, ..sampled(values) })
    };
    let samples = groups.sides.iter().map(of_side).collect::<Option<Vec<Sampled>>>()?;
    let first = samples.first()?.mean?;
    let against = samples.iter().skip(1).map(|other| {
        let value = other.mean.map(|mean| mean / first).filter(|ratio| ratio.is_finite());
        let ratio = value.map(|value| Ratio { value, interval: None, confidence: CONFIDENCE, least_n: LEAST_BOOTS });
        Against { ratio, conclusion: Conclusion::TooFew, ..Against::default() }
    });
    let against = against.collect();
    Some(wanted.row(SampleUnit::Batch, samples, against))
}

/// Returns the values with the temperature of the CPU (or of the first recorded sensor); `None` if a value has no
/// temperature.
fn points(side: &Side, of: &str, name: &str, unit: &str) -> Option<Vec<Point>> {
    let mut all = Vec::new();
    for (_, recording) in &side.runs {
        let Some(values) = one(recording, of, name, unit) else { continue };
        let heats = || all_series(recording).filter(|s| s.of == of && is_heat(s));
        let heat = heats().find(|s| s.name.starts_with("CPU")).or_else(|| heats().next())?;
        if heat.points.len() != values.points.len() {
            return None;
        }
        all.extend(values.points.iter().zip(&heat.points).map(|(&value, &covariate)| Point { value, covariate }));
    }
    (!all.is_empty()).then_some(all)
}
