//! Draws the run over time: the worst wakeup of every second, and below it, on the same time axis, temperature,
//! frequency and steal time.

mod data;
mod marks;
mod maxima;
mod panel;

use super::axis::{Scale, Unit, nice_above, nice_below, plain, short_latency};
use super::canvas::{Anchor, Canvas};
use super::form::{Form, both};
use super::frame::Area;
use super::series::{Series, colour_of};
use super::{Chart, Key, Table, colour};
use crate::figures::Figures;
use crate::number::nanos;
use crate::words::claims::limit;
use data::History;
pub use maxima::chart as maxima;
use panel::Panel;
use punctual_model::AppValue;
use punctual_units::{CpuId, Nanos};

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 78.0;
const TOP: f64 = 26.0;
const GAP: f64 = 16.0;
const LATENCY_HEIGHT: f64 = 240.0;
const SMALL_HEIGHT: f64 = 92.0;

/// Draws the chart; `None` if nothing was recorded over time. `limits` are the claimed limits, ns.
pub fn chart(id: &str, figures: &Figures, picked: &[CpuId], limits: &[f64]) -> Option<Chart> {
    let history = History::of(figures, picked)?;
    let own: Vec<f64>;
    let limits = match &history.value {
        None => limits,
        Some(value) => {
            let claims = figures.verdict.claims.iter().map(|judged| &judged.claim);
            let claims = claims.filter(|claim| claim.of.as_ref() == Some(value));
            own = claims.filter_map(limit).map(|limit| limit.0 as f64).collect();
            &own
        }
    };
    let svg = both(|form| drawing(&form.id(id), form, (figures, &history), picked, limits));
    let frequency =
        "Frequency is read between phases only, because reading the frequency of another CPU disturbs that CPU."
            .to_owned();
    let reported = marks::events_reported(figures, history.from);
    let notes: Vec<String> = reported.into_iter().chain((!history.frequency.is_empty()).then_some(frequency)).collect();
    let note = (!notes.is_empty()).then(|| notes.join(" "));
    Some(Chart { svg, legend: legend(&history, picked), table: table(&history), note })
}

fn drawing(id: &str, form: Form, (figures, history): (&Figures, &History), picked: &[CpuId], limits: &[f64]) -> String {
    let x = x_scale(history, form);
    let panels = panels(history, picked, x.pixels().1);
    let bottom = panels.last().map_or(TOP, |p| p.area.bottom);
    let description = "Top: the worst wakeup latency of every interval, one line per CPU, with the worst wakeups of the \
                       run as circles. Below, on the same time axis: what is known of the machine.";
    let size = (form.width(WIDTH), bottom + 50.0);
    let mut canvas = Canvas::new(id, size, "Worst wakeups, and the state of the machine, over time", description);
    time_axis(&mut canvas, &x, bottom);
    panels.iter().for_each(|panel| panel.grid(&mut canvas));
    canvas.open("z");
    marks::phases(&mut canvas, figures, &x, (TOP, bottom));
    for (n, panel) in panels.iter().enumerate() {
        panel.draw(&mut canvas, history, &x);
        if n == 0 {
            marks::limits(&mut canvas, panel, limits);
            marks::worst(&mut canvas, (figures, history), picked, panel, &x);
        }
    }
    // Event labels are drawn between the top panel and the next one.
    let row = panels.first().filter(|_| panels.len() > 1).map_or(TOP + 14.0, |p| p.area.bottom + 12.5);
    marks::events(&mut canvas, figures, &x, (TOP, bottom, row));
    canvas.close();
    panels.iter().for_each(|panel| panel.axes(&mut canvas));
    canvas.finish()
}

fn x_scale(history: &History, form: Form) -> Scale {
    Scale::linear(history.from as f64, history.to as f64, (LEFT, form.width(WIDTH) - 12.0))
}

fn panels<'a>(history: &'a History, picked: &[CpuId], right: f64) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel> = Vec::new();
    let mut add = |height: f64, name: &str, lines: Vec<(String, String, &'a Series)>, log: bool, zero: bool| {
        let top = panels.last().map_or(TOP, |p: &Panel| p.area.bottom + GAP);
        let area = Area { left: LEFT, top, right, bottom: top + height };
        let (least, most) = range(&lines);
        let px = (area.bottom, area.top);
        let scale = match log {
            true => Scale::log(nice_below(least), nice_above(most * 1.05), px),
            false if zero => Scale::linear(0.0, most * 1.1, px),
            false => Scale::linear((least - 2.0).floor(), (most + 2.0).ceil(), px),
        };
        panels.push(Panel { name: name.to_owned(), is_latency: panels.is_empty(), area, scale, lines });
    };
    let (least, most) = range(&history.latency_lines(picked));
    add(LATENCY_HEIGHT, &history.name(), history.latency_lines(picked), most / least.max(1.0) > 25.0, true);
    let sensors: Vec<_> =
        history.temperature.iter().enumerate().map(|(n, (name, s))| (format!("s{n}"), name.clone(), s)).collect();
    if !sensors.is_empty() {
        add(SMALL_HEIGHT, "°C", sensors, false, false);
    }
    let frequency: Vec<_> =
        history.frequency.iter().map(|(n, s)| (format!("{} dots", colour(*n)), String::new(), s)).collect();
    if !frequency.is_empty() {
        add(SMALL_HEIGHT, "GHz", frequency, false, true);
    }
    if history.steal.max().is_some_and(|m| m > 0.0) {
        add(SMALL_HEIGHT, "steal, %", vec![("s0".to_owned(), "steal".to_owned(), &history.steal)], false, true);
    }
    panels
}

fn range(lines: &[(String, String, &Series)]) -> (f64, f64) {
    let least = lines.iter().filter_map(|(.., s)| s.min()).fold(f64::MAX, f64::min);
    let most = lines.iter().filter_map(|(.., s)| s.max()).fold(0.0, f64::max);
    (if least == f64::MAX { 0.0 } else { least }, most)
}

fn time_axis(canvas: &mut Canvas, x: &Scale, bottom: f64) {
    let (from, to) = x.ends();
    let (left, right) = x.pixels();
    let unit = Unit::for_run(to - from);
    canvas.axis_x(&Scale::linear(0.0, to - from, (left, right)), "ns");
    let length = Scale::linear(0.0, (to - from) / unit.ns, (left, right));
    canvas.open("xt");
    let ticks = length.ticks(((right - left) / 80.0) as usize).into_iter().map(|tick| (length.at(tick), plain(tick)));
    canvas.ticks_x("axis", &ticks.collect::<Vec<_>>(), (bottom, bottom + 5.0), bottom + 19.0);
    canvas.close();
    let name = format!("since the first recorded release, {}", unit.name);
    canvas.text("name", ((left + right) / 2.0, bottom + 42.0), Anchor::Middle, &name);
}

fn legend(history: &History, picked: &[CpuId]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    let of = |cpu| history.value.as_ref().map_or_else(|| format!("CPU {cpu}"), AppValue::to_string);
    for (cpu, slots) in &history.latency {
        if let Some(n) = colour_of(picked, *cpu) {
            let max = slots.max().map(|m| m as u64);
            keys.push(Key { class: colour(n), text: format!("{}: max {}", of(*cpu), nanos(max)) });
        }
    }
    if let Some(max) = history.rest.max() {
        let text = format!("other CPUs combined: max {}", Nanos(max as u64));
        keys.push(Key { class: "rest-line".into(), text });
    }
    let sensor = |(n, (name, slots)): (usize, &(String, Series))| {
        let (least, most) = (slots.min().unwrap_or(0.0), slots.max().unwrap_or(0.0));
        Key { class: format!("s{n}"), text: format!("{name}: {least:.1} – {most:.1} °C") }
    };
    keys.extend(history.temperature.iter().enumerate().map(sensor));
    keys
}

fn table(history: &History) -> Table {
    let mut head = vec!["since start".to_owned(), history.name()];
    head.extend(history.temperature.first().map(|(name, _)| format!("{name}, °C")));
    let coarse = |all: &mut dyn Iterator<Item = (u64, u64, f64)>| {
        let mut slots = Series::slots(history.from, history.to, 60);
        all.for_each(|(start, end, figure)| slots.add(start, end, figure));
        slots.spans()
    };
    let lines = || history.latency.iter().map(|(_, s)| s).chain([&history.rest]);
    let worst = coarse(&mut lines().flat_map(Series::spans));
    let warm = history.temperature.first().map(|(_, s)| coarse(&mut s.spans().into_iter()));
    let row = |(start, _, max): &(u64, u64, f64)| {
        let mut row = vec![Nanos(start - history.from).to_string(), Nanos(*max as u64).to_string()];
        if let Some(warm) = &warm {
            let at = warm.iter().find(|(at, ..)| at == start);
            row.push(at.map_or_else(|| "–".into(), |(.., v)| format!("{v:.1}")));
        }
        row
    };
    Table { head, rows: worst.iter().map(row).collect() }
}

fn latency_label(ns: f64) -> String {
    if ns == 0.0 { "0".into() } else { short_latency(ns) }
}
