//! Draws the shape parameter of the tail over rising thresholds: if the tail has one shape, all intervals contain a
//! common value.

use super::axis::{Scale, nice_above, nice_below, plain, short_latency};
use super::canvas::Canvas;
use super::frame::{AREA, Frame, SIZE};
use super::{Chart, Key, Table};
use crate::number::count;
use punctual_model::{Tail, TailThreshold};
use punctual_units::Nanos;

/// Range of the axis; shapes beyond it are drawn at the edge. A shape above this range means a tail so heavy that it
/// has no mean; a shape below it, a tail so short that it ends abruptly.
const REACH: (f64, f64) = (-1.0, 2.0);

/// Minimum number of fits for a trend.
const FEWEST: usize = 3;

pub fn chart(id: &str, name: &str, tail: &Tail) -> Option<Chart> {
    let fits = tail.thresholds.as_slice();
    if fits.len() < FEWEST {
        return None;
    }
    let frame = frame(fits)?;
    let title = format!("Shape of the tail by threshold, load {name}");
    let description = format!(
        "Shape of generalised Pareto distributions fitted to the wakeups later than a threshold, with 95 % intervals, over {} \
         thresholds on CPU {} under load {name}. A tail with one cause has one shape that all intervals contain.",
        fits.len(),
        tail.cpu
    );
    let mut canvas = Canvas::new(id, SIZE, &title, &description);
    if let Some((low, high)) = shared(fits) {
        let (top, bottom) = (frame.y.at(high), frame.y.at(low));
        canvas.rect("beyond", (AREA.left, top), (AREA.right - AREA.left, bottom - top));
    }
    frame.grid(&mut canvas, "ns", short_latency, plain);
    if frame.y.holds(0.0) {
        let zero = frame.y.at(0.0);
        canvas.line("axis", (AREA.left, zero), (AREA.right, zero));
    }
    fits.iter().for_each(|fit| point(&mut canvas, &frame, fit));
    let note = match shared(fits) {
        Some(_) => "Shaded: the shapes that all intervals contain. In the table σ* = σ − ξ·threshold.",
        None => "No shape is in all intervals. In the table σ* = σ − ξ·threshold.",
    };
    frame.axes(&mut canvas, "threshold", "shape ξ (above 0: heavy tail)");
    Some(Chart { svg: canvas.finish(), legend: Vec::<Key>::new(), table: table(fits), note: Some(note.into()) })
}

fn frame(fits: &[TailThreshold]) -> Option<Frame> {
    let least = fits.iter().map(|f| f.threshold_ns).min_by(f64::total_cmp)?.max(1.0);
    let most = fits.iter().map(|f| f.threshold_ns).max_by(f64::total_cmp)?.max(least);
    let ends = |f: &TailThreshold| f.shape_interval.unwrap_or((f.shape, f.shape));
    let low = fits.iter().map(|f| ends(f).0).fold(-0.2, f64::min).max(REACH.0);
    let high = fits.iter().map(|f| ends(f).1).fold(0.2, f64::max).min(REACH.1);
    let (left, right) =
        if most / least < 10.0 { (least * 0.9, most * 1.1) } else { (nice_below(least), nice_above(most)) };
    Some(Frame {
        area: AREA,
        x: Scale::log(left, right, (AREA.left, AREA.right)),
        y: Scale::linear((low * 10.0).floor() / 10.0, (high * 10.0).ceil() / 10.0, (AREA.bottom, AREA.top)),
    })
}

/// Returns the intersection of all bounded intervals, by the same rule as the check whether the shape changes with the
/// threshold.
fn shared(fits: &[TailThreshold]) -> Option<(f64, f64)> {
    let all = fits.iter().filter_map(|f| f.shape_interval);
    let (low, high) = all.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))?;
    (low <= high).then_some((low, high))
}

fn point(canvas: &mut Canvas, frame: &Frame, fit: &TailThreshold) {
    let x = frame.x.at(fit.threshold_ns);
    if let Some((low, high)) = fit.shape_interval {
        canvas.line("k0 line", (x, frame.y.at(low)), (x, frame.y.at(high)));
    }
    let tip = format!(
        "above {}: ξ {:.3}{}, {} later wakeups",
        latency(fit.threshold_ns),
        fit.shape,
        fit.shape_interval.map(|(low, high)| format!(" [{low:.3}, {high:.3}]")).unwrap_or_default(),
        count(fit.exceedances)
    );
    canvas.dot("k0 end", (x, frame.y.at(fit.shape)), 3.5, &tip);
}

fn table(fits: &[TailThreshold]) -> Table {
    let row = |f: &TailThreshold| {
        let (low, high) = f.shape_interval.unzip();
        let shape = |x: Option<f64>| x.map_or_else(|| "–".into(), |x| format!("{x:.3}"));
        vec![
            latency(f.threshold_ns),
            count(f.exceedances),
            shape(Some(f.shape)),
            shape(low),
            shape(high),
            latency(f.scale_ns),
            signed(f.modified_scale_ns),
        ]
    };
    let head = ["threshold", "later", "ξ", "from", "to", "σ", "σ*"];
    Table { head: head.map(String::from).to_vec(), rows: fits.iter().map(row).collect() }
}

fn latency(ns: f64) -> String {
    Nanos(ns.max(0.0).round() as u64).to_string()
}

/// Formats the modified scale, which can be negative.
fn signed(ns: f64) -> String {
    format!("{}{}", if ns < -0.5 { "-" } else { "" }, latency(ns.abs()))
}
