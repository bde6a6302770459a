//! Decides whether a run is worse than its baseline.

use crate::analyse::unlike;
use punctual_model::history::{Difference, Figure, Gate, GateMethod, GateOutcome, GateTest, RunSummary};
use punctual_stats::{Tail, ln_beta_tails, median, student_two_sided};
use punctual_units::Arrange;

/// Probability of calling a run worse in any statistic although it is not worse.
pub const ALPHA: f64 = 0.05;
/// Minimum number of baseline runs for the parametric test.
pub const LEAST_BASELINE: usize = 4;
/// Minimum spread of a run (standard deviation of the logarithm), because a few equal runs do not predict the next one
/// precisely.
const LEAST_SPREAD: f64 = 0.01;

#[derive(Clone, Debug, PartialEq)]
pub struct GateOptions {
    pub name: String,
    pub figures: Vec<Figure>,
    /// Accepted increase; 0.1 means 10 %.
    pub tolerance: f64,
    /// Probability of calling a run worse in any statistic although it is not worse.
    pub alpha: f64,
}

/// Returns the number of runs with which the rank alone can be significant: the new run is the worst of n + 1
/// exchangeable runs with probability 1/(n + 1).
pub fn least_for_rank(alpha: f64) -> usize {
    ((1.0 / alpha) - 1.0 - 1e-9).ceil().max(1.0) as usize
}

/// Compares a run with the runs of its baseline. Runs that were measured differently, or are incomplete, are left out.
///
/// With at least [`least_for_rank`] runs (19 for 5 %) the only assumption is that a run that is not worse is
/// exchangeable with the runs of the baseline. Each run has one score: the largest distance of its figures from the
/// median, in median absolute deviations of all runs. The p-value of a figure is the share of runs whose score is at
/// least the distance of that figure. Because there is one score per run, no correction for the number of figures is
/// needed (the maxT procedure: P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing, 1993).
///
/// With 4 or more runs, logarithms are assumed to be normal: p is Student's for (x − mean)/(s √(1 + 1/n)), times the
/// number of figures (Bonferroni). Latencies often have heavier tails, so a run is worse only if its score also exceeds
/// that of every run of the baseline. Whatever the distribution, a run that is not worse is then called worse with
/// probability at most 1/(n + 1).
///
/// With fewer runs the result is inconclusive. The tolerance is first subtracted from the new run.
pub fn gate(run: &RunSummary, baseline: &[RunSummary], options: &GateOptions) -> Gate {
    let mut gate = empty(run, options);
    let others: Vec<&RunSummary> = baseline.iter().filter(|b| b.id != run.id).collect();
    let alike: Vec<&RunSummary> = others.iter().copied().filter(|b| b.comparable() == run.comparable()).collect();
    if alike.is_empty() && !others.is_empty() {
        gate.outcome = GateOutcome::NotComparable;
        gate.differs = nearest(run, &others);
        return gate;
    }
    let cells = cells(run, &options.figures, &mut gate.left_out);
    let rows = rows(run, &alike, &cells, &mut gate);
    gate.tests = cells.iter().enumerate().map(|(k, cell)| test(cell, k, &rows)).collect();
    let n = rows.len();
    let enough = least_for_rank(options.alpha);
    gate.runs_needed = if n < LEAST_BASELINE { LEAST_BASELINE - n } else { enough.saturating_sub(n) };
    if n < LEAST_BASELINE || cells.is_empty() {
        return gate;
    }
    if n >= enough {
        gate.method = Some(GateMethod::Rank);
        by_rank(&mut gate, &rows, options);
    } else {
        gate.method = Some(GateMethod::LogNormal);
        by_model(&mut gate, &rows, options);
    }
    gate.outcome = match (gate.tests.iter().any(|t| t.worse), gate.left_out.is_empty()) {
        (true, _) => GateOutcome::Worse,
        (false, true) => GateOutcome::NotWorse,
        (false, false) => GateOutcome::Inconclusive,
    };
    gate
}

fn empty(run: &RunSummary, options: &GateOptions) -> Gate {
    Gate {
        run: run.id.clone(),
        kernel: run.kernel.release.clone(),
        baseline: options.name.clone(),
        baseline_runs: Vec::new(),
        outcome: GateOutcome::Inconclusive,
        method: None,
        runs_needed: LEAST_BASELINE,
        tolerance: options.tolerance,
        alpha: options.alpha,
        tests: Vec::new(),
        left_out: Vec::new(),
        differs: Vec::new(),
    }
}

/// Returns the differences from the most similar run of the baseline.
fn nearest(run: &RunSummary, others: &[&RunSummary]) -> Vec<Difference> {
    let all = others.iter().map(|other| unlike(&other.comparable(), &run.comparable()));
    all.min_by_key(Vec::len).unwrap_or_default()
}

struct Cell {
    load: String,
    figure: Figure,
    ns: u64,
}

fn cells(run: &RunSummary, figures: &[Figure], left_out: &mut Vec<String>) -> Vec<Cell> {
    if !run.complete {
        left_out.push("the run is incomplete".into());
        return Vec::new();
    }
    let mut cells = Vec::new();
    for load in run.loads() {
        if let Some(doubt) = run.doubt(load) {
            left_out.push(format!("`{load}`: {doubt}"));
            continue;
        }
        for figure in figures {
            match run.figure(load, *figure) {
                Some(ns) => cells.push(Cell { load: load.into(), figure: *figure, ns }),
                None => left_out.push(format!("`{load}`: too few samples for {figure}")),
            }
        }
    }
    cells
}

/// Figures of a run and their logarithms, in the order of the cells.
struct Row {
    ns: Vec<u64>,
    logs: Vec<f64>,
}

fn rows(run: &RunSummary, alike: &[&RunSummary], cells: &[Cell], gate: &mut Gate) -> Vec<Row> {
    let mut rows = Vec::new();
    for other in alike {
        let value = |cell: &Cell| {
            let as_long = cell.figure != Figure::Max || other.length(&cell.load) == run.length(&cell.load);
            let sound = other.complete && other.doubt(&cell.load).is_none() && as_long;
            other.figure(&cell.load, cell.figure).filter(|_| sound)
        };
        if let Some(ns) = cells.iter().map(value).collect::<Option<Vec<u64>>>() {
            gate.baseline_runs.push(other.id.clone());
            rows.push(Row { logs: ns.iter().map(|ns| log(*ns)).collect(), ns });
        }
    }
    let unusable = alike.len() - rows.len();
    if unusable > 0 && rows.len() < LEAST_BASELINE {
        gate.left_out.push(format!("{unusable} runs of the baseline: incomplete, doubtful, or of different length"));
    }
    rows
}

fn log(ns: u64) -> f64 {
    (ns.max(1) as f64).ln()
}

fn column(rows: &[Row], k: usize) -> Vec<f64> {
    rows.iter().filter_map(|row| row.logs.get(k).copied()).collect()
}

fn test(cell: &Cell, k: usize, rows: &[Row]) -> GateTest {
    let values: Vec<u64> = rows.iter().filter_map(|row| row.ns.get(k).copied()).collect();
    let floats: Vec<f64> = values.iter().map(|v| *v as f64).collect();
    GateTest {
        load: cell.load.clone(),
        figure: cell.figure,
        ns: cell.ns,
        baseline_ns: median(&floats).unwrap_or(0.0),
        baseline_max_ns: values.into_iter().max().unwrap_or(0),
        limit_ns: None,
        p: None,
        worse: false,
    }
}

/// Score of each run: the largest distance of its figures from the median of all runs, in median absolute deviations.
/// Also each distance of the new run after subtracting the tolerance.
struct Scores {
    baseline: Vec<f64>,
    own: Vec<f64>,
}

fn scores(tests: &[GateTest], rows: &[Row], allowance: f64) -> Scores {
    let mut found = Scores { baseline: vec![f64::NEG_INFINITY; rows.len()], own: Vec::new() };
    for (k, test) in tests.iter().enumerate() {
        let new = log(test.ns) - allowance;
        let before = column(rows, k);
        let all: Vec<f64> = before.iter().copied().chain([new]).collect();
        let (middle, spread) = location(&all);
        found.own.push((new - middle) / spread);
        for (score, value) in found.baseline.iter_mut().zip(&before) {
            *score = score.max((value - middle) / spread);
        }
    }
    found
}

fn by_rank(gate: &mut Gate, rows: &[Row], options: &GateOptions) {
    let allowance = options.tolerance.ln_1p();
    let mut found = scores(&gate.tests, rows, allowance);
    found.baseline.arrange_by(|a, b| b.total_cmp(a));
    // Number of other runs that may have such a score at this alpha.
    let n = rows.len() as f64 + 1.0;
    let room = (options.alpha * n + 1e-9).floor() as usize;
    let limit = found.baseline.get(room.saturating_sub(1)).copied();
    for (k, (test, own)) in gate.tests.iter_mut().zip(found.own).enumerate() {
        let as_high = found.baseline.iter().filter(|score| **score >= own).count();
        let p = (1.0 + as_high as f64) / n;
        test.p = Some(p);
        test.worse = p <= options.alpha + 1e-12;
        test.limit_ns = limit.map(|limit| beyond(rows, k, limit, allowance));
    }
}

/// Returns the latency that corresponds to a score, ns. It is computed only from the baseline, since the new run is not
/// known in advance.
fn beyond(rows: &[Row], k: usize, score: f64, allowance: f64) -> f64 {
    let (middle, spread) = location(&column(rows, k));
    (middle + spread * score + allowance).exp().min(f64::MAX)
}

/// Returns the median and median absolute deviation, or mean absolute deviation if most values are equal. The
/// deviation is at least a hundredth of the minimum spread.
fn location(values: &[f64]) -> (f64, f64) {
    let middle = median(values).unwrap_or(0.0);
    let off: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    let spread = median(&off).unwrap_or(0.0);
    let mean = off.iter().sum::<f64>() / off.len().max(1) as f64;
    (middle, if spread > 0.0 { spread } else { mean.max(0.01 * LEAST_SPREAD) })
}

fn by_model(gate: &mut Gate, rows: &[Row], options: &GateOptions) {
    let (n, tests) = (rows.len() as f64, gate.tests.len() as f64);
    let allowance = options.tolerance.ln_1p();
    let found = scores(&gate.tests, rows, allowance);
    let highest = found.baseline.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let critical = student_two_sided(1.0 - 2.0 * options.alpha / tests, n - 1.0);
    for (k, (test, own)) in gate.tests.iter_mut().zip(found.own).enumerate() {
        let before = column(rows, k);
        let mean = before.iter().sum::<f64>() / n;
        let variance = before.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let spread = variance.sqrt().max(LEAST_SPREAD) * (1.0 + 1.0 / n).sqrt();
        let new = log(test.ns) - allowance;
        let p = (tests * one_sided((new - mean) / spread, n - 1.0)).min(1.0);
        test.p = Some(p);
        test.worse = p <= options.alpha && own > highest;
        let limit = critical.map(|t| (mean + t * spread + allowance).exp());
        test.limit_ns = limit.map(|limit| limit.max(beyond(rows, k, highest, allowance)));
    }
}

/// Returns P(T ≥ t) of Student's T: half of I(ν/(ν + t²); ν/2, ½) for t above 0 (Abramowitz and Stegun 26.7.1).
fn one_sided(t: f64, degrees: f64) -> f64 {
    let x = degrees / (degrees + t * t);
    let both = ln_beta_tails(0.5 * degrees, 0.5, x, 1.0 - x).ln(Tail::Lower).exp();
    if t > 0.0 { 0.5 * both } else { 1.0 - 0.5 * both }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_tables() {
        for (t, degrees, p) in [(2.353, 3.0, 0.05), (1.734, 18.0, 0.05), (-2.353, 3.0, 0.95), (0.0, 5.0, 0.5)] {
            assert!((one_sided(t, degrees) - p).abs() < 1e-4, "{t} {degrees}");
        }
        assert_eq!([0.05, 0.1, 0.01].map(least_for_rank), [19, 9, 99]);
    }
}
