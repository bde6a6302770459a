//! Counts how often an interval contains the true value, and draws samples.

use punctual_stats::{SplitMix64, normal_quantile};

/// Number of draws per simulation.
pub const RUNS: usize = 500;
/// Minimum number of draws whose 95 % interval must contain the true value.
pub const BAR: usize = 461;
/// Number of draws at a confidence of 75 %. They suffice to show that the interval contains the true value in less than
/// 92 % of the draws.
const SHORT: usize = RUNS / 4;
/// Maximum number of draws without an interval. More would mean that the function has an undocumented condition.
const MAX_REFUSED: usize = RUNS / 100;

/// Runs the simulation at confidences of 95 % and 75 %, and fails if the coverage is wrong. `simulate` returns true if
/// the interval contains the true value, `None` if there is no interval.
pub fn covers(what: &str, mut simulate: impl FnMut(f64, &mut SplitMix64) -> Option<bool>) {
    let mut counted = |confidence: f64, runs: usize| {
        let mut random = SplitMix64::new(20_260);
        let answers: Vec<bool> = (0..runs).filter_map(|_| simulate(confidence, &mut random)).collect();
        let refused = runs - answers.len();
        assert!(refused <= MAX_REFUSED, "{what}: {refused} of {runs} have no interval");
        // A missing interval does not hold.
        answers.into_iter().filter(|holds| *holds).count()
    };
    let held = counted(0.95, RUNS);
    println!("{what}: {held} of {RUNS}");
    assert!(held >= BAR, "{what}: holds in {held} of {RUNS}, fewer than {BAR}");
    let loose = counted(0.75, SHORT);
    assert!(loose * RUNS < BAR * SHORT, "{what}: asked for 75 %, it still holds in {loose} of {SHORT}");
}

pub fn many<T>(n: usize, draw: impl FnMut() -> T) -> Vec<T> {
    std::iter::repeat_with(draw).take(n).collect()
}

pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

pub fn normal(random: &mut SplitMix64) -> f64 {
    normal_quantile(random.uniform()).unwrap()
}

/// Returns exp(0.05·z) with a standard normal z, which is distributed like run times.
pub fn lognormal(random: &mut SplitMix64) -> f64 {
    (0.05 * normal(random)).exp()
}

pub fn exponential(random: &mut SplitMix64) -> f64 {
    -random.uniform().ln()
}

/// Returns log-normal values around `centre` whose logarithms have the lag-one autocorrelation `rho`.
pub fn autoregressive(random: &mut SplitMix64, n: usize, rho: f64, centre: f64) -> Vec<f64> {
    let mut x = 0.0;
    let mut next = || {
        x = rho * x + 0.03 * normal(random);
        centre * f64::exp(x)
    };
    many(60, &mut next);
    many(n, &mut next)
}
