//! Draws a figure over time: one dot per run in the colour of its kernel, the level of each segment, the shifts.

use super::words::{name, nanos};
use super::{short, when};
use crate::svg::axis::{Scale, nice_above, nice_below, short_latency};
use crate::svg::canvas::{Anchor, Canvas, px};
use crate::svg::form::{Form, both};
use crate::svg::frame::{Area, Frame};
use crate::svg::{Chart, Key, Table, colour};
use punctual_model::history::{HistoryPoint, HistorySeries};
use punctual_units::Nanos;

const LEFT: f64 = 78.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 250.0;
/// Maximum number of kernels with their own colour, the most recent ones.
const MOST_KERNELS: usize = 8;

pub fn chart(id: &str, series: &HistorySeries) -> Option<Chart> {
    let range = range(&series.points)?;
    let kernels = kernels(&series.points);
    let legend = kernels.iter().enumerate().map(|(n, k)| Key { class: colour(n), text: (*k).to_owned() }).collect();
    let svg = both(|form| drawing(&form.id(id), form, series, &range, &kernels));
    Some(Chart { svg, legend, table: table(&series.points), note: None })
}

fn drawing(id: &str, form: Form, series: &HistorySeries, range: &Range, kernels: &[&str]) -> String {
    let title = format!("{} over time", name(series).replace('`', ""));
    let description = "One dot per run over time on a logarithmic scale of latency, coloured by kernel; a line at the \
                       median of each stretch between shifts, and a dashed line from top to bottom at each shift.";
    let size = (form.width(1120.0), BOTTOM + 50.0);
    let area = Area { left: LEFT, top: TOP, right: size.0 - 12.0, bottom: BOTTOM };
    let (from, to) = range.time;
    let frame = Frame {
        area,
        x: Scale::linear(from as f64, to as f64, (area.left, area.right)),
        y: Scale::log(nice_below(range.latency.0 * 0.9), nice_above(range.latency.1 * 1.1), (area.bottom, area.top)),
    };
    let mut canvas = Canvas::new(id, size, &title, description);
    frame.calendar(&mut canvas, range.time, short_latency);
    levels(&mut canvas, &frame, series);
    for point in &series.points {
        let at = (frame.x.at(point.started_ns as f64), frame.y.at(point.ns.max(1) as f64));
        let class = match kernels.iter().position(|k| *k == kernel(point)) {
            Some(n) => format!("{} end", colour(n)),
            None => "rest".into(),
        };
        canvas.dot(&class, at, 4.0, &tip(point));
    }
    shifts(&mut canvas, &frame, series);
    let since = when(series.points.first().map(|p| p.started_ns)).chars().take(10).collect::<String>();
    frame.axes(&mut canvas, &format!("UTC, from {since}"), "wakeup latency");
    canvas.finish()
}

/// The ranges of the axes.
struct Range {
    time: (u64, u64),
    latency: (f64, f64),
}

fn kernel(point: &HistoryPoint) -> &str {
    point.kernel.as_deref().unwrap_or("not recorded")
}

/// Returns the kernels in the order of their first run; if there are too many, the most recent ones.
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

fn range(points: &[HistoryPoint]) -> Option<Range> {
    let (first, last) = (points.first()?.started_ns, points.last()?.started_ns);
    let values = || points.iter().map(|p| p.ns.max(1) as f64);
    let margin = (last.saturating_sub(first) / 50).max(1_000_000_000);
    Some(Range {
        time: (first.saturating_sub(margin), last.saturating_add(margin)),
        latency: (values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?),
    })
}

/// Draws the median of each segment; draws nothing if nothing shifted.
fn levels(canvas: &mut Canvas, frame: &Frame, series: &HistorySeries) {
    let time = |at: usize| series.points.get(at).map(|p| frame.x.at(p.started_ns as f64));
    let mut level = |from: usize, to: usize, ns: f64| {
        if let (Some(left), Some(right)) = (time(from), time(to.saturating_sub(1))) {
            canvas.path("rest-line", &format!("M{} {}H{}", px(left), px(frame.y.at(ns)), px(right)));
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

fn shifts(canvas: &mut Canvas, frame: &Frame, series: &HistorySeries) {
    let Frame { area, x, .. } = frame;
    for (n, shift) in series.shifts.iter().enumerate() {
        let before =
            shift.at.checked_sub(1).and_then(|at| series.points.get(at)).map_or(shift.started_ns, |p| p.started_ns);
        let at = 0.5 * (x.at(before as f64) + x.at(shift.started_ns as f64));
        canvas.line("event", (at, area.top), (at, area.bottom));
        let kernel = shift.kernel.as_deref().unwrap_or("not recorded");
        let text = format!("{} → {}, {kernel}", nanos(shift.before_ns), nanos(shift.after_ns));
        let row = TOP - 8.0 + 16.0 * (n % 3) as f64;
        let anchor = if at > 0.6 * area.right { Anchor::End } else { Anchor::Start };
        canvas.text("event-label", (at, row), anchor, &text);
    }
}

fn table(points: &[HistoryPoint]) -> Table {
    let head = ["started (UTC)", "run", "kernel", "latency"].map(String::from).to_vec();
    let row =
        |p: &HistoryPoint| vec![when(Some(p.started_ns)), short(&p.run), kernel(p).to_owned(), Nanos(p.ns).to_string()];
    Table { head, rows: points.iter().map(row).collect() }
}
