//! Draws the exceedance, the share of wakeups later than x: both axes logarithmic, a falling line per CPU.

use super::axis::{Scale, nice_above, nice_below, short_latency};
use super::canvas::{Anchor, Canvas, px};
use super::frame::{AREA, Frame, SIZE};
use super::series::{Span, colour_of, exceedance};
use super::{Chart, Key, Table, colour};
use crate::bounds::Quantile;
use crate::figures::{Cell, QUANTILES};
use crate::number::{count, latency, nanos, round_probability};
use crate::words::claims;
use punctual_model::{Claim, Known, Quantity};
use punctual_units::{CpuId, Histogram, Nanos};

pub fn chart(id: &str, name: &str, cells: &[&Cell], picked: &[CpuId], span: &Span, claims: &[Claim]) -> Chart {
    let with: Vec<(&Cell, &Known)> =
        cells.iter().filter_map(|c| Some((*c, c.known.as_ref().filter(|k| !k.values().is_empty())?))).collect();
    let most = with.iter().map(|(_, k)| k.all().count()).max().unwrap_or(1).max(10) as f64;
    let frame = frame(span, most);
    let description = format!(
        "Share of periods later than a given latency under load {name}, both axes logarithmic, one falling line per \
         CPU. A line ends at the largest latency of its CPU."
    );
    let title = format!("Share of wakeups later than x, load {name}");
    let mut canvas = Canvas::new(id, SIZE, &title, &description);
    let beyond = frame.y.at(3.0 / most);
    canvas.rect("beyond", (AREA.left, beyond), (AREA.right - AREA.left, AREA.bottom - beyond));
    frame.grid(&mut canvas, "ns", short_latency, |p| if p >= 1.0 { "1".into() } else { round_probability(p) });
    rest(&mut canvas, &frame, &with, picked);
    for (cell, known) in &with {
        let Some(n) = colour_of(picked, cell.cpu()) else { continue };
        let class = colour(n);
        if let Some(raw) = cell.raw.filter(|raw| cell.was_corrected() && !raw.is_empty()) {
            canvas.path(&format!("{class} raw"), &falling(&frame, &exceedance(raw, raw.count())));
        }
        canvas.path(&format!("{class} line"), &falling(&frame, &exceedance(known.values(), known.all().count())));
        if let Some(max) = cell.max() {
            let at = (frame.x.at(max as f64), frame.y.at(1.0 / known.all().count() as f64));
            canvas.dot(&format!("{class} end"), at, 3.0, &format!("CPU {}: max {}", cell.cpu(), Nanos(max)));
        }
    }
    limits(&mut canvas, &frame, claims);
    let hint = (AREA.right - 6.0, AREA.bottom - 7.0);
    canvas.text("hint", hint, Anchor::End, "rarer than 3 in n: not bounded by this run");
    frame.axes(&mut canvas, "wakeup latency x", "share of periods later than x");
    Chart { svg: canvas.finish(), legend: Vec::<Key>::new(), table: table(cells), note: None }
}

fn frame(span: &Span, most: f64) -> Frame {
    let near = |l: &&f64| **l <= span.seen.1 * 10.0;
    let upto = span.limits.iter().filter(near).fold(span.seen.1, |a, b| a.max(*b));
    let lowest = 10f64.powf((1.0 / most).log10().floor());
    Frame {
        area: AREA,
        x: Scale::log(nice_below(span.seen.0), nice_above(upto * 1.02), (AREA.left, AREA.right)),
        y: Scale::log(lowest.min(0.5 / most), 1.0, (AREA.bottom, AREA.top)),
    }
}

/// Returns a falling staircase through the corners; corners closer than a pixel are omitted. Its coordinates are
/// relative, which needs half as many digits; each step begins at the pixel where the previous step ends.
fn falling(frame: &Frame, corners: &[(f64, f64)]) -> String {
    let tenth = |at: f64| (at * 10.0).round() / 10.0;
    let (mut x, mut y) = (tenth(frame.x.at(corners.first().map_or(1.0, |c| c.0))), tenth(frame.y.at(1.0)));
    let mut d = format!("M{} {}", px(x), px(y));
    for (i, (value, p)) in corners.iter().enumerate() {
        let is_last = i + 1 == corners.len();
        let to = (frame.x.at(*value), if *p > 0.0 { frame.y.at(*p) } else { frame.area.bottom });
        let to = (tenth(to.0), tenth(to.1));
        if !is_last && (to.0 - x).abs() < 1.0 && (to.1 - y).abs() < 1.0 {
            continue;
        }
        for (command, by) in [('h', to.0 - x), ('v', to.1 - y)] {
            let by = px(by);
            if by != "0" {
                d.push(command);
                d.push_str(by.strip_prefix("0.").map_or(&by, |_| &by[1..]));
            }
        }
        (x, y) = to;
    }
    d
}

/// Draws the CPUs that are not drawn individually, as the area between the best and the worst of them.
fn rest(canvas: &mut Canvas, frame: &Frame, with: &[(&Cell, &Known)], picked: &[CpuId]) {
    const COLUMNS: usize = 120;
    let rest: Vec<_> = with.iter().filter(|(c, _)| colour_of(picked, c.cpu()).is_none()).collect();
    if rest.is_empty() {
        return;
    }
    let (from, to) = frame.x.ends();
    let at = |i: usize| from * (to / from).powf(i as f64 / COLUMNS as f64);
    let lines: Vec<Vec<(f64, f64)>> = rest.iter().map(|(_, k)| exceedance(k.values(), k.all().count())).collect();
    let share = |line: &[(f64, f64)], x: f64| match line.partition_point(|c| c.0 <= x) {
        0 => 1.0,
        n => line[n - 1].1,
    };
    let y = |p: f64| px(if p > 0.0 { frame.y.at(p) } else { frame.area.bottom });
    let columns: Vec<f64> = (0..=COLUMNS).map(at).collect();
    let shares: Vec<Vec<f64>> = columns.iter().map(|x| lines.iter().map(|l| share(l, *x)).collect()).collect();
    let point = |i: usize, p: f64| format!("{} {}", px(frame.x.at(columns[i])), y(p));
    let worst = (0..=COLUMNS).map(|i| point(i, shares[i].iter().copied().fold(0.0, f64::max)));
    let best = (0..=COLUMNS).rev().map(|i| point(i, shares[i].iter().copied().fold(1.0, f64::min)));
    canvas.path("rest", &format!("M{}Z", worst.chain(best).collect::<Vec<_>>().join("L")));
}

/// Draws for each claim the corner below which all lines must pass: its limit and its probability.
fn limits(canvas: &mut Canvas, frame: &Frame, claims: &[Claim]) {
    let mut row = 0;
    for claim in claims {
        let Some(limit) = claims::limit(claim) else { continue };
        let p = match claim.quantity {
            Quantity::Quantile { q, .. } => Some(1.0 - q),
            Quantity::Exceedance { p, .. } => Some(p),
            _ => None,
        };
        frame.mark(canvas, "limit", limit.0 as f64, row, &format!("limit {limit}"));
        row += 1;
        if let Some(p) = p.filter(|p| frame.y.holds(*p)) {
            let y = frame.y.at(p);
            canvas.line("limit", (frame.x.at(limit.0 as f64), y), (AREA.right, y));
        }
    }
}

fn table(cells: &[&Cell]) -> Table {
    let names = ["CPU", "scored", "periods", "min", "mean"].map(String::from);
    let quantiles = QUANTILES.iter().map(|(_, name)| (*name).to_owned());
    let head = names.into_iter().chain(quantiles).chain(["max".to_owned()]).collect();
    let mut rows = Vec::new();
    for cell in cells {
        if let (Some(raw), Some(quantiles)) = (cell.raw, &cell.raw_quantiles) {
            rows.push(row(cell, ("wakeups alone", raw, raw.mean()), quantiles));
        }
        if let Some(corrected) = cell.corrected() {
            rows.push(row(cell, ("every period", corrected, cell.mean()), &cell.quantiles));
        }
    }
    Table { head, rows }
}

fn row(cell: &Cell, (scored, h, mean): (&str, &Histogram, Option<f64>), quantiles: &[Quantile]) -> Vec<String> {
    let shown = |ns: Option<u64>| latency(ns, cell.is_whole_micros());
    let mean = nanos(mean.map(|m| m.round() as u64));
    let mut row = vec![cell.cpu().to_string(), scored.to_owned(), count(h.count()), shown(h.min()), mean];
    row.extend(quantiles.iter().map(|q| match (q.ns, q.upper) {
        (None, _) => "–".into(),
        (at, None) => format!("{}*", shown(at)),
        (at, upper) => format!("{} [{} – {}]", shown(at), shown(q.lower), shown(upper)),
    }));
    row.push(shown(h.max()));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_steps_end_where_the_last_corner_is() {
        let frame = Frame {
            area: AREA,
            x: Scale::log(1e3, 1e6, (AREA.left, AREA.right)),
            y: Scale::log(1e-6, 1.0, (AREA.bottom, AREA.top)),
        };
        let corners: Vec<(f64, f64)> =
            (0..400).map(|n| (2_000.0 + 77.7 * f64::from(n), 1.0 / f64::from(n + 1))).collect();
        let d = falling(&frame, &corners);
        let (start, steps) = d.split_at(d.find(['h', 'v']).unwrap());
        let (x, y) = start.trim_start_matches('M').split_once(' ').unwrap();
        let (mut x, mut y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
        let mut rest = steps;
        while let Some(command) = rest.chars().next() {
            let end = rest[1..].find(['h', 'v']).map_or(rest.len(), |n| n + 1);
            let by: f64 = rest[1..end].parse().unwrap();
            if command == 'h' {
                x += by
            } else {
                y += by
            }
            rest = &rest[end..];
        }
        let (value, p) = corners[399];
        assert!((x - frame.x.at(value)).abs() < 0.06 && (y - frame.y.at(p)).abs() < 0.06, "{x} {y}: {d}");
    }
}
