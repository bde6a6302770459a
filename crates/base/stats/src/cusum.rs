//! Detects shifts in the level of a series with a chosen rate of false alarms. The series is checked after each value.

use crate::normal::normal_quantile;
use crate::order::median;
use crate::outliers::location;
use crate::random::SplitMix64;

/// Number of values from which a level is estimated before alarms are possible.
pub const LEARNT: usize = 16;
/// Reference value k of the CUSUM: the mean of the standardised residuals above which the sum grows.
const REFERENCE: f64 = 0.5;
/// Factor applied to the requested run length. An estimated level is less precise than a known level, and no alarm is
/// raised while a new level is estimated, so a series with a known level may raise alarms sooner by this factor
/// (`cargo trials decide`).
const SHARPNESS: f64 = 0.9;
/// Number of standard errors by which the estimated autocorrelation is raised, because an estimate that is too low does
/// more harm than one that is too high.
const CAUTION: f64 = 0.1;
/// The search for the location of a shift begins this many values before the start of the cumulative sum.
const BEFORE: usize = 20;
const MAX_PHI: f64 = 0.95;
/// Number of most recent values of a level that are used.
const LATEST: usize = 500;
const CONFIDENCE: f64 = 0.95;
/// Probability with which a shift of the size [`least_shift`] must be detected.
const POWER: f64 = 0.8;

/// A shift of the level that raised an alarm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelShift {
    /// Index of the first value after the shift. It minimises the sum of the distances of the values from the medians
    /// of both parts.
    pub at: usize,
    /// Index of the value that raised the alarm.
    pub seen: usize,
}

/// Result of [`watch`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// Detected shifts, in chronological order.
    pub shifts: Vec<LevelShift>,
    /// Lag-one autocorrelation at the current level; `None` while there are too few values for an estimate.
    pub phi: Option<f64>,
    /// Standard deviation of a value given the previous value, from the median absolute deviation; `None` if `phi` is
    /// `None`.
    pub spread: Option<f64>,
    /// Upper 95 % bound on the next value, given all values of the current level; `None` for fewer than 20 values.
    pub next: Option<f64>,
    /// Number of values that lay within the bound computed from the values before them, and number of values with a
    /// bound.
    pub inside: (usize, usize),
}

/// Searches a series for shifts of its level by a two-sided CUSUM, as if it were checked after each value: later values
/// never change the result for earlier values. If the level does not shift, there is one alarm per `values_per_alarm`
/// values on average, whatever the distribution, even if each value depends on the previous value (AR(1), tested for φ
/// up to 0.5).
///
/// Each value is compared with all earlier values of its level. Its residual x − m − φ(x′ − m), with the mean m and the
/// autocorrelation φ of the earlier values, has a rank among their residuals, and Φ⁻¹ of the rank is added to the sum
/// (a self-starting CUSUM). After an alarm the new level is estimated from at least [`LEARNT`] values.
///
/// The result is empty if a value is not finite or the rate is not positive.
///
/// Sources: D. M. Hawkins, "Self-starting CUSUM charts for location and scale", The Statistician 36 (1987); E. S. Page,
/// "Continuous inspection schemes", Biometrika 41 (1954); for the bias of φ, F. H. C. Marriott and J. A. Pope,
/// Biometrika 41 (1954).
pub fn watch(x: &[f64], values_per_alarm: f64) -> Watched {
    let mut found = Watched::default();
    let Some(limit) = limit(values_per_alarm).filter(|_| x.iter().all(|v| v.is_finite())) else { return found };
    let (mut from, mut up, mut down) = (0, Sum::default(), Sum::default());
    for (at, &now) in x.iter().enumerate() {
        let Some(level) = x.get(from.max(at.saturating_sub(LATEST))..at).and_then(Level::of) else { continue };
        let residual = level.residual(now);
        if let Some(bound) = level.bound() {
            found.inside.0 += usize::from(residual <= bound);
            found.inside.1 += 1;
        }
        let z = level.score(residual);
        if up.add(z - REFERENCE, at) > limit || down.add(-z - REFERENCE, at) > limit {
            let since = if up.value > limit { up.since } else { down.since };
            let start = since.saturating_sub(BEFORE).max(from);
            let cut = start + x.get(start..=at).map_or(1, best_cut);
            found.shifts.push(LevelShift { at: cut, seen: at });
            (from, up, down) = (cut, Sum::default(), Sum::default());
        }
    }
    if let Some(level) = x.get(from.max(x.len().saturating_sub(LATEST))..).and_then(Level::of) {
        (found.phi, found.spread) = (Some(level.phi), location(&level.residuals).map(|(_, spread)| spread));
        found.next = level.bound().map(|bound| level.expected() + bound);
    }
    found
}

/// Returns the smallest shift that is detected within `within` values with a probability of 80 %. It is found by
/// simulating normal residuals with the standard deviation `spread` and the autocorrelation `phi`, at a level with
/// `known` earlier values. The simulation requires 85 %, because `phi` and `spread` are estimates. `None` if the rate
/// is not positive, or no shift is detected that soon.
pub fn least_shift(
    values_per_alarm: f64,
    (phi, spread): (f64, f64),
    known: usize,
    within: usize,
    seed: u64,
) -> Option<f64> {
    const RUNS: usize = 400;
    let limit = limit(values_per_alarm)?;
    let mut random = SplitMix64::new(seed);
    let noise: Vec<f64> = (0..RUNS * within).map(|_| normal_quantile(random.uniform()).unwrap_or(0.0)).collect();
    let highest = normal_quantile(1.0 - 0.5 / known.max(LEARNT) as f64)?;
    let is_seen = |shift: f64| {
        let seen = noise.chunks_exact(within.max(1)).filter(|run| {
            let mut sum = Sum::default();
            // The first residual contains the whole shift, the later ones only what the previous value does not
            // predict.
            // Values observed after the shift are gradually absorbed into the level.
            let fades = |n: usize| known as f64 / (known + n) as f64;
            let part = |n: usize| if n == 0 { shift } else { shift * (1.0 - phi) * fades(n) };
            run.iter().enumerate().any(|(n, e)| sum.add((part(n) + e).min(highest) - REFERENCE, n) > limit)
        });
        seen.count() as f64 >= (POWER + 0.05) * RUNS as f64
    };
    let (mut low, mut high) = (0.0, 100.0);
    if !is_seen(high) {
        return None;
    }
    for _ in 0..20 {
        let middle = 0.5 * (low + high);
        if is_seen(middle) { high = middle } else { low = middle }
    }
    Some(high * spread)
}

/// Returns the decision interval h for a two-sided average run length. Siegmund's approximation for one side is
/// (e^(2kb) − 2kb − 1)/(2k²) with b = h + 1.166. h is computed for a shorter run length, because no alarm is raised
/// while a level is still being estimated.
///
/// Source: D. Siegmund, Sequential Analysis (1985), section 2.6.
fn limit(values_per_alarm: f64) -> Option<f64> {
    let wanted = (SHARPNESS * values_per_alarm - LEARNT as f64).max(SHARPNESS * LEARNT as f64).min(values_per_alarm);
    let length = |b: f64| ((2.0 * REFERENCE * b).exp() - 2.0 * REFERENCE * b - 1.0) / (4.0 * REFERENCE * REFERENCE);
    if !(values_per_alarm > 0.0 && values_per_alarm.is_finite()) {
        return None;
    }
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if length(middle) < wanted { low = middle } else { high = middle }
    }
    Some((high - 1.166).max(REFERENCE))
}

/// A one-sided cumulative sum, and the index at which it last left 0.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    value: f64,
    since: usize,
}

impl Sum {
    fn add(&mut self, part: f64, at: usize) -> f64 {
        if self.value == 0.0 {
            self.since = at;
        }
        self.value = (self.value + part).max(0.0);
        self.value
    }
}

/// Properties of the series at its current level, estimated from the values since the last shift.
struct Level {
    mean: f64,
    phi: f64,
    last: f64,
    residuals: Vec<f64>,
}

impl Level {
    /// Estimates the properties from these values; `None` for fewer than [`LEARNT`] values.
    fn of(x: &[f64]) -> Option<Level> {
        let (n, last) = (x.len() as f64, *x.last()?);
        if x.len() < LEARNT {
            return None;
        }
        let mean = x.iter().sum::<f64>() / n;
        let squares: f64 = x.iter().map(|v| (v - mean).powi(2)).sum();
        let products: f64 = x.windows(2).map(|w| w.iter().map(|v| v - mean).product::<f64>()).sum();
        let seen = if squares > 0.0 { products / squares } else { 0.0 };
        let phi = seen + (1.0 + 3.0 * seen) / n;
        let error = ((1.0 - phi * phi).max(0.05) / n).sqrt();
        let phi = (phi + CAUTION * error).clamp(-MAX_PHI, MAX_PHI);
        let residual = |w: &[f64]| match w {
            [before, now] => (now - mean) - phi * (before - mean),
            _ => 0.0,
        };
        Some(Level { mean, phi, last, residuals: x.windows(2).map(residual).collect() })
    }

    fn expected(&self) -> f64 {
        self.mean + self.phi * (self.last - self.mean)
    }

    fn residual(&self, now: f64) -> f64 {
        now - self.expected()
    }

    /// Returns Φ⁻¹ of the rank of `residual` among the residuals so far; ties get the middle rank.
    fn score(&self, residual: f64) -> f64 {
        let below = self.residuals.iter().filter(|r| **r < residual).count() as f64;
        let equal = self.residuals.iter().filter(|r| **r == residual).count() as f64;
        normal_quantile((below + 0.5 * equal + 0.5) / (self.residuals.len() as f64 + 1.0)).unwrap_or(0.0)
    }

    /// Returns the bound that the next residual does not exceed with a probability of 95 % if it is exchangeable with
    /// the residuals so far; `None` for fewer than 19 residuals.
    fn bound(&self) -> Option<f64> {
        let mut residuals = self.residuals.clone();
        let rank = (CONFIDENCE * (residuals.len() as f64 + 1.0)).ceil() as usize;
        let index = rank.checked_sub(1).filter(|index| *index < residuals.len())?;
        Some(*residuals.select_nth_unstable_by(index, f64::total_cmp).1)
    }
}

/// Returns the number of values before the best split (1…n−1), which has the smallest sum of distances from the medians
/// of both parts.
fn best_cut(x: &[f64]) -> usize {
    let distances = |part: &[f64]| median(part).map_or(0.0, |m| part.iter().map(|v| (v - m).abs()).sum());
    let cost = |cut: &usize| x.split_at_checked(*cut).map_or(f64::INFINITY, |(a, b)| distances(a) + distances(b));
    (1..x.len()).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(n: usize, phi: f64, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let mut noise = 0.0;
        let mut value = |i| {
            noise = phi * noise + (1.0 - phi * phi).sqrt() * normal_quantile(random.uniform()).unwrap();
            level(i) + noise
        };
        (0..n).map(&mut value).collect()
    }

    #[test]
    fn nothing_is_said_of_impossible_input() {
        for (x, rate) in [(&[][..], 365.0), (&[1.0, f64::NAN], 365.0), (&[1.0; 50], 0.0), (&[1.0; 50], f64::NAN)] {
            assert!(watch(x, rate).shifts.is_empty());
        }
        assert_eq!(watch(&[4.0; 500], 365.0).shifts, []);
        assert_eq!(least_shift(f64::NAN, (0.0, 1.0), 60, 10, 1), None);
        assert_eq!(least_shift(365.0, (0.0, 1.0), 60, 0, 1), None);
        assert_eq!(least_shift(365.0, (0.0, 1.0), 60, 1, 1), None, "one value cannot be enough");
    }

    /// Checks the limit against the published average run length of 465 for h = 5 and k = 1/2 (Montgomery, Introduction
    /// to Statistical Quality Control, 9.1.3).
    #[test]
    fn the_limit_is_that_of_the_rate() {
        assert!((limit((465.0 + LEARNT as f64) / SHARPNESS).unwrap() - 5.0).abs() < 0.03);
    }

    #[test]
    fn shifts_are_found_where_they_are() {
        let (mut right, mut seen) = (0, 0);
        for seed in 0..50 {
            let x = series(200, 0.3, seed, |i| [0.0, 4.0, 1.0][usize::from(i >= 80) + usize::from(i >= 140)]);
            let found = watch(&x, 365.0);
            seen += usize::from(found.shifts.iter().any(|s| (80..90).contains(&s.seen)));
            right += found.shifts.iter().filter(|s| s.at == 80 || s.at == 140).count();
            assert!(found.shifts.iter().all(|s| s.at <= s.seen));
        }
        assert!(seen >= 45 && right >= 65, "{seen} {right}");
    }

    #[test]
    fn false_alarms_come_at_the_rate_asked_for() {
        for phi in [0.0, 0.5] {
            let alarms: usize = (0..150).map(|seed| watch(&series(395, phi, seed, |_| 0.0), 365.0).shifts.len()).sum();
            // At one alarm a year, 150 ± 12 are expected in 150 years.
            assert!((105..=195).contains(&alarms), "{phi} {alarms}");
        }
    }

    #[test]
    fn the_next_value_lies_within_the_bound_as_often_as_is_said() {
        let (mut inside, mut of) = (0, 0);
        for seed in 0..40 {
            let found = watch(&series(200, 0.4, seed, |_| 0.0), 1e9);
            (inside, of) = (inside + found.inside.0, of + found.inside.1);
        }
        let share = inside as f64 / of as f64;
        assert!((0.935..0.97).contains(&share), "{share}");
    }

    #[test]
    fn the_least_shift_grows_with_what_hides_it() {
        let least = |rate, phi| least_shift(rate, (phi, 0.05), 100, 10, 1).unwrap();
        assert!(least(365.0, 0.0) > 0.03 && least(365.0, 0.0) < 0.08, "{}", least(365.0, 0.0));
        assert!(least(4_380.0, 0.0) > least(365.0, 0.0) && least(365.0, 0.5) > 1.3 * least(365.0, 0.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        /// Later values do not change earlier results.
        #[test]
        fn later_values_change_nothing(x in proptest::collection::vec(0u8..9, 0..120), cut in 0usize..120) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let cut = cut.min(x.len());
            let (part, whole) = (watch(&x[..cut], 20.0), watch(&x, 20.0));
            prop_assert_eq!(&part.shifts[..], &whole.shifts[..part.shifts.len()]);
            prop_assert!(whole.shifts.iter().skip(part.shifts.len()).all(|s| s.seen >= cut));
        }
    }
}
