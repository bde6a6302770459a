//! Makes rows from the values of boots, and corrects all rows of a comparison for multiple testing.

use crate::CONFIDENCE;
use crate::boots::{Groups, during};
use punctual_model::{Against, ComparisonRow, Conclusion, Ratio, Recording, SampleUnit, Sampled};
use punctual_stats::{self as stats, Estimate, Point};

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

/// Returns a row for a value of each run; `None` if a group has no value.
pub(crate) fn row_of_runs(
    groups: &Groups,
    wanted: &Wanted,
    value: impl Fn(&Recording) -> Option<f64>,
) -> Option<ComparisonRow> {
    let values: Vec<Vec<Option<f64>>> = groups.boots.iter().map(|boots| boots.values(&value)).collect();
    if values.iter().any(|side| side.iter().flatten().next().is_none()) {
        return None;
    }
    row_of_boots(groups, wanted, &values)
}

/// Returns a row of boot values. A group without values is not compared. `None` if no group has a value.
pub(crate) fn row_of_boots(groups: &Groups, wanted: &Wanted, values: &[Vec<Option<f64>>]) -> Option<ComparisonRow> {
    let (first, others) = values.split_first()?;
    values.iter().flatten().flatten().next()?;
    let against = others.iter().enumerate().map(|(k, other)| against(groups, k, first, other)).collect();
    let samples = values.iter().map(|side| sampled(side.iter().flatten().copied().collect())).collect();
    Some(wanted.row(SampleUnit::Boot, samples, against))
}

pub(crate) fn sampled(values: Vec<f64>) -> Sampled {
    let n = values.len() as u64;
    let mean = (n > 0).then(|| values.iter().sum::<f64>() / n as f64);
    Sampled { n, median: stats::median(&values), mean, values, ..Sampled::default() }
}

/// Compares the first group with the `k`-th other: in pairs if they were booted alternately and there are enough pairs,
/// otherwise as two independent samples.
fn against(groups: &Groups, k: usize, a: &[Option<f64>], b: &[Option<f64>]) -> Against {
    let [plain_a, plain_b] = [a, b].map(|side| side.iter().flatten().copied().collect::<Vec<f64>>());
    if plain_a.is_empty() || plain_b.is_empty() {
        return Against { conclusion: Conclusion::Missing, ..Against::default() };
    }
    let value = |side: &[Option<f64>], n: usize| side.get(n).copied().flatten();
    let in_pairs = groups.pairs(k, CONFIDENCE).and_then(|pairs| {
        pairs.iter().map(|(n, m)| value(a, *n).zip(value(b, *m))).collect::<Option<Vec<(f64, f64)>>>()
    });
    let least = stats::samples_for_interval(CONFIDENCE).unwrap_or(4);
    let is_enough = groups.is_judged(k) && plain_a.len().min(plain_b.len()) as u64 >= least;
    let (estimate, p, lean) = match &in_pairs {
        Some(pairs) => paired(pairs),
        None => unpaired(&plain_a, &plain_b),
    };
    let ratio = estimate.map(|e| if is_enough { ratio_of(&e) } else { Ratio { interval: None, ..ratio_of(&e) } });
    if !is_enough {
        return Against { ratio, conclusion: Conclusion::TooFew, ..Against::default() };
    }
    // Ranks show a direction even if no ratio can be computed, for example with zeros.
    let conclusion = direction(ratio.map_or(lean, |r| r.value));
    let equal_temperature = at_equal_temperature(groups, k, a, b);
    Against { ratio, p, conclusion, paired: in_pairs.is_some(), equal_temperature, ..Against::default() }
}

/// Ratio, p-value, and a number above 1 if the second group tends to be larger, or below 1 if it tends to be smaller.
type Found = (Option<Estimate>, Option<f64>, f64);

fn unpaired(a: &[f64], b: &[f64]) -> Found {
    let test = stats::mann_whitney(a, b);
    (stats::ratio(a, b, CONFIDENCE), test.map(|t| t.p), test.map_or(1.0, |t| 1.0 + 0.5 * t.cliffs_delta()))
}

fn paired(pairs: &[(f64, f64)]) -> Found {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    let lean = differences.iter().map(|d| if *d == 0.0 { 0.0 } else { d.signum() }).sum::<f64>();
    (
        stats::paired_ratio(pairs, CONFIDENCE),
        stats::signed_rank(&differences).map(|t| t.p),
        1.0 + lean / (2.0 * pairs.len() as f64),
    )
}

/// Returns the ratio at equal temperature, by analysis of covariance of the boots; `None` if temperatures are unknown.
fn at_equal_temperature(groups: &Groups, k: usize, a: &[Option<f64>], b: &[Option<f64>]) -> Option<Ratio> {
    let points = |n: usize, values: &[Option<f64>]| -> Option<Vec<Point>> {
        let heats = groups.boots.get(n)?.values(during);
        let point = |(value, heat): (&Option<f64>, Option<f64>)| {
            value.zip(heat).map(|(value, covariate)| Point { value, covariate })
        };
        values.iter().zip(heats).map(point).collect()
    };
    let found = stats::adjusted_ratio(&points(0, a)?, &points(k + 1, b)?, CONFIDENCE)?;
    let interval = found.interval.map(|i| (i.low, i.high));
    Some(Ratio { value: found.ratio, interval, confidence: CONFIDENCE, least_n: 4 })
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

/// Corrects the p-values of all rows. Differences that are then not significant are no longer reported.
pub(crate) fn correct(rows: &mut [ComparisonRow]) {
    let all: Vec<f64> = rows.iter().flat_map(|r| r.against.iter().filter_map(|a| a.p)).collect();
    let Some(corrected) = stats::benjamini_hochberg(&all) else { return };
    let mut corrected = corrected.into_iter();
    for against in rows.iter_mut().flat_map(|r| &mut r.against) {
        against.q = against.p.and_then(|_| corrected.next());
        let is_significant = against.q.is_some_and(|q| q <= 1.0 - CONFIDENCE);
        let excludes = against.ratio.is_none_or(|r| r.interval.is_none_or(|(low, high)| low > 1.0 || high < 1.0));
        if matches!(against.conclusion, Conclusion::More | Conclusion::Less) && !(is_significant && excludes) {
            against.conclusion = Conclusion::Alike;
        }
    }
}
