//! Tests a year of nightly runs without a change, and a year with a shift.

use super::fleet::summary;
use super::{Bar, Conditions};
use crate::simulate::normal;
use punctual_history::analyse;
use punctual_model::history::{Figure, History, RunSummary};
use punctual_stats::{LEARNT, SplitMix64};

const LOADS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
const YEAR: usize = 365;
/// The night of the shift, if there is one. It should be detected within [`WITHIN`] nights.
const SHIFT: usize = 100;
const WITHIN: usize = 10;
const RISE: f64 = 1.25;
/// Accepted relative deviation from the requested rate of false alarms.
const OFF: f64 = 0.3;

/// How the values vary from night to night.
#[derive(Clone, Copy)]
enum Noise {
    Normal,
    /// In one night of twelve the logarithm of each value is higher, by three standard deviations on average.
    Spikes,
}

pub fn conditions(conditions: &Conditions) {
    for series in [1, 12] {
        for phi in [0.0, 0.3, 0.5] {
            for rate in [1.0, 4.0] {
                let name =
                    format!("history: false alarms in a year, {rate}/year requested, {series} series, φ = {phi}");
                years(
                    conditions,
                    &name,
                    Bar::Within((1.0 - OFF) * rate, (1.0 + OFF) * rate),
                    (series, phi, rate),
                    Noise::Normal,
                );
            }
        }
    }
    for phi in [0.0, 0.3, 0.5] {
        let name = format!("history: false alarms in a year, spikes beside, 1 series, φ = {phi}");
        // Spikes that do not depend on the night before break the AR(1) model, so this is only reported.
        let bar = if phi == 0.0 { Bar::Within(1.0 - OFF, 1.0 + OFF) } else { Bar::Shown };
        years(conditions, &name, bar, (1, phi, 1.0), Noise::Spikes);
    }
    for series in [1, 12] {
        for phi in [0.0, 0.3, 0.5] {
            for spread in [0.05, 0.1] {
                let name = format!("history: +25 % in one of {series} seen in 10 runs, spread {spread}, φ = {phi}");
                // A spread of 10 % between nights hides the shift, so this is only reported.
                let bar = if spread == 0.05 { Bar::AtLeast(0.8) } else { Bar::Shown };
                conditions.share(&name, bar, |mut random| {
                    let runs = nights(SHIFT + WITHIN, series, phi, spread, Noise::Normal, &mut random, RISE);
                    let found = analyse(runs, None, &[Figure::P999], 1.0);
                    seen(&found).any(|(load, seen)| load == LOADS[0] && seen >= SHIFT)
                });
            }
        }
    }
    for phi in [0.0, 0.3, 0.5] {
        let name = format!("history: the shift that is said to be seen is seen in 10 runs, φ = {phi}");
        conditions.share(&name, Bar::AtLeast(0.7), |mut random| {
            let before = nights(SHIFT, 1, phi, 0.05, Noise::Normal, &mut random.clone(), 1.0);
            let level = analyse(before, None, &[Figure::P999], 1.0).groups[0].series[0].level;
            let rise = level.and_then(|level| level.least_shift).unwrap_or(f64::INFINITY);
            let runs = nights(SHIFT + WITHIN, 1, phi, 0.05, Noise::Normal, &mut random, rise.min(10.0));
            seen(&analyse(runs, None, &[Figure::P999], 1.0)).any(|(_, seen)| seen >= SHIFT)
        });
        let name = format!("history: share of nights within the bound drawn before, φ = {phi}");
        conditions.mean(
            &name,
            Bar::Within(0.94, 0.97),
            || (),
            |(), mut random| {
                let runs = nights(LEARNT + YEAR, 1, phi, 0.1, Noise::Normal, &mut random, 1.0);
                let bounds = analyse(runs, None, &[Figure::P999], 1.0).groups[0].series[0].bounds;
                bounds.map_or(0.0, |bounds| bounds.inside as f64 / bounds.of as f64)
            },
        );
    }
}

fn years(conditions: &Conditions, name: &str, bar: Bar, (series, phi, rate): (usize, f64, f64), noise: Noise) {
    conditions.mean(
        name,
        bar,
        || (),
        |(), mut random| {
            let runs = nights(LEARNT + YEAR, series, phi, 0.1, noise, &mut random, 1.0);
            seen(&analyse(runs, None, &[Figure::P999], rate)).count() as f64
        },
    );
}

/// Returns the load and the night of each alarm.
fn seen(history: &History) -> impl Iterator<Item = (&str, usize)> {
    let series = history.groups.iter().flat_map(|group| &group.series);
    series.flat_map(|s| s.shifts.iter().map(|shift| (s.load.as_str(), shift.at + shift.runs_to_see - 1)))
}

/// Returns nights whose values follow an AR(1) process; from the night [`SHIFT`] on, the values of the first load are
/// `rise` times as large.
fn nights(
    nights: usize,
    series: usize,
    phi: f64,
    spread: f64,
    noise: Noise,
    random: &mut SplitMix64,
    rise: f64,
) -> Vec<RunSummary> {
    let fresh = (1.0 - phi * phi).sqrt();
    let mut states: Vec<f64> = (0..series).map(|_| normal(random)).collect();
    let mut night = |night: usize| {
        let mut figure = |(n, state): (usize, &mut f64)| {
            let spike = match noise {
                Noise::Spikes if random.below(12) == 0 => -3.0 * random.uniform().ln(),
                _ => 0.0,
            };
            let level = if n == 0 && night >= SHIFT { 41_000.0 * rise } else { 41_000.0 };
            let ns = level * (spread * (*state + spike)).exp();
            *state = phi * *state + fresh * normal(random);
            ns as u64
        };
        let figures: Vec<u64> = states.iter_mut().enumerate().map(&mut figure).collect();
        summary(night as u64, "bench", &LOADS[..series], &figures)
    };
    (0..nights).map(&mut night).collect()
}
