//! Draws the timeline of a late wakeup: a lane for the thread and one per CPU; interrupts are drawn on top of what they
//! interrupt.

mod bars;
mod marks;
mod strip;
mod table;

use super::axis::{Scale, Unit, plain};
use super::canvas::{Anchor, Canvas};
use super::form::{Form, both};
use super::{Chart, Key};
use crate::why::main_cause;
use crate::words::causes;
use bars::Bars;
use punctual_model::{Class, Span, SpanKind, Timeline, Victim};
use punctual_units::Nanos;

const WIDE: f64 = 1000.0;
const NARROW: f64 = 440.0;
const LEFT: f64 = 84.0;
const MARGIN: f64 = 10.0;
/// Width of a character if the page shows the chart in large letters (print, small screens), px.
const CHARACTER: f64 = 9.6;
/// Maximum number of CPUs drawn.
const LANES: usize = 8;
const SPANS: usize = 1_000;

/// Returns the colour class of a cause, the same in all charts.
pub fn colour(class: Class) -> &'static str {
    match class {
        Class::HigherPriority => "k1",
        Class::SamePriority => "k1 faint",
        Class::PriorityInversion => "k2",
        Class::FairServer => "k3",
        Class::RtThrottling => "k3 faint",
        Class::DeadlineBudget => "k3",
        Class::IdleExit => "k4",
        Class::Migration => "k4 faint",
        Class::Irq => "k0",
        Class::Softirq => "k5",
        Class::IrqsDisabled => "k6",
        Class::PreemptionDisabled => "k6 faint",
        Class::Steal => "k7",
        Class::MachineStall => "k7 faint",
        Class::ReturnToUser => "k5 faint",
        Class::Waker => "k2 faint",
        Class::BeforeWaker => "k1",
        Class::Unaccounted => "none",
    }
}

struct View<'a> {
    victim: &'a Victim,
    timeline: &'a Timeline,
    x: Scale,
    right: f64,
    ticks: usize,
}

impl<'a> View<'a> {
    fn new(victim: &'a Victim, timeline: &'a Timeline, width: f64, ticks: usize) -> View<'a> {
        let since = |t: u64| (i128::from(t) - i128::from(timeline.moments.t0_ns)) as f64;
        let right = width - MARGIN;
        let x = Scale::linear(since(timeline.start_ns), since(timeline.end_ns), (LEFT, right));
        View { victim, timeline, x, right, ticks }
    }

    fn since(&self, t: u64) -> f64 {
        (i128::from(t) - i128::from(self.timeline.moments.t0_ns)) as f64
    }

    fn at(&self, t: u64) -> f64 {
        self.x.at(self.since(t))
    }

    /// Returns true if the span is the cause that the sentence names.
    fn is_main(&self, span: &Span) -> bool {
        main_cause(self.victim)
            .is_some_and(|main| span.cause == Some(main.class) && main.tid.is_none_or(|tid| span.tid == Some(tid)))
    }

    /// Returns true if a cause of the delay names this span's thread, or if the span has no cause.
    fn blames(&self, span: &Span) -> bool {
        let causes = &self.victim.causes;
        span.cause.is_none_or(|class| causes.iter().any(|c| c.class == class && c.tid.is_some() && c.tid == span.tid))
    }
}

/// Draws the timeline; `id` must be unique in the page. The chart is drawn twice, for wide and for narrow screens; the
/// page shows one.
pub fn chart(id: &str, victim: &Victim, timeline: &Timeline) -> Chart {
    let wide = View::new(victim, timeline, WIDE, 8);
    let narrow = View::new(victim, timeline, NARROW, 4);
    let svg = both(|form| drawing(&form.id(id), if form == Form::Broad { &wide } else { &narrow }));
    let notes = causes::picture_notes(timeline);
    let note = (!notes.is_empty()).then(|| notes.join(" "));
    Chart { svg, legend: legend(&wide), table: table::of(&wide), note }
}

fn drawing(id: &str, view: &View) -> String {
    let marks = marks::Marks::new(view);
    let mut bars = Bars::new(view, marks::BOTTOM);
    bars.states();
    view.timeline.lanes.iter().take(LANES).for_each(|lane| bars.lane(lane));
    let drawn = bars.finish();
    let bottom = drawn.bottom;
    let title = format!("Timeline of a wakeup of {}", causes::victim(view.victim));
    let described = causes::described(view.victim, view.timeline);
    let magnified = strip::Strip::new(view);
    let height = bottom + 46.0 + magnified.as_ref().map_or(0.0, |_| strip::HEIGHT);
    let mut canvas = Canvas::new(id, (view.right + MARGIN, height), &title, &described);
    canvas.axis_x(&view.x, "ns");
    time_axis(&mut canvas, view, bottom);
    canvas.add(&drawn.names);
    canvas.open("z");
    marks.shade(&mut canvas, bottom);
    canvas.add(&drawn.bars);
    marks.draw(&mut canvas, bottom);
    canvas.add(&drawn.texts);
    canvas.close();
    if let Some(strip) = magnified {
        strip.draw(&mut canvas, view, bottom + 46.0);
    }
    canvas.finish()
}

fn time_axis(canvas: &mut Canvas, view: &View, bottom: f64) {
    let (from, to) = view.x.ends();
    let unit = Unit::for_latency(to - from);
    let scale = Scale::linear(from / unit.ns, to / unit.ns, (LEFT, view.right));
    canvas.line("axis", (LEFT, bottom), (view.right, bottom));
    canvas.open("xt");
    let ticks = scale.ticks(view.ticks).into_iter().map(|tick| (scale.at(tick), plain(tick)));
    canvas.ticks_x("axis", &ticks.collect::<Vec<_>>(), (bottom, bottom + 5.0), bottom + 19.0);
    canvas.close();
    let name = format!("since T0, {}", unit.name);
    canvas.text("name", ((LEFT + view.right) / 2.0, bottom + 40.0), Anchor::Middle, &name);
}

fn legend(view: &View) -> Vec<Key> {
    let mut keys: Vec<Key> = causes::moments(view.timeline)
        .into_iter()
        .map(|(name, at, what)| {
            let after = Nanos(at.saturating_sub(view.timeline.moments.t0_ns));
            let after = if name == "T0" { String::new() } else { format!(", +{after}") };
            Key { class: "dashed".into(), text: format!("{name} {what}{after}") }
        })
        .collect();
    let mut classes: Vec<(Class, u64)> = Vec::new();
    for cause in &view.victim.causes {
        match classes.iter_mut().find(|(class, _)| *class == cause.class) {
            Some(known) => known.1 = known.1.saturating_add(cause.ns),
            None => classes.push((cause.class, cause.ns)),
        }
    }
    keys.extend(classes.into_iter().map(|(class, ns)| Key {
        class: format!("block {}", colour(class)),
        text: format!("{}: {}", causes::class(class), Nanos(ns)),
    }));
    keys.push(Key { class: "block own".into(), text: "the late thread".into() });
    keys.push(Key { class: "block wants".into(), text: "it waits for a CPU".into() });
    let spans = || view.timeline.lanes.iter().take(LANES).flat_map(|lane| &lane.spans).take(LANES * SPANS);
    let others = [
        (SpanKind::Task, "block other", "other threads"),
        (SpanKind::Irq, "block k0 pale", "interrupts, on top"),
        (SpanKind::Softirq, "block k5 pale", "softirqs, on top"),
        (SpanKind::Unknown, "block none", "not traced"),
    ];
    for (kind, class, text) in others {
        let occurs = |span: &Span| span.kind == kind && span.cause.is_none() && span.tid != view.victim.tid;
        if spans().any(|span| occurs(span) || (kind == SpanKind::Unknown && span.kind == kind)) {
            keys.push(Key { class: class.into(), text: text.into() });
        }
    }
    keys
}
