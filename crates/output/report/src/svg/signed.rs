//! Draws LinuxCNC's signed view: early to the left, late to the right, in steps of 100 ns; counts on a logarithmic
//! vertical axis; a bar at each end for what is off the chart.
//!
//! Source: `latency-histogram` of LinuxCNC (scripts/latency-histogram.in) with 200 bins of 100 ns each way. It draws
//! the time between two wakeups relative to the period. Recordings contain the latency of each wakeup, so this chart
//! draws it relative to the median of the CPU: a late wakeup lengthens the interval before it and shortens the one
//! after it by the same time, unless its neighbours were late as well.

use super::axis::{Scale, plain, short_count};
use super::canvas::Canvas;
use super::frame::{AREA, Frame, SIZE};
use super::histogram::steps;
use super::series::counts;
use super::{Chart, Key, Table, colour};
use crate::number::count;
use punctual_model::Known;
use punctual_units::{CpuId, Histogram, Nanos};
use std::collections::BTreeMap;

const BINS_EACH_WAY: i64 = 200;
const BIN_NS: f64 = 100.0;
const END: f64 = 9.0;

/// Deviations of a CPU's latencies from their median: those within the chart, and those beyond it on either side.
struct Deviations {
    median: u64,
    within: Vec<u64>,
    early: u64,
    late: u64,
}

fn deviations(histogram: &Histogram, edges: &[f64]) -> Option<Deviations> {
    let median = histogram.quantile(0.5)?;
    let shifted: Vec<f64> = edges.iter().map(|edge| edge + median as f64).collect();
    // Latencies are not negative: no sample is below an edge of 0.
    let within = counts(histogram, &shifted);
    let (first, last) = (shifted.first()?, shifted.last()?);
    let late =
        histogram.bins().filter(|bin| bin.low as f64 >= *last).fold(0u64, |sum, bin| sum.saturating_add(bin.count));
    let inside = within.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    let rest = histogram.count().saturating_sub(inside);
    let late = if *first <= 0.0 { rest } else { late.min(rest) };
    Some(Deviations { median, within, early: rest - late, late })
}

pub fn chart(id: &str, all: &BTreeMap<CpuId, Known>) -> Option<Chart> {
    let with_values = all.iter().filter(|(_, known)| known.beyond() == 0).map(|(cpu, known)| (cpu, known.all()));
    let (cpu, histogram) = with_values.max_by_key(|(cpu, h)| (h.max(), std::cmp::Reverse(**cpu)))?;
    let edges: Vec<f64> = (-BINS_EACH_WAY..=BINS_EACH_WAY).map(|n| n as f64 * BIN_NS).collect();
    let found = deviations(histogram, &edges)?;
    let highest = found.within.iter().copied().chain([found.early, found.late]).max().unwrap_or(1).max(10) as f64;
    let (early, late) = (count(found.early), count(found.late));
    let described = format!(
        "Number of wakeups of CPU {cpu} by their distance from the median, in steps of 100 ns, logarithmic; \
         {early} are off the chart to the left, {late} to the right."
    );
    let (left, right) = (AREA.left + END + 3.0, AREA.right - END - 3.0);
    let frame = Frame {
        area: AREA,
        x: Scale::linear(edges[0], -edges[0], (left, right)),
        y: Scale::log(0.7, highest * 2.2, (AREA.bottom, AREA.top)),
    };
    let mut canvas = Canvas::new(id, SIZE, "Wakeups as LinuxCNC's latency-histogram draws them", &described);
    frame.grid(&mut canvas, "ns", |ns| plain(ns / 1e3), short_count);
    canvas.steps_x(BIN_NS);
    let figures = found.within.iter().filter(|n| **n > 0).map(u64::to_string);
    let path = steps(&frame, &edges, &found.within);
    canvas.steps(&format!("{} bars", colour(0)), &path, &format!("CPU {cpu}"), "", figures);
    for (n, x, tip) in [(found.early, AREA.left, "earlier"), (found.late, right + 3.0, "later")] {
        if n > 0 {
            let y = frame.y.at(n as f64);
            let tip = format!("{} {tip} than the chart reaches", count(n));
            canvas.tipped_rect("throttled", (x, y), (END, AREA.bottom - y), Some(&tip));
        }
    }
    frame.axes(&mut canvas, "earlier or later than the median, µs", "wakeups per step of 100 ns");
    let key = |class: String, text: String| Key { class, text };
    let legend = vec![
        key(colour(0), format!("CPU {cpu}, which has the worst wakeup of all; median {}", Nanos(found.median))),
        key(
            "limit".into(),
            format!("bars at the ends: wakeups off the chart, {early} to the left and {late} to the right"),
        ),
    ];
    let note = "latency-histogram draws times between wakeups. The order of wakeups is not recorded, so this chart draws each wakeup relative to the median: a later wakeup makes the interval before it longer, and the interval after it shorter by the same time. \
                `punctual report --linuxcnc` bounds what latency-test shows.";
    Some(Chart { svg: canvas.finish(), legend, table: Table::default(), note: Some(note.into()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wakeup_is_in_the_chart_or_in_an_end_bar() {
        for (base, far) in [(50_000u64, 1_000u64), (3_000, 100_000), (100, 21_000)] {
            let mut histogram = Histogram::new();
            (0..1_000).for_each(|n| histogram.record(base + n * 7));
            histogram.record(base + far);
            histogram.record(base.saturating_sub(30_000));
            let edges: Vec<f64> = (-BINS_EACH_WAY..=BINS_EACH_WAY).map(|n| n as f64 * BIN_NS).collect();
            let found = deviations(&histogram, &edges).unwrap();
            let all = found.within.iter().sum::<u64>() + found.early + found.late;
            assert_eq!(all, histogram.count(), "{base} {far}");
        }
    }

    #[test]
    fn what_is_off_the_chart_is_on_its_side() {
        let mut histogram = Histogram::new();
        histogram.record_n(100_000, 100);
        histogram.record_n(20_000, 3);
        histogram.record_n(900_000, 5);
        let edges: Vec<f64> = (-BINS_EACH_WAY..=BINS_EACH_WAY).map(|n| n as f64 * BIN_NS).collect();
        let found = deviations(&histogram, &edges).unwrap();
        assert_eq!((found.early, found.late), (3, 5));
        let known = Known::new(std::borrow::Cow::Owned(histogram), punctual_model::Blur::EXACT);
        let one = BTreeMap::from([(CpuId(3), known)]);
        let svg = chart("x", &one).unwrap().svg;
        assert!(svg.contains("3 earlier than the chart") && svg.contains("5 later than the chart"));
        assert!(chart("x", &BTreeMap::new()).is_none());
    }
}
