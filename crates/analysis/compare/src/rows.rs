//! Makes rows from the values of groups, and corrects all rows of a comparison for multiple testing.

use crate::{CONFIDENCE, Side};
use punctual_model::{Against, ComparisonRow, Conclusion, Ratio, Recording, SampleUnit, Sampled};
use punctual_stats::{self as stats, Estimate};

pub(crate) struct Wanted<'a> {
    pub load: &'a str,
    pub figure: &'a str,
    pub unit: &'a str,
    pub more_is_better: bool,
}

impl Wanted<'_> {
    pub fn row(&self, sample: SampleUnit, groups: Vec<Sampled>, against: Vec<Against>) -> ComparisonRow {
        ComparisonRow {
            load: self.load.into(),
            figure: self.figure.into(),
            unit: self.unit.into(),
            sample,
            more_is_better: self.more_is_better,
            groups,
            against,
        }
    }
}

pub(crate) fn row_of_runs(
    sides: &[Side],
    wanted: &Wanted,
    value: impl Fn(&Recording) -> Option<f64>,
) -> Option<ComparisonRow> {
    let values = sides.iter().map(|s| s.runs.iter().filter_map(|(_, r)| value(r)).collect());
    row_of_values(wanted, SampleUnit::Run, values)
}

pub(crate) fn row_of_values(
    wanted: &Wanted,
    sample: SampleUnit,
    values: impl Iterator<Item = Vec<f64>>,
) -> Option<ComparisonRow> {
    let groups: Vec<Sampled> = values.map(sampled).collect();
    if groups.iter().any(|g| g.n == 0) {
        return None;
    }
    let first = groups.first()?.values.clone();
    let against = groups.iter().skip(1).map(|g| against(&first, &g.values)).collect();
    Some(wanted.row(sample, groups, against))
}

/// As [`row_of_values`] of runs; a group of `None` has no value that is known, and is not compared. `None` if no group has.
pub(crate) fn row_of_known(wanted: &Wanted, values: Vec<Option<Vec<f64>>>) -> Option<ComparisonRow> {
    let some = |group: &Option<Vec<f64>>| group.as_ref().is_some_and(|values| !values.is_empty());
    if !values.iter().any(some) {
        return None;
    }
    let groups: Vec<Sampled> = values.into_iter().map(|group| sampled(group.unwrap_or_default())).collect();
    let first = groups.first()?.values.clone();
    let against = groups.iter().skip(1).map(|group| against(&first, &group.values)).collect();
    Some(wanted.row(SampleUnit::Run, groups, against))
}

pub(crate) fn sampled(values: Vec<f64>) -> Sampled {
    let n = values.len() as u64;
    let mean = (n > 0).then(|| values.iter().sum::<f64>() / n as f64);
    Sampled { n, median: stats::median(&values), mean, values, ..Sampled::default() }
}

fn against(a: &[f64], b: &[f64]) -> Against {
    let least = stats::samples_for_interval(CONFIDENCE).unwrap_or(4);
    let ratio = stats::ratio(a, b, CONFIDENCE).map(|e| ratio_of(&e));
    let p = stats::mann_whitney(a, b).map(|test| test.p);
    let enough = a.len().min(b.len()) as u64 >= least;
    let told = match (a.is_empty() || b.is_empty(), enough) {
        (true, _) => Conclusion::Missing,
        (_, false) => Conclusion::TooFew,
        // Ranks still give a direction if there is no ratio, as with zeros.
        _ => direction(ratio.map_or_else(|| rank_direction(a, b), |r| r.value)),
    };
    Against { ratio, p: p.filter(|_| enough), q: None, told, covariate: None }
}

/// Above 1 if the second group tends to be larger, below 1 if smaller.
fn rank_direction(a: &[f64], b: &[f64]) -> f64 {
    stats::mann_whitney(a, b).map_or(1.0, |test| 1.0 + 0.5 * test.cliffs_delta())
}

pub(crate) fn direction(ratio: f64) -> Conclusion {
    match ratio {
        r if r > 1.0 => Conclusion::More,
        r if r < 1.0 => Conclusion::Less,
        _ => Conclusion::Alike,
    }
}

pub(crate) fn ratio_of(estimate: &Estimate) -> Ratio {
    Ratio {
        value: estimate.value,
        interval: estimate.interval.map(|i| (i.low, i.high)),
        confidence: estimate.interval.map_or(CONFIDENCE, |i| i.confidence),
        least_n: estimate.least_n,
    }
}

/// Corrects the p values of all rows; rows that are then not significant become alike.
pub(crate) fn correct(rows: &mut [ComparisonRow]) {
    let all: Vec<f64> = rows.iter().flat_map(|r| r.against.iter().filter_map(|a| a.p)).collect();
    let Some(corrected) = stats::benjamini_hochberg(&all) else { return };
    let mut corrected = corrected.into_iter();
    for against in rows.iter_mut().flat_map(|r| &mut r.against) {
        against.q = against.p.and_then(|_| corrected.next());
        let is_significant = against.q.is_some_and(|q| q <= 1.0 - CONFIDENCE);
        let excludes = against.ratio.is_none_or(|r| r.interval.is_none_or(|(low, high)| low > 1.0 || high < 1.0));
        if matches!(against.told, Conclusion::More | Conclusion::Less) && !(is_significant && excludes) {
            against.told = Conclusion::Alike;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(a: &[f64], b: &[f64]) -> ComparisonRow {
        let wanted = Wanted { load: "idle", figure: "max", unit: "ns", more_is_better: false };
        wanted.row(SampleUnit::Run, vec![sampled(a.to_vec()), sampled(b.to_vec())], vec![against(a, b)])
    }

    #[test]
    fn few_runs_tell_nothing_and_one_has_its_ratio() {
        let mut rows = vec![row(&[93.0], &[301.0]), row(&[1.0, 1.1, 1.2], &[5.0, 5.1, 5.2])];
        correct(&mut rows);
        assert_eq!(rows[0].against[0].told, Conclusion::TooFew);
        assert!((rows[0].against[0].ratio.unwrap().value - 301.0 / 93.0).abs() < 1e-12);
        assert_eq!((rows[1].against[0].told, rows[1].against[0].p), (Conclusion::TooFew, None));
    }

    #[test]
    fn many_rows_ask_for_more() {
        let (a, b) = ([1.0, 1.1, 1.2, 1.3], [2.0, 2.1, 2.2, 2.3]);
        let mut alone = vec![row(&a, &b)];
        correct(&mut alone);
        assert_eq!(alone[0].against[0].told, Conclusion::More);
        // p = 0.029 among thirty rows without a difference means nothing.
        let mut many: Vec<ComparisonRow> = (0..30).map(|_| row(&a, &[1.05, 1.15, 1.02, 1.25])).collect();
        many.push(row(&b, &a));
        correct(&mut many);
        assert!(many.iter().all(|r| r.against[0].told == Conclusion::Alike));
    }

    #[test]
    fn without_values_it_is_missing() {
        assert_eq!(against(&[], &[1.0]).told, Conclusion::Missing);
    }

    #[test]
    fn zeros_have_ranks() {
        let (none, some) = ([0.0, 0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.1, 0.3, 0.2]);
        let mut rows = vec![row(&none, &some), row(&some, &none)];
        correct(&mut rows);
        assert_eq!((rows[0].against[0].told, rows[1].against[0].told), (Conclusion::More, Conclusion::Less));
    }
}
