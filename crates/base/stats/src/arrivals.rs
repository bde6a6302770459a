//! Temporal pattern of rare events: periodic, bursty, or independent.
//!
//! Events are tested against a homogeneous Poisson process. A period is searched for in two steps. The periodogram |Σ
//! exp(2πift)|²/n gives candidates. The test statistic is then the number of cycles in which all events fall into one
//! arc of the phase. The p-value that belongs to the periodogram itself is not used, because it assumes a normal
//! distribution: twelve events 14 minutes apart reach only e⁻¹² before the correction for the number of periods tried,
//! and a single burst looks periodic with every period longer than itself.

use crate::beta::{Tail, ln_beta_tails};
use crate::gamma::chi_square_sf;
use std::f64::consts::TAU;

/// Minimum number of events for a test.
pub const MIN_ARRIVALS: usize = 8;
/// Minimum number of cycles of a period in the observed time.
const MIN_CYCLES: f64 = 5.0;
/// Mean interval between events divided by the shortest period tried. Because this ratio is larger than 1, a period can
/// be found even if most of its cycles contain no event.
const SHORTEST: f64 = 16.0;
/// Number of frequencies tried per frequency that the observed time can resolve.
const OVERSAMPLED: f64 = 4.0;
/// Maximum product of the number of periodogram steps and the number of events. A search of this size takes some tens
/// of milliseconds.
const MAX_WORK: f64 = 3e7;
/// Number of periodogram peaks that are examined.
const PEAKS: usize = 48;
/// A multiple of the found period is taken for the true period if it keeps at least this share of the events in phase.
/// Twice the true period keeps only half of them.
const SAME: f64 = 0.8;
/// Widths of the phase arcs, in cycles.
const ARCS: [f64; 3] = [0.25, 1.0 / 16.0, 1.0 / 64.0];
/// Largest p-value at which events are reported as periodic or bursty.
const SURE: f64 = 0.01;

/// The observed time as ascending, disjoint intervals, and the resolution of the times. All have the same, arbitrary
/// unit.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Start and end of each interval.
    pub stretches: &'a [(f64, f64)],
    /// Resolution of the times; periods shorter than four times this are not reported.
    pub resolution: f64,
}

/// A period found in events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    pub period: f64,
    /// Probability that independent events are at least as well in phase with any of the periods tried.
    pub p: f64,
    /// Number of events within the best arc of the phase.
    pub in_step: usize,
}

/// Temporal pattern of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    Periodic(Period),
    /// The events are closer together than independent events would be. The value is the p-value.
    Bursts(f64),
    /// There is no evidence against independence. The value is the p-value of the test for bursts.
    Independent(f64),
}

/// Pattern of the most severe events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    pub pattern: Pattern,
    /// Number of events that show the pattern, counted from the most severe event.
    pub of: usize,
}

/// Returns the temporal pattern of events; `times` starts with the most severe event. A period is searched for among
/// the 8, 16, 32 … most severe events and among all events (the p-value is corrected for these choices); bursts are
/// searched for among all events.
///
/// Returns `None` for fewer than [`MIN_ARRIVALS`] events, or if a time is not finite or not in the observed time.
pub fn arrivals(times: &[f64], observed: &Observed) -> Option<Arrivals> {
    let bursts = burst_p(times, observed)?;
    let mut sizes: Vec<usize> = (3..).map(|e| 1 << e).take_while(|n| *n < times.len()).collect();
    sizes.push(times.len());
    let found = sizes.iter().filter_map(|&n| Some((n, period(times.get(..n)?, observed)?)));
    let (of, mut best) = match found.min_by(|a, b| a.1.p.total_cmp(&b.1.p)) {
        Some((of, best)) => (of, Some(best)),
        None => (times.len(), None),
    };
    best.iter_mut().for_each(|b| b.p = (b.p * sizes.len() as f64).min(1.0));
    let periodic = best.filter(|b| b.p <= SURE).map(|b| Arrivals { pattern: Pattern::Periodic(b), of });
    let pattern = if bursts <= SURE { Pattern::Bursts(bursts) } else { Pattern::Independent(bursts) };
    Some(periodic.unwrap_or(Arrivals { pattern, of: times.len() }))
}

/// Returns the p-value of a test for bursts, under the hypothesis of independent events with a constant rate: twice the
/// smaller of two p-values.
///
/// The first p-value comes from the dispersion of the counts in equal parts of the observed time, with four events each
/// on average (R. A. Fisher's index of dispersion, χ²). The second comes from the number of gaps shorter than a
/// twentieth of the mean gap (binomial), which detects pairs. If the resolution is too coarse for such gaps, only the
/// first is used.
///
/// Returns `None` as for [`arrivals`].
pub fn burst_p(times: &[f64], observed: &Observed) -> Option<f64> {
    let (mut at, total) = in_observed_time(times, observed)?;
    at.sort_by(f64::total_cmp);
    let n = at.len() as f64;
    let parts = (at.len() / 4).max(2);
    let mut counts = vec![0.0; parts];
    for t in &at {
        let part = ((t / total * parts as f64) as usize).min(parts - 1);
        counts.iter_mut().skip(part).take(1).for_each(|c| *c += 1.0);
    }
    let mean = n / parts as f64;
    let dispersion: f64 = counts.iter().map(|c| (c - mean).powi(2) / mean).sum();
    let by_counts = chi_square_sf(dispersion, parts as f64 - 1.0);
    let short = 0.05 * total / n;
    if short < 2.0 * observed.resolution {
        return Some(by_counts);
    }
    let close = at.windows(2).filter(|w| matches!(w, [a, b] if b - a < short)).count();
    let each = -(n * (-0.05 / n).ln_1p()).exp_m1();
    Some((2.0 * by_counts.min(binomial_at_least(close, at.len() - 1, each))).min(1.0))
}

/// Returns the period with which the events are best in phase, whatever its p-value.
///
/// The periods tried range from a fifth of the observed time down to a sixteenth of the mean interval. A cycle is in
/// phase if all its events lie in one arc of a quarter, a 16th or a 64th of the phase. If k of N non-empty cycles are
/// in phase, p = N·P(Bin(N−1, w) ≥ k−1) bounds the probability that any arc of share w contains k of N independent
/// events. This p is multiplied by the number of arcs and of frequencies that they can resolve. w is the largest share
/// of the observed time that an arc can have, which matters if the observation itself was periodic.
///
/// Because harmonics keep events in phase as well, the result is the longest multiple of the found period that keeps
/// nearly all its events in phase.
///
/// Returns `None` as for [`arrivals`], and if no period can be tried or no period has two cycles in phase.
///
/// Source of the periodogram: Lord Rayleigh, Phil. Mag. 10 (1880); N. I. Fisher, Statistical Analysis of Circular Data
/// (1993), section 4.3.
pub fn period(times: &[f64], observed: &Observed) -> Option<Period> {
    let (_, total) = in_observed_time(times, observed)?;
    let first = observed.stretches.first()?.0;
    let span = observed.stretches.last()?.1 - first;
    let mut at: Vec<f64> = times.iter().map(|t| t - first).collect();
    at.sort_by(f64::total_cmp);
    let step = 1.0 / (OVERSAMPLED * span);
    let low = MIN_CYCLES / span;
    let wanted = (SHORTEST * at.len() as f64 / total).min(0.25 / observed.resolution.max(f64::MIN_POSITIVE));
    let high = wanted.min(low + step * MAX_WORK / at.len() as f64);
    if high <= low + 2.0 * step {
        return None;
    }
    let tried = (high - low) * span * ARCS.len() as f64;
    let peaks = peaks(&at, low, step, ((high - low) / step) as usize);
    let refined = peaks.into_iter().map(|f| sharpened(&at, f, step));
    let best = refined.filter_map(|f| in_step(&at, f, tried, (observed, first))).min_by(|a, b| a.1.p.total_cmp(&b.1.p));
    let (arc, best) = best?;
    // Harmonics of a period keep its events in phase too.
    let whole = |d: f64| (best.period * d, densest(&at, 1.0 / (best.period * d), arc).1);
    let longer = (2..=64).rev().map(f64::from).filter(|d| best.period * d * low <= 1.01).map(whole);
    let longest = longer.into_iter().find(|(_, within)| *within as f64 >= SAME * best.in_step as f64);
    let (period, in_step) = longest.unwrap_or((best.period, best.in_step));
    Some(Period { period, in_step, ..best })
}

/// Returns the times on a clock that runs only during the observed time, and the total observed time.
fn in_observed_time(times: &[f64], observed: &Observed) -> Option<(Vec<f64>, f64)> {
    let within = |t: &f64| {
        let before: f64 = observed.stretches.iter().map(|(from, to)| (t.min(*to) - from).max(0.0)).sum();
        observed.stretches.iter().any(|(from, to)| from <= t && t <= to).then_some(before)
    };
    let total: f64 = observed.stretches.iter().map(|(from, to)| to - from).sum();
    let ascending = observed.stretches.windows(2).all(|w| matches!(w, [a, b] if a.1 <= b.0));
    let possible = ascending && total > 0.0 && total.is_finite() && times.len() >= MIN_ARRIVALS;
    let at: Option<Vec<f64>> = times.iter().map(within).collect();
    possible.then_some(at?).map(|at| (at, total))
}

/// Returns the frequencies of the highest peaks of the periodogram, highest peak first.
fn peaks(at: &[f64], low: f64, step: f64, steps: usize) -> Vec<f64> {
    let turn = |f: f64, t: f64| (TAU * f * t).sin_cos();
    let mut phasors: Vec<[f64; 4]> = at
        .iter()
        .map(|&t| {
            let ((sin, cos), (step_sin, step_cos)) = (turn(low, t), turn(step, t));
            [cos, sin, step_cos, step_sin]
        })
        .collect();
    let mut heights = Vec::with_capacity(steps);
    for _ in 0..steps {
        let (mut re, mut im) = (0.0, 0.0);
        for [x, y, c, s] in &mut phasors {
            re += *x;
            im += *y;
            (*x, *y) = (*x * *c - *y * *s, *x * *s + *y * *c);
        }
        heights.push(re * re + im * im);
    }
    let mut peaks: Vec<(f64, f64)> = heights
        .windows(3)
        .zip(1u32..)
        .filter_map(|(w, i)| match w {
            [a, b, c] if a <= b && b >= c => Some((*b, low + step * f64::from(i))),
            _ => None,
        })
        .collect();
    peaks.sort_by(|a, b| b.0.total_cmp(&a.0));
    peaks.into_iter().take(PEAKS).map(|(_, f)| f).collect()
}

/// Returns the real and imaginary part of Σ exp(2πift) over the times t in `at`.
fn phasor(at: &[f64], f: f64) -> (f64, f64) {
    at.iter().map(|t| (TAU * f * t).sin_cos()).fold((0.0, 0.0), |(re, im), (s, c)| (re + c, im + s))
}

/// Returns the frequency of a peak, refined to the maximum of the periodogram.
fn sharpened(at: &[f64], peak: f64, step: f64) -> f64 {
    let height = |f: f64| {
        let (re, im) = phasor(at, f);
        -(re * re + im * im)
    };
    crate::minimise::golden(peak - step, peak + step, crate::minimise::ROUGH, height).0
}

/// Returns the phase of the middle of the arc that contains most events, and the number of events in it.
fn densest(at: &[f64], f: f64, arc: f64) -> (f64, usize) {
    let mut phases: Vec<f64> = at.iter().map(|t| (f * t).rem_euclid(1.0)).collect();
    phases.sort_by(f64::total_cmp);
    let n = phases.len();
    let round: Vec<f64> = phases.iter().copied().chain(phases.iter().map(|p| p + 1.0)).collect();
    let held = |i: usize| round.partition_point(|p| round.get(i).is_some_and(|from| *p <= from + arc)).min(i + n) - i;
    let (from, most) = (0..n).map(|i| (i, held(i))).max_by_key(|(_, held)| *held).unwrap_or((0, 0));
    let ends = round.get(from).zip(round.get((from + most).saturating_sub(1)));
    (ends.map_or(0.0, |(a, b)| 0.5 * (a + b)), most)
}

/// Tests how well ascending times are in phase with one frequency. Returns the best arc, and the period with its
/// p-value; `None` if fewer than two cycles are in phase.
fn in_step(at: &[f64], f: f64, tried: f64, (observed, first): (&Observed, f64)) -> Option<(f64, Period)> {
    let test = |&arc: &f64| {
        let (middle, most) = densest(at, f, arc);
        // Cycles are separated at the phase farthest from the arc.
        let turns = |t: &f64| f * t - middle + 0.5;
        let off = |t: &f64| (turns(t).rem_euclid(1.0) - 0.5).abs();
        let (mut cycles, mut k) = (0, 0);
        for cycle in at.chunk_by(|a, b| turns(a).floor() == turns(b).floor()) {
            cycles += 1;
            k += usize::from(cycle.iter().all(|t| off(t) <= 0.5 * arc + 1e-12));
        }
        let share = largest_share(observed, first, f, arc);
        let p = cycles as f64 * binomial_at_least(k.checked_sub(1)?, cycles - 1, share);
        let period = Period { period: 1.0 / f, p: (p * tried / arc).min(1.0), in_step: most };
        (k > 1).then_some((arc, period))
    };
    ARCS.iter().filter_map(test).min_by(|a, b| a.1.p.total_cmp(&b.1.p))
}

/// Returns the largest share of the observed time that falls into an arc of the phase, over 32 positions of the arc.
fn largest_share(observed: &Observed, first: f64, f: f64, arc: f64) -> f64 {
    // Time spent in the phase [0, arc), in cycles.
    let spent = |cycles: f64| cycles.floor() * arc + (cycles - cycles.floor()).min(arc);
    let total: f64 = observed.stretches.iter().map(|(from, to)| f * (to - from)).sum();
    let at = |place: f64| -> f64 {
        let turns = |t: f64| f * (t - first) + place;
        observed.stretches.iter().map(|(from, to)| spent(turns(*to)) - spent(turns(*from))).sum()
    };
    (0..32).map(|i| at(f64::from(i) / 32.0) / total).fold(arc, f64::max).min(1.0)
}

/// Returns the binomial probability P(Bin(n, share) ≥ k).
fn binomial_at_least(k: usize, n: usize, share: f64) -> f64 {
    match k {
        0 => 1.0,
        k if k > n => 0.0,
        _ if share >= 1.0 => 1.0,
        k => ln_beta_tails(k as f64, (n - k + 1) as f64, share, 1.0 - share).ln(Tail::Lower).exp(),
    }
}

#[cfg(test)]
mod tests;
