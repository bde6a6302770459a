//! Times of a benchmark, own or imported, batch by batch with the temperature after each.

use crate::Side;
use crate::heat;
use crate::rows::Wanted;
use crate::seconds::series_row;
use punctual_model::{ComparisonRow, Recording, SampleUnit, Scatter, Series};
use punctual_stats::Point;

const CELSIUS: &str = "°C";

/// A row for each series that every group has, except temperatures, which explain the others.
pub(crate) fn rows(sides: &[Side]) -> Vec<ComparisonRow> {
    in_all(sides).into_iter().filter_map(|(of, name, unit)| row(sides, &of, &name, &unit)).collect()
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

fn all_series(recording: &Recording) -> impl Iterator<Item = &Series> {
    let imported = recording.run.import.iter().flat_map(|import| &import.series);
    imported.chain(recording.bench.iter().flat_map(|bench| &bench.series))
}

/// Subject, name and unit of the series that every group has.
fn in_all(sides: &[Side]) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let Some(first) = sides.first() else { return found };
    for series in first.runs.iter().flat_map(|(_, r)| all_series(r)).filter(|s| s.unit != CELSIUS) {
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

fn row(sides: &[Side], of: &str, name: &str, unit: &str) -> Option<ComparisonRow> {
    let values: Vec<Vec<f64>> = sides
        .iter()
        .map(|s| {
            s.runs.iter().filter_map(|(_, r)| one(r, of, name, unit)).flat_map(|s| s.points.iter().copied()).collect()
        })
        .collect();
    let wanted = Wanted { load: of, figure: name, unit, more_is_better: unit.ends_with("/s") };
    let mut row = series_row(&wanted, SampleUnit::Batch, &values)?;
    // The mean from the file, which also covers a series too long to be kept whole.
    for (sampled, side) in row.groups.iter_mut().zip(sides) {
        if let [(_, only)] = side.runs.as_slice()
            && let Some(series) = one(only, of, name, unit)
        {
            (sampled.mean, sampled.n) = (Some(series.mean), series.count);
        }
    }
    let with_heat: Vec<Option<Vec<Point>>> = sides.iter().map(|s| points(s, of, name, unit)).collect();
    if let Some(Some(first)) = with_heat.first() {
        for (against, other) in row.against.iter_mut().zip(with_heat.iter().skip(1)) {
            against.covariate = other.as_ref().and_then(|other| heat::explained(first, other));
        }
    }
    Some(row)
}

/// Values with the temperature of the CPU (or the first one recorded); `None` if a value lacks it.
fn points(side: &Side, of: &str, name: &str, unit: &str) -> Option<Vec<Point>> {
    let mut all = Vec::new();
    for (_, recording) in &side.runs {
        let Some(values) = one(recording, of, name, unit) else { continue };
        let heats = || all_series(recording).filter(|s| s.of == of && s.unit == CELSIUS);
        let heat = heats().find(|s| s.name.starts_with("CPU")).or_else(|| heats().next())?;
        if heat.points.len() != values.points.len() {
            return None;
        }
        all.extend(values.points.iter().zip(&heat.points).map(|(&value, &covariate)| Point { value, covariate }));
    }
    (!all.is_empty()).then_some(all)
}
