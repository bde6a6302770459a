//! Draws a dot plot with one dot per boot: all groups, for each load, on a logarithmic scale.

use super::finding::figure_name;
use super::value::of_row;
use super::{letter, names};
use crate::clean;
use crate::svg::axis::{Scale, nice_above, nice_below, short_latency};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::colour;
use crate::svg::form::{Form, both};
use punctual_model::{Comparison, ComparisonRow, SampleUnit};

const TOP: f64 = 28.0;

/// Draws the chart; `None` if no boot has a latency. The axis is drawn above and below, since there may be many rows.
pub fn dots(comparison: &Comparison) -> Option<String> {
    let rows: Vec<&ComparisonRow> =
        comparison.rows.iter().filter(|r| r.unit == "ns" && r.sample == SampleUnit::Boot).collect();
    let values = || rows.iter().flat_map(|r| &r.groups).flat_map(|g| &g.values).copied().filter(|v| *v > 0.0);
    let (low, high) = (values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?);
    let ends = (nice_below(low * 0.95), nice_above(high * 1.05));
    Some(both(|form| drawing(comparison, form, &rows, ends)))
}

fn drawing(comparison: &Comparison, form: Form, rows: &[&ComparisonRow], (low, high): (f64, f64)) -> String {
    let (left, right) = (150.0, form.width(980.0) - 24.0);
    let scale = Scale::log(low, high, (left, right));
    let height = 16.0 + 10.0 * comparison.groups.len() as f64;
    let bottom = TOP + height * rows.len() as f64;
    let title = "Latencies of every boot, by load";
    let order: Vec<String> = (0..comparison.groups.len()).map(letter).collect();
    let description = format!(
        "One dot per boot on a logarithmic scale of latency; each row shows the groups one below the other: {}.",
        order.join(", ")
    );
    let mut canvas = Canvas::new(&form.id("dots"), (right + 24.0, bottom + 48.0), title, &description);
    canvas.axis_x(&scale, "ns");
    canvas.verticals("grid minor", &scale.between_decades(), (TOP, bottom));
    canvas.open("xt");
    let ticks = scale.ticks(((right - left) / 60.0) as usize).into_iter().map(|at| (scale.at(at), short_latency(at)));
    let ticks: Vec<(f64, String)> = ticks.collect();
    canvas.ticks_x("grid", &ticks, (TOP, bottom), bottom + 19.0);
    ticks.iter().for_each(|(x, text)| canvas.text("tick", (*x, TOP - 9.0), Anchor::Middle, text));
    canvas.close();
    for (n, row) in rows.iter().enumerate() {
        name(&mut canvas, row, (left, right), (TOP + height * n as f64, height));
    }
    canvas.open("z");
    for (n, row) in rows.iter().enumerate() {
        draw(&mut canvas, &scale, comparison, row, (TOP + height * n as f64, height));
    }
    canvas.close();
    canvas.line("axis", (left, TOP), (right, TOP));
    canvas.line("axis", (left, bottom), (right, bottom));
    canvas.text("name", ((left + right) / 2.0, bottom + 42.0), Anchor::Middle, "wakeup latency");
    canvas.finish()
}

fn name(canvas: &mut Canvas, row: &ComparisonRow, (left, right): (f64, f64), (top, height): (f64, f64)) {
    let name = match row.figure.as_str() {
        "max" => clean::clip(&row.load, 18),
        other => format!("{}, {}", clean::clip(&row.load, 12), figure_name(other).trim_end_matches(" wakeup")),
    };
    canvas.line("grid", (left, top + height), (right, top + height));
    canvas.text("tick", (left - 10.0, top + height / 2.0 + 4.5), Anchor::End, &name);
}

fn draw(canvas: &mut Canvas, scale: &Scale, comparison: &Comparison, row: &ComparisonRow, (top, height): (f64, f64)) {
    let groups = row.groups.len().max(1) as f64;
    for (n, (sampled, group)) in row.groups.iter().zip(&comparison.groups).enumerate() {
        let y = top + height * (n as f64 + 0.5) / groups;
        for (value, run) in sampled.values.iter().zip(names(sampled, group)) {
            let tip = format!("{}, {run}: {}", group.name, of_row(*value, row));
            canvas.dot(&format!("{} end", colour(n)), (scale.at(*value), y), 4.5, &tip);
        }
    }
}
