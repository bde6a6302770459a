//! Draws the histograms of all loads and CPUs on one pair of axes, the number of periods on a logarithmic vertical
//! axis, as in the latency plots of OSADL's farm (osadl.org, "Latency plots").

use super::axis::{Scale, Unit, plain, short_count, short_latency};
use super::canvas::Canvas;
use super::form::{Form, both};
use super::frame::Frame;
use super::histogram::{counted, x_scale};
use super::series::{Span, counts};
use super::{Chart, Key, Table, colour};
use crate::clean;
use crate::figures::Figures;
use crate::number::nanos;
use crate::words;
use punctual_model::Phase;
use punctual_units::{CpuId, Nanos};

const BROAD: f64 = 780.0;

/// The periods of a load on a CPU, or the maximum over its CPUs if there are too many.
struct Line {
    class: String,
    name: String,
    counts: Vec<u64>,
}

/// Draws the chart; `None` without histograms. Colours distinguish the loads or, if there is only one load, the CPUs.
pub fn chart(id: &str, figures: &Figures) -> Option<Chart> {
    let span = &Span::of_releases(figures)?;
    let lines = lines(figures, span);
    let highest = lines.iter().flat_map(|line| &line.counts).copied().max().filter(|n| *n > 0)?;
    let worst =
        figures.cells.iter().filter(|c| c.phase.is_of_releases()).max_by_key(|c| (c.max(), std::cmp::Reverse(c.cpu())));
    let worst = worst.and_then(|c| Some((c.max()?, words::place(figures.recording, &c.phase.id, c.cpu()))));
    let said = worst.as_ref().map(|(max, place)| format!("; the largest is {} ({place})", Nanos(*max)));
    let described = format!(
        "Number of periods by wakeup latency, logarithmic, one line for each load and CPU{}.",
        said.unwrap_or_default().replace('`', "")
    );
    let draw = |form: Form| {
        let (size, area) = form.framed(BROAD);
        let x = x_scale(span, (area.left, area.right));
        let frame = Frame { area, x, y: Scale::log(0.7, highest.max(10) as f64 * 2.2, (area.bottom, area.top)) };
        let mut canvas = Canvas::new(&form.id(id), size, "Wakeup latency under all loads", &described);
        let unit = Unit::for_latency(x.ends().1);
        let x_label = |v: f64| if span.log { short_latency(v) } else { plain(v / unit.ns) };
        frame.grid(&mut canvas, "ns", x_label, short_count);
        span.steps_x(&mut canvas);
        for line in &lines {
            counted(&mut canvas, &frame, span, &format!("{} bars faint", line.class), &line.name, &line.counts);
        }
        for (row, limit) in span.limits.iter().enumerate().take(3) {
            frame.mark(&mut canvas, "limit", *limit, row + 1, &format!("limit {}", Nanos(*limit as u64)));
        }
        if let Some((max, _)) = &worst {
            frame.mark(&mut canvas, "max", *max as f64, 0, &format!("max {}", Nanos(*max)));
        }
        let step = if span.log { "12 %".into() } else { short_latency(span.edges[1]) };
        let name = words::quantity(figures.recording);
        let x_name = if span.log { name.to_owned() } else { format!("{name}, {}", unit.name) };
        frame.axes(&mut canvas, &x_name, &format!("periods per step of {step}"));
        canvas.finish()
    };
    Some(Chart { svg: both(draw), legend: legend(figures), table: Table::default(), note: None })
}

/// Returns the phases to draw; of an application, only those with response times.
fn shown<'a>(figures: &Figures<'a>) -> impl Iterator<Item = &'a Phase> {
    figures.recording.run.phases.iter().filter(|phase| phase.is_of_releases())
}

fn is_one_load(figures: &Figures) -> bool {
    shown(figures).count() <= 1
}

fn lines(figures: &Figures, span: &Span) -> Vec<Line> {
    let mut all = Vec::new();
    for (n, phase) in shown(figures).enumerate() {
        let load = clean::line(&words::phase_name(figures.recording, &phase.id));
        let cells = figures.of_phase(phase);
        let with = cells.iter().filter_map(|c| Some((c.cpu(), counts(c.values()?, &span.edges))));
        if figures.is_crowded() {
            let most = with.map(|(_, counts)| counts).reduce(|a, b| a.iter().zip(&b).map(|(a, b)| *a.max(b)).collect());
            let name = format!("{load}, maximum over all CPUs");
            all.extend(most.map(|counts| Line { class: colour(n), name, counts }));
            continue;
        }
        all.extend(with.map(|(cpu, counts)| Line {
            class: match is_one_load(figures) {
                true => colour(index(&figures.picked(), cpu)),
                false => format!("{} c{cpu}", colour(n)),
            },
            name: format!("{load}, CPU {cpu}"),
            counts,
        }));
    }
    all
}

fn index(picked: &[CpuId], cpu: CpuId) -> usize {
    picked.iter().position(|one| *one == cpu).unwrap_or(0)
}

/// Lists the loads by colour, then the CPUs, by which the page's script hides lines.
fn legend(figures: &Figures) -> Vec<Key> {
    let most = |cells: &mut dyn Iterator<Item = Option<u64>>| nanos(cells.flatten().max());
    let phases = shown(figures).enumerate();
    let mut keys: Vec<Key> = phases
        .map(|(n, phase)| {
            let max = most(&mut figures.of_phase(phase).iter().map(|c| c.max()));
            let name = words::phase_name(figures.recording, &phase.id);
            Key { class: colour(n), text: format!("{name}: max {max}") }
        })
        .collect();
    let cpus = figures.picked();
    if is_one_load(figures) {
        keys.clear();
    }
    if cpus.len() > 1 && !figures.is_crowded() || keys.is_empty() {
        keys.extend(cpus.iter().enumerate().map(|(n, cpu)| {
            let max = most(&mut figures.cells.iter().filter(|c| c.cpu() == *cpu).map(|c| c.max()));
            let class = if is_one_load(figures) { colour(n) } else { format!("c{cpu}") };
            Key { class, text: format!("CPU {cpu}: max {max}") }
        }));
    }
    keys
}
