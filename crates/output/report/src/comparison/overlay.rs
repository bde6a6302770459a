//! Draws the latencies of all groups on one scale: histograms and exceedance.

use super::finding::name;
use crate::number::{count, round_probability};
use crate::svg::axis::{Scale, nice_above, nice_below, short_latency};
use crate::svg::canvas::{Canvas, px};
use crate::svg::frame::{AREA, Frame, SIZE};
use crate::svg::series::{STEPS_A_DECADE, counts, exceedance, log_edges};
use crate::svg::{Chart, Key, Table, colour};
use punctual_model::{Comparison, Known};
use punctual_units::Nanos;

const QUANTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("p99.999", 0.99999)];

/// Returns the smallest and largest latency of all histograms, ns, so that loads are drawn on the same scale.
pub fn span<'a>(groups: impl Iterator<Item = &'a Known<'static>>) -> Option<(f64, f64)> {
    let ends = groups.filter(|k| !k.values().is_empty()).filter_map(|k| k.all().min().zip(k.all().max()));
    ends.map(|(low, high)| (low.max(1) as f64, high.max(1) as f64)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Draws the share of periods by latency. Numbers of periods are not comparable, because the lengths of the runs may
/// differ.
pub fn histogram(comparison: &Comparison, id: &str, load: &str, groups: &[Known], span: (f64, f64)) -> Chart {
    let edges = log_edges(span.0, span.1 * 1.02);
    let shares: Vec<Vec<f64>> = groups.iter().map(|k| shares(k, &edges)).collect();
    let counted = groups.iter().map(|k| k.all().count()).filter(|n| *n > 0);
    let least = counted.map(|n| 1.0 / n as f64).fold(1.0, f64::min);
    let (first, last) = (edges.first().copied().unwrap_or(1.0), edges.last().copied().unwrap_or(10.0));
    let frame = Frame {
        area: AREA,
        x: Scale::log(first, last, (AREA.left, AREA.right)),
        y: Scale::log(least * 0.5, 1.0, (AREA.bottom, AREA.top)),
    };
    let title = format!("Histograms of all groups, {load}");
    let description = "Share of periods by wakeup latency, both axes logarithmic, one line per group.";
    let mut canvas = Canvas::new(id, SIZE, &title, description);
    frame.grid(&mut canvas, "ns", short_latency, probability);
    canvas.steps_x(STEPS_A_DECADE);
    for (n, shares) in shares.iter().enumerate() {
        let figures = shares.iter().filter(|share| **share > 0.0).map(|share| format!("{share:.1e}"));
        let path = steps(&frame, &edges, shares);
        canvas.steps(&format!("{} bars", colour(n)), &path, &name(comparison, n), "", figures);
    }
    tips(&mut canvas, &frame, groups);
    frame.axes(&mut canvas, "wakeup latency", "share of periods per latency bin (each 12 % wide)");
    Chart {
        svg: canvas.finish(),
        legend: legend(comparison, groups),
        table: bins(comparison, &edges, groups),
        note: None,
    }
}

/// Draws the exceedance: the share of wakeups later than x.
pub fn ccdf(comparison: &Comparison, id: &str, load: &str, groups: &[Known], span: (f64, f64)) -> Chart {
    let counted = groups.iter().map(|k| k.all().count()).filter(|n| *n > 0);
    let least = counted.map(|n| 1.0 / n as f64).fold(0.1, f64::min);
    let frame = Frame {
        area: AREA,
        x: Scale::log(nice_below(span.0), nice_above(span.1 * 1.02), (AREA.left, AREA.right)),
        y: Scale::log(10f64.powf(least.log10().floor()), 1.0, (AREA.bottom, AREA.top)),
    };
    let title = format!("Share of wakeups later than x, all groups, {load}");
    let description = "Share of periods later than a given latency, both axes logarithmic, one falling line per group, which ends at its \
         largest latency.";
    let mut canvas = Canvas::new(id, SIZE, &title, description);
    frame.grid(&mut canvas, "ns", short_latency, probability);
    for (n, known) in groups.iter().enumerate().filter(|(_, k)| !k.values().is_empty()) {
        canvas.path(&format!("{} line", colour(n)), &falling(&frame, known));
        if let Some(max) = known.all().max() {
            let at = (frame.x.at(max as f64), frame.y.at(1.0 / known.all().count() as f64));
            canvas.dot(&format!("{} end", colour(n)), at, 3.0, &format!("{}: max {}", name(comparison, n), Nanos(max)));
        }
    }
    frame.axes(&mut canvas, "wakeup latency x", "share of periods later than x");
    Chart { svg: canvas.finish(), legend: Vec::new(), table: quantiles(comparison, groups), note: None }
}

fn probability(p: f64) -> String {
    if p >= 1.0 { "1".into() } else { round_probability(p) }
}

fn shares(known: &Known, edges: &[f64]) -> Vec<f64> {
    let n = known.all().count().max(1) as f64;
    counts(known.values(), edges).into_iter().map(|c| c as f64 / n).collect()
}

/// Returns a path along the tops of the bars, and along the axis between them.
fn steps(frame: &Frame, edges: &[f64], shares: &[f64]) -> String {
    let ground = frame.area.bottom;
    let (mut d, mut down) = (String::new(), true);
    for (pair, &share) in edges.windows(2).zip(shares) {
        let [from, to] = pair else { continue };
        match (share > 0.0, down) {
            (false, false) => d.push_str(&format!("V{}", px(ground))),
            (false, true) => {}
            (true, is_down) => {
                if is_down {
                    d.push_str(&format!("M{} {}", px(frame.x.at(*from)), px(ground)));
                }
                d.push_str(&format!("V{}H{}", px(frame.y.at(share)), px(frame.x.at(*to))));
            }
        }
        down = share <= 0.0;
    }
    if !down {
        d.push_str(&format!("V{}", px(ground)));
    }
    d
}

fn falling(frame: &Frame, known: &Known) -> String {
    let corners = exceedance(known.values(), known.all().count());
    let start = frame.x.at(corners.first().map_or(1.0, |c| c.0));
    let mut d = format!("M{} {}", px(start), px(frame.y.at(1.0)));
    let (mut x, mut y) = (start, frame.y.at(1.0));
    for (i, (value, p)) in corners.iter().enumerate() {
        let to = (frame.x.at(*value), if *p > 0.0 { frame.y.at(*p) } else { frame.area.bottom });
        let is_last = i + 1 == corners.len();
        if is_last || (to.0 - x).abs() >= 0.5 || (to.1 - y).abs() >= 0.5 {
            d.push_str(&format!("H{}V{}", px(to.0), px(to.1)));
            (x, y) = to;
        }
    }
    d
}

fn tips(canvas: &mut Canvas, frame: &Frame, groups: &[Known]) {
    for (n, max) in groups.iter().enumerate().filter_map(|(n, k)| Some((n, k.all().max()?))) {
        let x = frame.x.at(max as f64);
        canvas.line(&format!("{} tip", colour(n)), (x, AREA.bottom), (x, AREA.bottom - 9.0));
    }
}

fn legend(comparison: &Comparison, groups: &[Known]) -> Vec<Key> {
    let key = |(n, k): (usize, &Known)| Key {
        class: colour(n),
        text: format!("{}: max {}", name(comparison, n), nanos(k, k.all().max())),
    };
    groups.iter().enumerate().map(key).collect()
}

fn bins(comparison: &Comparison, edges: &[f64], groups: &[Known]) -> Table {
    let all: Vec<Vec<u64>> = groups.iter().map(|k| counts(k.values(), edges)).collect();
    let edge = |ns: f64| Nanos(ns.round() as u64).to_string();
    let row = |(n, pair): (usize, &[f64])| {
        let figures: Vec<u64> = all.iter().map(|g| g.get(n).copied().unwrap_or(0)).collect();
        let [from, to] = pair else { return None };
        let any = figures.iter().any(|f| *f > 0);
        any.then(|| [edge(*from), edge(*to)].into_iter().chain(figures.into_iter().map(count)).collect())
    };
    let names = (0..groups.len()).map(|n| name(comparison, n));
    let head = ["from".to_owned(), "to below".to_owned()].into_iter().chain(names).collect();
    Table { head, rows: edges.windows(2).enumerate().filter_map(row).collect() }
}

fn nanos(known: &Known, ns: Option<u64>) -> String {
    crate::number::latency(ns, known.blur().is_whole_micros())
}

fn quantiles(comparison: &Comparison, groups: &[Known]) -> Table {
    let head = ["group", "periods"].iter().chain(QUANTILES.iter().map(|(name, _)| name)).chain(["max"].iter());
    let row = |(n, k): (usize, &Known)| {
        let quantiles = QUANTILES.iter().map(|(_, q)| nanos(k, k.quantile(*q)));
        let first = [name(comparison, n), count(k.all().count())];
        first.into_iter().chain(quantiles).chain([nanos(k, k.all().max())]).collect()
    };
    Table { head: head.map(|s| (*s).to_owned()).collect(), rows: groups.iter().enumerate().map(row).collect() }
}
