//! Draws OSADL's long-term view: latency on the horizontal axis in steps of a microsecond, number of wakeups on a
//! logarithmic vertical axis, one colour per core.
//!
//! Source: the latency plots of OSADL's farm (osadl.org, "Latency plots"), from `cyclictest -h400`, which is why the
//! axis ends at 400 µs.

use super::axis::{Scale, plain, short_count};
use super::canvas::Canvas;
use super::frame::{AREA, Frame, SIZE};
use super::histogram::steps;
use super::series::{colour_of, counts};
use super::{Chart, Key, Table, colour};
use crate::number::{count, nanos, plural};
use punctual_model::Known;
use punctual_units::{CpuId, Nanos};
use std::collections::BTreeMap;

const MOST_STEPS: u64 = 400;
const STEP_NS: u64 = 1_000;

/// Draws the chart; `None` without wakeups. If there are many CPUs, draws only those that all charts of the run draw
/// individually.
pub fn chart(id: &str, all: &BTreeMap<CpuId, Known>, picked: &[CpuId], limits: &[f64]) -> Option<Chart> {
    let most = all.values().filter_map(|known| known.all().max()).max()?;
    let steps_shown = (most / STEP_NS + 1).clamp(10, MOST_STEPS);
    let edges: Vec<f64> = (0..=steps_shown).map(|n| (n * STEP_NS) as f64).collect();
    let drawn: Vec<(usize, CpuId, &Known, Vec<u64>)> = all
        .iter()
        .filter_map(|(cpu, known)| Some((colour_of(picked, *cpu)?, *cpu, known, counts(known.values(), &edges))))
        .collect();
    let highest = drawn.iter().flat_map(|(.., counts)| counts).copied().max().unwrap_or(1).max(10) as f64;
    let described = format!(
        "Number of wakeups by latency in steps of 1 µs, logarithmic, one line per CPU, sum of all loads; the largest is {}.",
        nanos(Some(most))
    );
    let frame = Frame {
        area: AREA,
        x: Scale::linear(0.0, (steps_shown * STEP_NS) as f64, (AREA.left, AREA.right)),
        y: Scale::log(0.7, highest * 2.2, (AREA.bottom, AREA.top)),
    };
    let mut canvas = Canvas::new(id, SIZE, "Wakeup latency as OSADL plots it", &described);
    frame.grid(&mut canvas, "ns", |ns| plain(ns / 1e3), short_count);
    canvas.steps_x(STEP_NS as f64);
    for (n, cpu, _, counts) in &drawn {
        let figures = counts.iter().filter(|n| **n > 0).map(u64::to_string);
        let path = steps(&frame, &edges, counts);
        canvas.steps(&format!("{} bars", colour(*n)), &path, &format!("CPU {cpu}"), "", figures);
    }
    for (row, limit) in limits.iter().enumerate().take(3) {
        frame.mark(&mut canvas, "limit", *limit, row + 1, &format!("limit {}", Nanos(*limit as u64)));
    }
    frame.mark(&mut canvas, "max", most as f64, 0, &format!("max {}", Nanos(most)));
    frame.axes(&mut canvas, "wakeup latency, µs", "wakeups per step of 1 µs");
    let legend = drawn.iter().map(|(n, cpu, known, _)| Key {
        class: colour(*n),
        text: format!("CPU {cpu}: {} wakeups, max {}", count(known.all().count()), nanos(known.all().max())),
    });
    let note = note(all, drawn.len(), steps_shown * STEP_NS);
    Some(Chart { svg: canvas.finish(), legend: legend.collect(), table: Table::default(), note })
}

fn note(all: &BTreeMap<CpuId, Known>, drawn: usize, end_ns: u64) -> Option<String> {
    let later = |known: &Known| known.values().above(end_ns).1.saturating_add(known.beyond());
    let beyond = all.values().fold(0u64, |sum, known| sum.saturating_add(later(known)));
    let from_ns =
        all.values().filter_map(|k| k.blur().unplaced).map(|u| u.from_ns).chain([end_ns]).min().unwrap_or(end_ns);
    let beyond = (beyond > 0).then(|| {
        format!("{} later than {} and not drawn.", plural(beyond, "wakeup is", "wakeups are"), Nanos(from_ns))
    });
    let others = all.len().saturating_sub(drawn);
    let others = (others > 0)
        .then(|| format!("{} not drawn, with smaller maxima.", plural(others as u64, "CPU is", "CPUs are")));
    let said: Vec<String> = beyond.into_iter().chain(others).collect();
    (!said.is_empty()).then(|| said.join(" "))
}
