use super::data::History;
use super::panel::Panel;
use crate::clean;
use crate::figures::Figures;
use crate::svg::axis::Scale;
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::colour;
use crate::svg::series::colour_of;
use crate::words;
use punctual_model::Event;
use punctual_units::{Arrange, CpuId, Nanos};

const WORST_MARKED: usize = 10;
const EVENTS_MARKED: usize = 12;
/// Approximate width of a character of a tick label, px.
const CHARACTER: f64 = 7.5;

/// Shades every other phase, with its name on top if it fits.
pub fn phases(canvas: &mut Canvas, figures: &Figures, x: &Scale, (top, bottom): (f64, f64)) {
    let stretches = figures.recording.run.phases.iter().flat_map(|p| p.stretches().into_iter().map(move |s| (p, s)));
    let mut stretches: Vec<_> = stretches.collect();
    stretches.arrange_by_key(|(_, (from, _))| *from);
    // All quantities of an application have the same stretches.
    stretches.dedup_by_key(|(phase, stretch)| (*stretch, phase.value.is_some()));
    for (n, (phase, (from, to))) in stretches.into_iter().enumerate() {
        let from = x.at(from as f64);
        let to = to.map_or(x.pixels().1, |end| x.at(end as f64));
        if n % 2 == 0 {
            canvas.rect("shade", (from, top), (to - from, bottom - top));
        }
        let name = match phase.value {
            None => words::phase_name(figures.recording, &phase.id),
            Some(_) => words::load_name(&phase.load),
        };
        let name = clean::line(&name);
        let fits = ((to - from) / CHARACTER) as usize;
        if fits >= 3 {
            canvas.text("phase", ((from + to) / 2.0, top - 9.0), Anchor::Middle, &clean::clip(&name, fits));
        }
    }
}

pub fn limits(canvas: &mut Canvas, panel: &Panel, limits: &[f64]) {
    for limit in limits.iter().filter(|l| panel.scale.holds(**l)) {
        let y = panel.scale.at(*limit);
        let (left, right) = (panel.area.left, panel.area.right);
        canvas.line("limit", (left, y), (right, y));
        let text = format!("limit {}", Nanos(*limit as u64));
        canvas.text("limit-label", (left + 6.0, y - 5.0), Anchor::Start, &text);
    }
}

pub fn worst(
    canvas: &mut Canvas,
    (figures, history): (&Figures, &History),
    picked: &[CpuId],
    panel: &Panel,
    x: &Scale,
) {
    let value = |id: &str| figures.recording.run.phases.iter().find(|phase| phase.id == id)?.value.as_ref();
    let drawn = figures.recording.worst.iter().filter(|worst| value(&worst.phase) == history.value.as_ref());
    for (n, worst) in drawn.take(WORST_MARKED).enumerate() {
        let at = (x.at(worst.release_mono_ns as f64), panel.scale.at(worst.latency_ns as f64));
        let class = colour_of(picked, worst.cpu).map_or_else(|| "rest-ring".into(), |n| format!("{} ring", colour(n)));
        let place = words::place(figures.recording, &worst.phase, worst.cpu);
        canvas.dot(&class, at, 4.5, &format!("{}. {} late, {place}", n + 1, Nanos(worst.latency_ns)));
    }
}

/// Draws events as vertical lines, labelled in a row if there is room.
pub fn events(canvas: &mut Canvas, figures: &Figures, x: &Scale, (top, bottom, row): (f64, f64, f64)) {
    let (mut free_from, end) = x.pixels();
    for (mono_ns, label) in labelled(figures) {
        let at = x.at(mono_ns as f64);
        canvas.line("event", (at, top), (at, bottom));
        let width = CHARACTER * label.chars().count() as f64;
        if at >= free_from && at + width < end {
            canvas.text("event-label", (at + 4.0, row), Anchor::Start, &label);
            free_from = at + width + 8.0;
        }
    }
}

/// Reports the events as a sentence; `start` is the beginning of the time axis.
pub fn events_reported(figures: &Figures, start: u64) -> Option<String> {
    let one = |(t, label): (u64, String)| format!("{label} at {}", Nanos(t.saturating_sub(start)));
    let all: Vec<String> = labelled(figures).map(one).collect();
    (!all.is_empty()).then(|| words::stopped(&words::capital(&words::and(&all))))
}

fn labelled(figures: &Figures) -> impl Iterator<Item = (u64, String)> {
    let all = figures.recording.events.iter().filter_map(|e| Some((e.mono_ns(), label(e)?)));
    all.take(EVENTS_MARKED)
}

fn label(event: &Event) -> Option<String> {
    Some(match event {
        Event::ClockStep { step_ns, .. } => {
            let sign = if *step_ns < 0 { "−" } else { "+" };
            format!("wall clock set {sign}{}", Nanos(step_ns.unsigned_abs()))
        }
        Event::Suspend { asleep_ns, .. } => format!("suspended for {}", Nanos(*asleep_ns)),
        Event::CpuLost { cpu, .. } => format!("CPU {cpu} lost"),
        Event::Signal { number, .. } => format!("signal {number}"),
        Event::Mark { number, .. } => format!("mark {number}"),
        Event::EndedEarly { .. } => "ended early by the user".into(),
        _ => return None,
    })
}
