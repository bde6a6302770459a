//! One dot a run: both groups side by side for each load, on one logarithmic scale.

use super::sentences::{figure_name, nanos};
use crate::clean;
use crate::svg::axis::{Scale, nice_above, nice_below, short_latency};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::colour;
use punctual_model::{Comparison, ComparisonRow};

const ROW: f64 = 44.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 10.0;

/// The drawing; `None` where there is nothing to draw.
pub fn dots(comparison: &Comparison) -> Option<String> {
    let values = || comparison.rows.iter().flat_map(|r| r.a_ns.iter().chain(&r.b_ns)).copied().filter(|v| *v > 0.0);
    let (low, high) = (values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?);
    let scale = Scale::log(nice_below(low * 0.95), nice_above(high * 1.05), (LEFT, RIGHT));
    let bottom = TOP + ROW * comparison.rows.len() as f64;
    let title = "Latencies of every run, by load";
    let description =
        "One dot a run on a logarithmic scale of latency; the upper dots of each row are group A, the lower ones B.";
    let mut canvas = Canvas::new("dots", (RIGHT + 20.0, bottom + 48.0), title, description);
    for x in scale.between_decades() {
        canvas.line("grid minor", (x, TOP), (x, bottom));
    }
    for tick in scale.ticks(10) {
        let x = scale.at(tick);
        canvas.line("grid", (x, TOP), (x, bottom));
        canvas.text("tick", (x, bottom + 19.0), Anchor::Middle, &short_latency(tick));
    }
    for (row, n) in comparison.rows.iter().zip(0u32..) {
        draw(&mut canvas, &scale, comparison, row, TOP + ROW * f64::from(n));
    }
    canvas.line("axis", (LEFT, bottom), (RIGHT, bottom));
    canvas.text("name", ((LEFT + RIGHT) / 2.0, bottom + 42.0), Anchor::Middle, "wakeup latency");
    Some(canvas.finish())
}

fn draw(canvas: &mut Canvas, scale: &Scale, comparison: &Comparison, row: &ComparisonRow, top: f64) {
    let name = match row.figure.as_str() {
        "max" => clean::clip(&row.load, 18),
        other => format!("{}, {}", clean::clip(&row.load, 12), figure_name(other).trim_end_matches(" wakeup")),
    };
    canvas.line("grid", (LEFT, top + ROW), (RIGHT, top + ROW));
    canvas.text("tick", (LEFT - 10.0, top + ROW / 2.0 + 4.5), Anchor::End, &name);
    let groups = [(&row.a_ns, &comparison.a, 0.32, 0), (&row.b_ns, &comparison.b, 0.68, 1)];
    for (values, group, share, n) in groups {
        for (value, run) in values.iter().zip(&group.runs) {
            let tip = format!("{}, {run}: {}", group.name, nanos(*value));
            canvas.dot(&format!("{} end", colour(n)), (scale.at(*value), top + ROW * share), 4.5, &tip);
        }
    }
}
