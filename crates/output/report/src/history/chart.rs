//! A figure over time: a dot per run in the colour of its kernel, the level of each segment, the shifts.

use super::words::{name, nanos};
use super::{short, when};
use crate::svg::axis::{Scale, nice_above, nice_below, short_latency};
use crate::svg::canvas::{Anchor, Canvas, px};
use crate::svg::{Chart, Key, Table, colour};
use punctual_model::history::{HistoryPoint, HistorySeries};
use punctual_units::Nanos;

const SIZE: (f64, f64) = (1120.0, 300.0);
const LEFT: f64 = 78.0;
const RIGHT: f64 = 1108.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 250.0;
/// Number of kernels with a colour of their own, the most recent ones.
const MOST_KERNELS: usize = 8;

pub fn chart(id: &str, series: &HistorySeries) -> Option<Chart> {
    let (x, y) = scales(&series.points)?;
    let kernels = kernels(&series.points);
    let title = name(series).replace('`', "");
    let description = "One dot a run over time on a logarithmic scale of latency, coloured by kernel; a line at the \
                       median of each stretch between shifts, and a dashed line from top to bottom at each shift.";
    let mut canvas = Canvas::new(id, SIZE, &format!("{title} over time"), description);
    grid(&mut canvas, &x, &y, &series.points);
    levels(&mut canvas, &x, &y, series);
    for point in &series.points {
        let at = (x.at(point.started_ns as f64), y.at(point.ns.max(1) as f64));
        let class = match kernels.iter().position(|k| *k == kernel(point)) {
            Some(n) => format!("{} end", colour(n)),
            None => "rest".into(),
        };
        canvas.dot(&class, at, 4.0, &tip(point));
    }
    shifts(&mut canvas, &x, series);
    canvas.line("axis", (LEFT, TOP), (LEFT, BOTTOM));
    canvas.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    canvas.upright("name", (12.0, (TOP + BOTTOM) / 2.0), "wakeup latency");
    let legend = kernels.iter().enumerate().map(|(n, k)| Key { class: colour(n), text: (*k).to_owned() }).collect();
    Some(Chart { svg: canvas.finish(), legend, table: table(&series.points), note: None })
}

fn kernel(point: &HistoryPoint) -> &str {
    point.kernel.as_deref().unwrap_or("not recorded")
}

/// In the order of their first run; if there are too many, the most recent ones.
fn kernels(points: &[HistoryPoint]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for point in points {
        if !all.contains(&kernel(point)) {
            all.push(kernel(point));
        }
    }
    let older = all.len().saturating_sub(MOST_KERNELS);
    all.split_off(older)
}

fn tip(point: &HistoryPoint) -> String {
    format!("{}, {}, kernel {}: {}", short(&point.run), when(Some(point.started_ns)), kernel(point), Nanos(point.ns))
}

fn scales(points: &[HistoryPoint]) -> Option<(Scale, Scale)> {
    let (first, last) = (points.first()?.started_ns as f64, points.last()?.started_ns as f64);
    let values = || points.iter().map(|p| p.ns.max(1) as f64);
    let (low, high) = (values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?);
    let margin = (0.02 * (last - first)).max(1e9);
    let x = Scale::linear(first - margin, last + margin, (LEFT, RIGHT));
    Some((x, Scale::log(nice_below(low * 0.9), nice_above(high * 1.1), (BOTTOM, TOP))))
}

fn grid(canvas: &mut Canvas, x: &Scale, y: &Scale, points: &[HistoryPoint]) {
    for tick in y.ticks(6) {
        canvas.line("grid", (LEFT, y.at(tick)), (RIGHT, y.at(tick)));
        canvas.text("tick", (LEFT - 7.0, y.at(tick) + 4.5), Anchor::End, &short_latency(tick));
    }
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let span = last.started_ns.saturating_sub(first.started_ns);
    // With ticks a day or more apart, the date is enough.
    let steps = if span == 0 { 0 } else { 6 };
    let is_days = span > 6 * 86_400_000_000_000;
    for n in 0..=steps {
        let ns = first.started_ns.saturating_add(span / 6 * n);
        let label: String = when(Some(ns)).chars().take(if is_days { 10 } else { 16 }).collect();
        let at = x.at(ns as f64);
        canvas.line("grid", (at, TOP), (at, BOTTOM));
        canvas.text("tick", (at, BOTTOM + 19.0), Anchor::Middle, &label);
    }
}

/// The median of each segment; none if nothing shifted.
fn levels(canvas: &mut Canvas, x: &Scale, y: &Scale, series: &HistorySeries) {
    let time = |at: usize| series.points.get(at).map(|p| x.at(p.started_ns as f64));
    let mut level = |from: usize, to: usize, ns: f64| {
        if let (Some(left), Some(right)) = (time(from), time(to.saturating_sub(1))) {
            canvas.path("rest-line", &format!("M{} {}H{}", px(left), px(y.at(ns)), px(right)));
        }
    };
    let mut from = 0;
    for (n, shift) in series.shifts.iter().enumerate() {
        let to = series.shifts.get(n + 1).map_or(series.points.len(), |next| next.at);
        if n == 0 {
            level(from, shift.at, shift.before_ns);
        }
        level(shift.at, to, shift.after_ns);
        from = shift.at;
    }
}

fn shifts(canvas: &mut Canvas, x: &Scale, series: &HistorySeries) {
    for (n, shift) in series.shifts.iter().enumerate() {
        let before =
            shift.at.checked_sub(1).and_then(|at| series.points.get(at)).map_or(shift.started_ns, |p| p.started_ns);
        let at = 0.5 * (x.at(before as f64) + x.at(shift.started_ns as f64));
        canvas.line("event", (at, TOP), (at, BOTTOM));
        let kernel = shift.kernel.as_deref().unwrap_or("not recorded");
        let text = format!("{} → {}, {kernel}", nanos(shift.before_ns), nanos(shift.after_ns));
        let row = TOP - 8.0 + 16.0 * (n % 3) as f64;
        let anchor = if at > 0.6 * RIGHT { Anchor::End } else { Anchor::Start };
        canvas.text("event-label", (at, row), anchor, &text);
    }
}

fn table(points: &[HistoryPoint]) -> Table {
    let head = ["started (UTC)", "run", "kernel", "latency"].map(String::from).to_vec();
    let row =
        |p: &HistoryPoint| vec![when(Some(p.started_ns)), short(&p.run), kernel(p).to_owned(), Nanos(p.ns).to_string()];
    Table { head, rows: points.iter().map(row).collect() }
}
