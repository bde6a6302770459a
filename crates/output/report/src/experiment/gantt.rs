use super::seconds;
use crate::clean::line;
use crate::svg::axis::{Scale, Unit, plain};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::form::{Form, both};
use crate::svg::{Chart, Key, Table, colour};
use punctual_model::{Doing, Experiment, Repetition};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 150.0;
const TOP: f64 = 16.0;
const LANE: f64 = 46.0;
const BAR: f64 = 22.0;
/// Maximum number of spans drawn; recordings of this program contain fewer.
const SPANS: usize = 20_000;

/// Draws a lane per thread: its activity, and the prediction below.
pub fn chart(id: &str, experiment: &Experiment, repetition: &Repetition) -> Chart {
    let ends = repetition.threads.iter().map(|ran| ran.released_ns.0.saturating_add(ran.elapsed_ns.0));
    let predicted =
        experiment.threads.iter().filter_map(|t| Some(t.offset_ns.0.saturating_add(t.predicted.ends_ns?.0)));
    let end = ends.chain(predicted).max().unwrap_or(1).max(1) as f64;
    let svg = both(|form| drawing(&form.id(id), form, experiment, repetition, end));
    Chart { svg, legend: legend(experiment, repetition), table: table(experiment, repetition), note: None }
}

fn drawing(id: &str, form: Form, experiment: &Experiment, repetition: &Repetition, end: f64) -> String {
    let x = Scale::linear(0.0, end * 1.01, (LEFT, form.width(WIDTH) - 15.0));
    let bottom = TOP + LANE * experiment.threads.len() as f64;
    let title = format!("CPU time by thread in {}", experiment.name);
    let described = "A lane for each thread: filled where it ran, pale where it was runnable and waited; the thin line under it is the time \
                     predicted from its release to its end.";
    let mut canvas = Canvas::new(id, (form.width(WIDTH), bottom + 48.0), &title, described);
    canvas.narrowest = 0.3;
    axis(&mut canvas, &x, end, bottom);
    names(&mut canvas, experiment);
    canvas.open("z");
    predicted(&mut canvas, &x, experiment);
    for span in repetition.spans.iter().take(SPANS).filter(|span| span.doing != Doing::Sleeps) {
        let (class, word) = look(span.thread, span.doing);
        let (from, to) = (x.at(span.from_ns.0 as f64), x.at(span.to_ns.0 as f64));
        let place = span.cpu.map_or_else(String::new, |cpu| format!(" CPU {cpu}"));
        let tip = format!("{word}{place}, {} s to {} s", seconds(Some(span.from_ns)), seconds(Some(span.to_ns)));
        let at = (from, TOP + LANE * span.thread as f64);
        canvas.tipped_rect(&class, at, (to - from, BAR), Some(&tip));
    }
    for held in repetition.held.iter().take(SPANS) {
        let at = x.at(held.from_ns.0 as f64);
        canvas.line("event", (at, TOP), (at, bottom));
    }
    canvas.close();
    canvas.finish()
}

fn axis(canvas: &mut Canvas, x: &Scale, end: f64, bottom: f64) {
    let unit = Unit::for_latency(end);
    let (left, right) = x.pixels();
    let scale = Scale::linear(0.0, x.ends().1 / unit.ns, (left, right));
    canvas.axis_x(x, "ns");
    canvas.open("xt");
    let ticks = scale.ticks(((right - left) / 80.0) as usize).into_iter().map(|tick| (scale.at(tick), plain(tick)));
    canvas.ticks_x("grid", &ticks.collect::<Vec<_>>(), (TOP, bottom), bottom + 19.0);
    canvas.close();
    canvas.line("axis", (left, bottom), (right, bottom));
    canvas.text(
        "name",
        ((left + right) / 2.0, bottom + 42.0),
        Anchor::Middle,
        &format!("since the start, {}", unit.name),
    );
}

fn names(canvas: &mut Canvas, experiment: &Experiment) {
    for (n, thread) in experiment.threads.iter().enumerate() {
        let y = TOP + LANE * n as f64;
        canvas.text("strong", (LEFT - 10.0, y + 11.0), Anchor::End, &thread.name);
        canvas.text("tick", (LEFT - 10.0, y + 26.0), Anchor::End, &thread.scheduling.to_string());
    }
}

fn predicted(canvas: &mut Canvas, x: &Scale, experiment: &Experiment) {
    for (n, thread) in experiment.threads.iter().enumerate() {
        let y = TOP + LANE * n as f64;
        let Some(ends) = thread.predicted.ends_ns else { continue };
        let from = x.at(thread.offset_ns.0 as f64);
        let to = x.at(thread.offset_ns.0.saturating_add(ends.0) as f64);
        let tip = format!("predicted: ends after {} s", seconds(Some(ends)));
        canvas.tipped_rect("rest", (from, y + BAR + 3.0), (to - from, 4.0), Some(&tip));
    }
}

fn look(thread: usize, doing: Doing) -> (String, &'static str) {
    let k = colour(thread);
    match doing {
        Doing::Runs => (format!("{k} cause"), "runs"),
        Doing::Shares => (format!("{k} cause faint"), "shares"),
        Doing::Waits | Doing::Sleeps => ("wants".into(), "waits"),
    }
}

fn legend(experiment: &Experiment, repetition: &Repetition) -> Vec<Key> {
    let key = |class: &str, text: String| Key { class: class.into(), text };
    let mut keys: Vec<Key> = (0..experiment.threads.len())
        .map(|n| key(&format!("block {}", colour(n)), format!("{} runs", line(&experiment.threads[n].name))))
        .collect();
    if repetition.spans.iter().any(|span| span.doing == Doing::Shares) {
        keys.push(key("block k0 faint", "pale in a thread's colour: turns too short to draw".into()));
    }
    if repetition.spans.iter().any(|span| span.doing == Doing::Waits) {
        keys.push(key("block wants", "waits for a CPU".into()));
    }
    keys.push(key("rest", "predicted".into()));
    if !repetition.held.is_empty() {
        keys.push(key("dashed", "a real-time thread is throttled".into()));
    }
    keys
}

fn table(experiment: &Experiment, repetition: &Repetition) -> Table {
    let head = ["thread", "does", "CPU", "from, s", "to, s"].map(String::from).to_vec();
    let name = |n: usize| experiment.threads.get(n).map_or_else(String::new, |thread| thread.name.clone());
    let word = |doing| match doing {
        Doing::Sleeps => "sleeps",
        other => look(0, other).1,
    };
    let row = |span: &punctual_model::GanttSpan| {
        let cpu = span.cpu.map_or_else(|| "–".into(), |cpu| cpu.to_string());
        vec![name(span.thread), word(span.doing).into(), cpu, seconds(Some(span.from_ns)), seconds(Some(span.to_ns))]
    };
    Table { head, rows: repetition.spans.iter().take(2_000).map(row).collect() }
}
