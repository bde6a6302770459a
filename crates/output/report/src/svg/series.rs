//! Reduces histograms and time series to as many points as a chart can show.

use super::axis::{nice_above, nice_below};
use super::canvas::Canvas;
use crate::figures::{Cell, Figures};
use crate::words::claims::limit;
use punctual_model::{AppValue, Claim};
use punctual_units::{Arrange, CpuId, Histogram};

/// The range of latencies shared by all charts of a run.
pub struct Span {
    /// True if the axis is logarithmic; otherwise it is linear from zero.
    pub log: bool,
    pub edges: Vec<f64>,
    pub seen: (f64, f64),
    /// The claimed limits on or near the chart, ns.
    pub limits: Vec<f64>,
}

/// Steps per decade of a logarithmic histogram, each 12 % wide.
pub const STEPS_A_DECADE: f64 = 20.0;

impl Span {
    /// Returns the span of all values of the run.
    pub fn of(figures: &Figures) -> Option<Span> {
        Span::of_some(figures, |_| true, |_| true)
    }

    /// Returns the span of wakeup latencies; of an application, of the response times.
    pub fn of_releases(figures: &Figures) -> Option<Span> {
        let of_releases = |claim: &Claim| claim.of.as_ref().is_none_or(AppValue::is_of_releases);
        Span::of_some(figures, |cell| cell.phase.is_of_releases(), of_releases)
    }

    fn of_some(figures: &Figures, some: fn(&Cell) -> bool, claimed: fn(&Claim) -> bool) -> Option<Span> {
        let cells = || figures.cells.iter().filter(|cell| some(cell));
        let all = || cells().filter_map(|c| c.corrected());
        let least = all().filter_map(|h| h.min()).min()?.max(1) as f64;
        let most = cells().filter_map(Cell::max).max()?.max(1) as f64;
        let body = all().filter_map(|h| h.quantile(0.5)).min()?.max(1) as f64;
        // A linear scale shows the familiar shape, unless most of the histogram would be squeezed into the first
        // pixels.
        let log = most / body > 60.0;
        let mut limits: Vec<f64> = figures
            .verdict
            .claims
            .iter()
            .filter(|j| claimed(&j.claim))
            .filter_map(|j| limit(&j.claim))
            .map(|l| l.0 as f64)
            .collect();
        limits.arrange_by(f64::total_cmp);
        limits.dedup();
        let near = |l: &&f64| **l <= most * if log { 10.0 } else { 1.6 };
        let upto = limits.iter().filter(near).fold(most, |a, b| a.max(*b)) * 1.02;
        let edges = if log { log_edges(least, upto) } else { linear_edges(upto) };
        Some(Span { log, edges, seen: (least, most), limits })
    }
}

impl Span {
    pub fn steps_x(&self, canvas: &mut Canvas) {
        canvas.steps_x(if self.log { STEPS_A_DECADE } else { self.edges[1] });
    }
}

/// Returns at most 128 steps, no finer than the histogram's own bins, which are up to 0.78 % wide.
fn linear_edges(upto: f64) -> Vec<f64> {
    let step = nice_above(upto / 128.0).max(1.0);
    (0..=(upto / step).ceil() as u32).map(|n| f64::from(n) * step).collect()
}

pub fn log_edges(least: f64, upto: f64) -> Vec<f64> {
    let (from, to) = (nice_below(least), nice_above(upto));
    let first = (from.log10() * STEPS_A_DECADE).round() as i32;
    let last = (to.log10() * STEPS_A_DECADE).round() as i32;
    (first..=last.max(first + 1)).map(|n| 10f64.powf(f64::from(n) / STEPS_A_DECADE)).collect()
}

/// Counts the samples between each pair of adjacent edges.
///
/// A bin that an edge divides is split proportionally in whole samples, so that the sum stays correct and no comb
/// pattern appears if bins and steps have similar widths.
pub fn counts(histogram: &Histogram, edges: &[f64]) -> Vec<u64> {
    let (min, max) = (histogram.min().unwrap_or(0) as f64, histogram.max().unwrap_or(0) as f64);
    let mut bins = histogram.bins().map(|b| (b.low as f64, b.high as f64 + 1.0, b.count as f64)).peekable();
    let mut before = 0.0;
    let mut until = |edge: f64| {
        while let Some((_, _, count)) = bins.next_if(|(_, high, _)| *high <= edge) {
            before += count;
        }
        let within = bins.peek().map_or(0.0, |(low, high, count)| {
            let (low, high) = (low.max(min), high.min(max + 1.0));
            count * ((edge - low) / (high - low).max(1e-9)).clamp(0.0, 1.0)
        });
        (before + within).round() as u64
    };
    let sums: Vec<u64> = edges.iter().map(|e| until(*e)).collect();
    sums.windows(2).map(|w| w[1].saturating_sub(w[0])).collect()
}

/// Returns P(latency > x) as the corners of its falling steps, from the smallest latency on. `of` is the number of all
/// samples; samples that are not in the histogram are later than all samples in it.
pub fn exceedance(histogram: &Histogram, of: u64) -> Vec<(f64, f64)> {
    let n = of.max(1) as f64;
    let max = histogram.max().unwrap_or(0);
    let mut above = of;
    let mut corners = Vec::new();
    for bin in histogram.bins() {
        above = above.saturating_sub(bin.count);
        corners.push((bin.high.min(max) as f64, above as f64 / n));
    }
    corners
}

/// Maximum number of intervals drawn unchanged; more are combined into this many slots.
pub const MOST_POINTS: usize = 500;

/// A measured value over time: start, end (CLOCK_MONOTONIC, ns) and value.
pub enum Series {
    Exact(Vec<(u64, u64, f64)>),
    /// Equal slots with the maximum of each.
    Slots {
        from: u64,
        width: u64,
        values: Vec<Option<f64>>,
    },
}

impl Series {
    pub fn new(from: u64, to: u64, intervals: usize) -> Series {
        if intervals <= MOST_POINTS { Series::Exact(Vec::new()) } else { Series::slots(from, to, MOST_POINTS) }
    }

    pub fn slots(from: u64, to: u64, n: usize) -> Series {
        let width = (to.saturating_sub(from) / n.max(1) as u64 + 1).max(1);
        Series::Slots { from, width, values: vec![None; n.max(1)] }
    }

    /// Adds a value; the largest of an interval or slot is used.
    pub fn add(&mut self, start: u64, end: u64, figure: f64) {
        match self {
            Series::Exact(all) => match all.last_mut().filter(|last| (last.0, last.1) == (start, end)) {
                Some(last) => last.2 = last.2.max(figure),
                None => all.push((start, end, figure)),
            },
            Series::Slots { from, width, values } => {
                // The middle is used so that a figure belongs to its own phase.
                let slot = ((start / 2 + end / 2).saturating_sub(*from) / *width) as usize;
                if let Some(kept) = values.get_mut(slot) {
                    *kept = Some(kept.map_or(figure, |k: f64| k.max(figure)));
                }
            }
        }
    }

    /// Returns start, end and value of all non-empty intervals in chronological order.
    pub fn spans(&self) -> Vec<(u64, u64, f64)> {
        match self {
            Series::Exact(all) => all.clone(),
            Series::Slots { from, width, values } => {
                let start = |n: usize| from.saturating_add(width.saturating_mul(n as u64));
                let span = |(n, v): (usize, &Option<f64>)| v.map(|v| (start(n), start(n + 1), v));
                values.iter().enumerate().filter_map(span).collect()
            }
        }
    }

    pub fn max(&self) -> Option<f64> {
        self.spans().iter().map(|s| s.2).max_by(f64::total_cmp)
    }

    pub fn min(&self) -> Option<f64> {
        self.spans().iter().map(|s| s.2).min_by(f64::total_cmp)
    }
}

/// Returns the index of a CPU among the picked CPUs, which is also the index of its colour.
pub fn colour_of(picked: &[CpuId], cpu: CpuId) -> Option<usize> {
    picked.iter().position(|p| *p == cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sample_is_lost_in_drawing() {
        let mut histogram = Histogram::new();
        (0..5_000u64).for_each(|n| histogram.record(3_000 + n * n % 90_001));
        for edges in [linear_edges(93_100.0), log_edges(3_000.0, 93_001.0)] {
            let all: u64 = counts(&histogram, &edges).iter().sum();
            assert_eq!(all, 5_000);
        }
    }

    #[test]
    fn one_sample_stays_in_its_place() {
        let mut histogram = Histogram::new();
        histogram.record(10_500);
        let counts = counts(&histogram, &[0.0, 10_000.0, 11_000.0, 12_000.0]);
        assert_eq!(counts, [0, 1, 0]);
    }

    #[test]
    fn the_exceedance_ends_at_the_maximum_with_none_above() {
        let mut histogram = Histogram::new();
        histogram.record_n(5_000, 9);
        histogram.record(77_777);
        let corners = exceedance(&histogram, histogram.count());
        assert_eq!(corners.last(), Some(&(77_777.0, 0.0)));
        assert_eq!(corners[0].1, 0.1);
    }

    #[test]
    fn slots_keep_the_largest() {
        let mut series = Series::slots(1_000, 2_000, 10);
        for (at, figure) in [(1_010, 5.0), (1_020, 9.0), (1_030, 7.0), (9_999, 99.0)] {
            series.add(at, at, figure);
        }
        assert_eq!(series.spans(), [(1_000, 1_101, 9.0)]);
    }

    #[test]
    fn few_intervals_stay_as_they_are() {
        let mut series = Series::new(0, 1_000, 2);
        series.add(0, 500, 3.0);
        series.add(0, 500, 5.0);
        series.add(500, 1_000, 4.0);
        assert_eq!(series.spans(), [(0, 500, 5.0), (500, 1_000, 4.0)]);
        assert!(matches!(Series::new(0, 1_000, 100_000), Series::Slots { .. }));
    }
}
