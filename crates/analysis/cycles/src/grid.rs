//! Period and phase of releases, jitter of wakeups.

use punctual_units::Nanos;

/// Instants `phase + k · period`, and how far wakeups are from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub period: Nanos,
    /// Time of the first instant, modulo the period.
    pub phase: Nanos,
    /// Median distance of a wakeup from the instant of its release.
    pub jitter: Nanos,
    /// Maximum distance of a wakeup from the instant of its release.
    pub jitter_max: Nanos,
    /// Number of instants without a release, between the first and the last release.
    pub skipped: u64,
}

/// Minimum share of the intervals that must be near a multiple of the period.
const REGULAR: f64 = 0.8;
/// Maximum distance from a multiple that counts as near, in periods.
const NEAR: f64 = 0.2;

impl Grid {
    /// Fits a grid to releases in chronological order, each with its wakeup; `None` if they fit no grid.
    pub fn fit(releases: &[(u64, u64)]) -> Option<Grid> {
        let (first, _) = *releases.first()?;
        let mut intervals: Vec<u64> = releases.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect();
        if intervals.len() + 1 < crate::FEWEST {
            return None;
        }
        intervals.sort_unstable();
        let median = intervals[intervals.len() / 2] as f64;
        if median <= 0.0 {
            return None;
        }
        let periods = |interval: u64| (interval as f64 / median).round().max(1.0);
        let is_near = |interval: &&u64| (**interval as f64 / median - periods(**interval)).abs() < NEAR;
        let is_single = |interval: &&u64| is_near(interval) && periods(**interval) == 1.0;
        let share = |n: usize| n as f64 / intervals.len() as f64;
        if share(intervals.iter().filter(is_near).count()) < REGULAR
            || share(intervals.iter().filter(is_single).count()) < 0.5
        {
            return None;
        }
        let times: Vec<f64> = releases.iter().map(|(time, _)| time.saturating_sub(first) as f64).collect();
        let (mut period, mut origin) = (median, 0.0);
        let mut numbers: Vec<f64> = Vec::new();
        // The median interval alone would give wrong numbers for distant releases, so the fit starts with a short span
        // and doubles it.
        let mut span = 16;
        loop {
            let part = &times[..times.len().min(span)];
            for _ in 0..2 {
                numbers = part.iter().map(|time| ((time - origin) / period).round()).collect();
                (period, origin) = line(part, &numbers, period, origin)?;
            }
            if span >= times.len() {
                break;
            }
            span *= 2;
        }
        let woken = releases.iter().map(|(_, woken)| woken.saturating_sub(first) as f64);
        let mut distances: Vec<f64> =
            woken.zip(&numbers).map(|(time, number)| (time - origin - number * period).abs()).collect();
        distances.sort_unstable_by(f64::total_cmp);
        // Releases at random also have a median interval, but no common instants.
        let at_instants = times.iter().zip(&numbers).filter(|at| is_at_instant(*at, period, origin)).count();
        if (at_instants as f64) < times.len() as f64 * REGULAR {
            return None;
        }
        let slots = numbers.last()? - numbers.first()? + 1.0;
        let mut used = numbers.clone();
        used.dedup();
        let phase = (first as f64 % period + origin).rem_euclid(period);
        let nanos = |value: f64| Nanos(value.max(0.0).round() as u64);
        Some(Grid {
            period: nanos(period),
            phase: nanos(phase),
            jitter: nanos(distances[distances.len() / 2]),
            jitter_max: nanos(*distances.last()?),
            skipped: (slots - used.len() as f64).max(0.0) as u64,
        })
    }
}

/// Fits a line of release time over release number by least squares. Returns slope and intercept. Releases further than
/// 0.2 periods from the line with slope `period` and intercept `origin` are ignored.
fn line(times: &[f64], numbers: &[f64], period: f64, origin: f64) -> Option<(f64, f64)> {
    let near = times.iter().zip(numbers).filter(|at| is_at_instant(*at, period, origin));
    let points: Vec<(f64, f64)> = near.map(|(time, number)| (*time, *number)).collect();
    let count = points.len() as f64;
    let (mean_time, mean_number) =
        (points.iter().map(|p| p.0).sum::<f64>() / count, points.iter().map(|p| p.1).sum::<f64>() / count);
    let spread: f64 = points.iter().map(|p| (p.1 - mean_number).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let slope = points.iter().map(|p| (p.1 - mean_number) * (p.0 - mean_time)).sum::<f64>() / spread;
    (slope > 0.0).then_some((slope, mean_time - slope * mean_number))
}

/// Returns true if a release with this time and number is near the instant with this number.
fn is_at_instant((time, number): (&f64, &f64), period: f64, origin: f64) -> bool {
    (time - origin - number * period).abs() < period * NEAR
}
