//! Draws the histogram of a load: latency on the horizontal axis, number of wakeups on a logarithmic vertical axis, all
//! CPUs overlaid.

use super::axis::{Scale, Unit, plain, short_count, short_latency};
use super::canvas::{Canvas, px};
use super::frame::{AREA, Frame, SIZE};
use super::series::{Span, colour_of, counts};
use super::{Chart, Key, Table, colour};
use crate::figures::Cell;
use crate::number::{count, nanos};
use punctual_units::{CpuId, Nanos};

/// The bars of a CPU for all released periods, and for raw wakeups if they differ.
struct Bars<'a> {
    cell: &'a Cell<'a>,
    all: Vec<u64>,
    raw: Option<Vec<u64>>,
}

/// Draws the chart; `name` is the name of the load, and `picked` contains the CPUs that are drawn individually.
pub fn chart(id: &str, name: &str, cells: &[&Cell], picked: &[CpuId], span: &Span) -> Chart {
    let bars: Vec<Bars> = cells.iter().filter_map(|cell| bars(cell, span)).collect();
    let (mine, rest): (Vec<_>, Vec<_>) = bars.iter().partition(|b| colour_of(picked, b.cell.cpu()).is_some());
    let highest = bars.iter().flat_map(|b| &b.all).copied().max().unwrap_or(1).max(10) as f64;
    let frame = Frame {
        area: AREA,
        x: x_scale(span, (AREA.left, AREA.right)),
        y: Scale::log(0.7, highest * 2.2, (AREA.bottom, AREA.top)),
    };
    let title = format!("Histogram of wakeup latency, load {name}");
    let mut canvas = Canvas::new(id, SIZE, &title, &described(name, cells));
    let unit = Unit::for_latency(frame.x.ends().1);
    let x_label = |v: f64| if span.log { short_latency(v) } else { plain(v / unit.ns) };
    frame.grid(&mut canvas, "ns", x_label, short_count);
    span.steps_x(&mut canvas);
    draw_rest(&mut canvas, &frame, span, &rest);
    for b in &mine {
        let class = colour(colour_of(picked, b.cell.cpu()).unwrap_or(0));
        counted(&mut canvas, &frame, span, &format!("{class} bars"), &format!("CPU {}", b.cell.cpu()), &b.all);
        if let Some(raw) = &b.raw {
            canvas.path(&format!("{class} raw"), &steps(&frame, &span.edges, raw));
        }
        if let Some(max) = b.cell.max() {
            let x = frame.x.at(max as f64);
            canvas.line(&format!("{class} tip"), (x, AREA.bottom), (x, AREA.bottom - 9.0));
        }
    }
    marks(&mut canvas, &frame, cells, span);
    let step = if span.log { "12 %".into() } else { short_latency(span.edges[1]) };
    let x_name = if span.log { "wakeup latency".into() } else { format!("wakeup latency, {}", unit.name) };
    frame.axes(&mut canvas, &x_name, &format!("periods per step of {step}"));
    Chart { svg: canvas.finish(), legend: legend(&mine, &rest, picked), table: table(&mine, &rest, span), note: None }
}

fn bars<'a>(cell: &'a Cell<'a>, span: &Span) -> Option<Bars<'a>> {
    let values = cell.values()?;
    let raw = cell.raw.filter(|_| cell.was_corrected()).map(|raw| counts(raw, &span.edges));
    Some(Bars { cell, all: counts(values, &span.edges), raw })
}

/// Returns the scale of all histograms of a run between these pixels.
pub fn x_scale(span: &Span, px: (f64, f64)) -> Scale {
    let (first, last) = (span.edges[0], span.edges[span.edges.len() - 1]);
    if span.log { Scale::log(first, last, px) } else { Scale::linear(first, last, px) }
}

fn described(name: &str, cells: &[&Cell]) -> String {
    let worst = cells.iter().max_by_key(|c| c.max());
    let worst = worst.map(|c| format!("the largest is {} on CPU {}", nanos(c.max()), c.cpu())).unwrap_or_default();
    format!("Number of periods by wakeup latency under load {name}, logarithmic, one line per CPU; {worst}.")
}

/// Returns a path along the tops of the bars, and along the axis between them.
pub fn steps(frame: &Frame, edges: &[f64], counts: &[u64]) -> String {
    let ground = frame.area.bottom;
    // The page's script finds the edges of a step by its horizontal pixels; an error of half a pixel in its height is
    // invisible.
    let height = |n: u64| px(frame.y.at(n as f64).round());
    let mut d = String::new();
    let mut down = true;
    for (i, &n) in counts.iter().enumerate() {
        if n == 0 {
            if !down {
                d.push_str(&format!("V{}", px(ground)));
            }
            down = true;
            continue;
        }
        if down {
            d.push_str(&format!("M{} {}", px(frame.x.at(edges[i])), px(ground)));
        }
        d.push_str(&format!("V{}H{}", height(n), px(frame.x.at(edges[i + 1]))));
        down = false;
    }
    if !down {
        d.push_str(&format!("V{}", px(ground)));
    }
    d
}

/// Draws steps with their counts for the page's script.
pub fn counted(canvas: &mut Canvas, frame: &Frame, span: &Span, class: &str, name: &str, counts: &[u64]) {
    let figures = counts.iter().filter(|n| **n > 0).map(u64::to_string);
    canvas.steps(class, &steps(frame, &span.edges, counts), name, "", figures);
}

/// Draws the CPUs not drawn individually, as one area: their maximum in each step.
fn draw_rest(canvas: &mut Canvas, frame: &Frame, span: &Span, rest: &[&Bars]) {
    if rest.is_empty() {
        return;
    }
    let most = |i: usize| rest.iter().map(|b| b.all[i]).max().unwrap_or(0);
    let envelope: Vec<u64> = (0..span.edges.len() - 1).map(most).collect();
    canvas.path("rest", &steps(frame, &span.edges, &envelope));
}

fn marks(canvas: &mut Canvas, frame: &Frame, cells: &[&Cell], span: &Span) {
    for (row, limit) in span.limits.iter().enumerate().take(3) {
        frame.mark(canvas, "limit", *limit, row + 1, &format!("limit {}", Nanos(*limit as u64)));
    }
    let worst = cells.iter().max_by_key(|c| (c.max(), std::cmp::Reverse(c.cpu())));
    if let Some((cell, max)) = worst.and_then(|c| Some((c, c.max()?))) {
        frame.mark(canvas, "max", max as f64, 0, &format!("max {}, CPU {}", Nanos(max), cell.cpu()));
    }
}

fn legend(mine: &[&Bars], rest: &[&Bars], picked: &[CpuId]) -> Vec<Key> {
    let key = |b: &&Bars| Key {
        class: colour(colour_of(picked, b.cell.cpu()).unwrap_or(0)),
        text: format!("CPU {}: max {}", b.cell.cpu(), nanos(b.cell.max())),
    };
    let mut keys: Vec<Key> = mine.iter().map(key).collect();
    if !rest.is_empty() {
        let max = rest.iter().filter_map(|b| b.cell.max()).max();
        let text = format!("{} other CPUs combined: max {}", rest.len(), nanos(max));
        keys.push(Key { class: "rest".into(), text });
    }
    if mine.iter().any(|b| b.raw.is_some()) {
        keys.push(Key { class: "dashed".into(), text: "dashed: raw wakeups, without skipped periods".into() });
    }
    keys
}

fn table(mine: &[&Bars], rest: &[&Bars], span: &Span) -> Table {
    let mut head = vec!["from".to_owned(), "to below".to_owned()];
    head.extend(mine.iter().map(|b| format!("CPU {}", b.cell.cpu())));
    if !rest.is_empty() {
        head.push(format!("sum of {} others", rest.len()));
    }
    let row = |i: usize| {
        let mut figures: Vec<u64> = mine.iter().map(|b| b.all[i]).collect();
        if !rest.is_empty() {
            figures.push(rest.iter().fold(0u64, |sum, b| sum.saturating_add(b.all[i])));
        }
        if figures.iter().all(|n| *n == 0) {
            return None;
        }
        let edge = |n: usize| Nanos(span.edges[n].round() as u64).to_string();
        Some([edge(i), edge(i + 1)].into_iter().chain(figures.into_iter().map(count)).collect())
    };
    Table { head, rows: (0..span.edges.len() - 1).filter_map(row).collect() }
}
