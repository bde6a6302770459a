use super::words;
use crate::html::document;
use crate::html::write::{details, esc, figure, list, table};
use crate::svg::axis::{Scale, plain};
use crate::svg::canvas::Canvas;
use crate::svg::frame::{AREA, Frame, SIZE};
use crate::svg::{Chart, Key, Table, colour};
use punctual_model::{Bench, BenchDistribution, Series};

/// Formats a benchmark as a self-contained HTML file with its script: findings, a chart of all repetitions, figures,
/// limits.
pub fn bench_html(bench: &Bench) -> String {
    let title = words::title(bench).replace('`', "");
    let parts = [
        ("figures", "Figures", figures(&words::HEAD, words::rows(bench))),
        ("repetitions", "Every repetition", charts(bench)),
        ("times", "Times of single steps", figures(&words::TIMES, words::times(bench)) + &bins(bench)),
        ("conditions", "State of the machine", list("", &words::conditions(bench))),
        ("notes", "Notes on the figures", list("", &words::notes(bench))),
        ("limits", "Not measured", list("", &bench.plan.not_measured)),
    ];
    let warnings = list("warnings", &words::warnings(bench));
    let front = format!("<header><p class=\"what\">Benchmark</p><h1>{}</h1>{warnings}</header>\n", esc(&title));
    document(&title, &front, &parts.map(|(id, title, content)| (id, title.to_owned(), content)), "")
}

fn figures(head: &[&str; 7], rows: Vec<[String; 7]>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rows = rows.into_iter().map(|row| row.to_vec()).collect();
    table(&Table { head: head.iter().map(ToString::to_string).collect(), rows })
}

fn charts(bench: &Bench) -> String {
    let drawn = bench.series.iter().enumerate().filter_map(|(n, series)| {
        let caption = format!("{}: {}", series.of, series.name);
        chart(n, series).map(|chart| figure(&chart, &caption, "As a table"))
    });
    let all: String = drawn.collect();
    if all.is_empty() { all } else { format!("<div class=\"pair\">{all}</div>") }
}

fn chart(n: usize, series: &Series) -> Option<Chart> {
    let (low, high) =
        (series.points.iter().copied().min_by(f64::total_cmp)?, series.points.iter().copied().max_by(f64::total_cmp)?);
    let room = ((high - low) * 0.05).max(high.abs() * 0.01);
    let (scale, unit) = scaled(&series.unit, high);
    let frame = Frame {
        area: AREA,
        x: Scale::linear(0.0, series.points.len() as f64 + 1.0, (AREA.left, AREA.right)),
        y: Scale::linear((low - room) / scale, (high + room) / scale, (AREA.bottom, AREA.top)),
    };
    let title = format!("{} of {}, by repetition", series.name, series.of);
    let description =
        format!("One dot per repetition, in chronological order; the vertical axis is the value in {unit}.");
    let mut canvas = Canvas::new(&format!("b{n}"), SIZE, &title, &description);
    frame.grid(&mut canvas, "", plain, plain);
    for (index, value) in series.points.iter().enumerate() {
        let tip = format!("{}: {:.4} {unit}", index + 1, value / scale);
        let at = (frame.x.at(index as f64 + 1.0), frame.y.at(value / scale));
        canvas.dot(&format!("{} end", colour(0)), at, 3.0, &tip);
    }
    frame.axes(&mut canvas, "repetition", &format!("{}, {unit}", series.name));
    let rows = series.points.iter().enumerate().map(|(n, v)| vec![(n + 1).to_string(), format!("{:.4}", v / scale)]);
    let head = vec!["repetition".into(), format!("{}, {unit}", series.name)];
    let legend = vec![Key { class: colour(0), text: "one repetition".into() }];
    Some(Chart { svg: canvas.finish(), legend, table: Table { head, rows: rows.collect() }, note: None })
}

fn scaled(unit: &str, high: f64) -> (f64, String) {
    match unit {
        "ns" => {
            let unit = crate::svg::axis::Unit::for_latency(high);
            (unit.ns, unit.name.into())
        }
        other => (1.0, other.into()),
    }
}

fn bins(bench: &Bench) -> String {
    let one = |d: &BenchDistribution| {
        let rows = d.histogram.bins().map(|b| vec![b.low.to_string(), b.high.to_string(), b.count.to_string()]);
        let head = ["from, ns", "to, ns", "count"].map(String::from).to_vec();
        details(&format!("{}: {}, all bins", d.of, d.name), &table(&Table { head, rows: rows.collect() }))
    };
    bench.distributions.iter().map(one).collect()
}
