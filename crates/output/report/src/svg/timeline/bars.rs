use super::super::canvas::{Anchor, Canvas, fine, px};
use super::{CHARACTER, LEFT, MARGIN, NARROW, SPANS, View, colour};
use crate::clean;
use crate::words::causes;
use punctual_model::{Class, Lane, Span, SpanKind, ThreadState};
use punctual_units::Nanos;

const BAR: f64 = 26.0;
const THIN: f64 = 9.0;
const GAP: f64 = 14.0;
const APART: f64 = 0.1;

pub struct Bars<'a> {
    view: &'a View<'a>,
    canvas: Canvas,
    /// Names of the lanes, which do not move with the rest.
    names: Canvas,
    /// Labels of bars, drawn above the marks of the moments.
    texts: Canvas,
    top: f64,
}

/// Spans with the same name, drawn in one row.
struct Row {
    class: String,
    name: String,
    d: String,
    /// Length of each span, ns.
    lengths: Vec<String>,
}

/// The finished drawing: its lower edge, and the SVG of names, bars and labels.
pub struct Drawn {
    pub bottom: f64,
    pub names: String,
    pub bars: String,
    pub texts: String,
}

impl<'a> Bars<'a> {
    pub fn new(view: &'a View<'a>, top: f64) -> Bars<'a> {
        Bars { view, canvas: Canvas::part(), names: Canvas::part(), texts: Canvas::part(), top }
    }

    pub fn states(&mut self) {
        self.name("thread", self.top, true);
        for state in self.view.timeline.states.iter().take(SPANS) {
            let (class, name) = match state.state {
                ThreadState::Sleeping => ("asleep", "sleeping"),
                ThreadState::Due => ("due", "due, not woken"),
                ThreadState::Runnable => ("wants", "runnable, waits for the CPU"),
                ThreadState::Running => ("own", "running"),
            };
            let (from, to) = (self.view.at(state.start_ns), self.view.at(state.end_ns));
            let tip = format!("{name}, {}", Nanos(state.end_ns.saturating_sub(state.start_ns)));
            let (y, height) = if state.state == ThreadState::Sleeping { (BAR / 2.0, 1.5) } else { (0.0, BAR) };
            let size = (to - from, height);
            self.canvas.tipped_rect(class, (from, self.top + y), size, Some(&tip));
            let short = name.split(',').next().unwrap_or(name);
            let label = if state.state == ThreadState::Running { "on" } else { "in" };
            let fitting = [name, short].into_iter().find(|text| fits(text, to - from));
            if let Some(text) = fitting.filter(|_| state.state != ThreadState::Sleeping) {
                self.texts.text(label, ((from + to) / 2.0, self.top + BAR / 2.0 + 5.0), Anchor::Middle, text);
            }
        }
        self.top += BAR + GAP;
    }

    /// Draws the lane of a CPU: thin rows of interrupts and softirqs, if any, and below them what they interrupt.
    pub fn lane(&mut self, lane: &Lane) {
        let rows: [&[SpanKind]; 2] = [&[SpanKind::Irq, SpanKind::Nmi], &[SpanKind::Softirq]];
        for kinds in rows {
            let spans: Vec<&Span> = lane.spans.iter().take(SPANS).filter(|span| kinds.contains(&span.kind)).collect();
            if !spans.is_empty() {
                self.on_top(&spans, lane);
                self.top += THIN + 2.0;
            }
        }
        self.name(&format!("CPU {}", lane.cpu), self.top, Some(lane.cpu.0) == self.view.victim.cpu);
        let mut drawn = f64::MIN;
        for span in lane.spans.iter().take(SPANS).filter(|s| !rows.concat().contains(&s.kind)) {
            let (from, to) = (self.view.at(span.start_ns), self.view.at(span.end_ns));
            // Of several spans within a pixel of the magnified drawing, only the first is drawn; causes are always
            // drawn.
            if to - drawn >= APART || span.cause.is_some() {
                self.below(span, from, to);
                drawn = to;
            }
        }
        self.top += BAR + GAP;
    }

    /// Draws interrupts or softirqs, often hundreds: those with the same name are one path, with the length of each for
    /// the page's script.
    fn on_top(&mut self, spans: &[&Span], lane: &Lane) {
        let mut rows: Vec<Row> = Vec::new();
        let (mut drawn, top, bottom) = (f64::MIN, px(self.top), px(self.top + THIN));
        for span in spans {
            let (from, to) = (self.view.at(span.start_ns).max(drawn), self.view.at(span.end_ns));
            if to - drawn < APART {
                continue;
            }
            let kind = if span.kind == SpanKind::Softirq { "k5" } else { "k0" };
            let class = if span.cause.is_some() { format!("{kind} cause") } else { format!("{kind} cause pale") };
            let delays = if span.cause.is_some() { ", delays it" } else { "" };
            let name = format!("CPU {}, {}{delays}", lane.cpu, name(span));
            let known = rows.iter().position(|row| row.class == class && row.name == name);
            let at = known.unwrap_or_else(|| {
                rows.push(Row { class, name, d: String::new(), lengths: Vec::new() });
                rows.len() - 1
            });
            let (left, right) = (fine(from), fine(to));
            rows[at].d.push_str(&format!("M{left} {top}H{right}V{bottom}h{}z", fine(from - to)));
            rows[at].lengths.push(span.end_ns.saturating_sub(span.start_ns).to_string());
            drawn = to;
        }
        for Row { class, name, d, lengths } in rows {
            self.canvas.steps(&format!("{class} spans"), &d, &name, "ns", lengths.into_iter());
        }
    }

    fn below(&mut self, span: &Span, from: f64, to: f64) {
        let own = span.tid.is_some() && span.tid == self.view.victim.tid;
        let main = self.view.is_main(span);
        let class = match (span.cause, span.kind) {
            // While the machine is stalled nothing runs, including the late thread.
            (Some(class @ (Class::Steal | Class::MachineStall)), _) => {
                format!("{} cause{}", colour(class), if main { " main" } else { "" })
            }
            _ if own => "own".to_owned(),
            (Some(class), _) => format!("{} cause{}", colour(class), if main { " main" } else { "" }),
            (None, SpanKind::Idle) => "asleep".to_owned(),
            (None, SpanKind::Unknown) => "none".to_owned(),
            (None, _) => "other".to_owned(),
        };
        let idle = class == "asleep";
        let (y, height) = if idle { (BAR / 2.0, 1.5) } else { (0.0, BAR) };
        let size = (to - from, height);
        self.canvas.tipped_rect(&class, (from, self.top + y), size, self.tip(span).as_deref());
        let names = match span.cause.filter(|_| !self.view.blames(span)) {
            Some(class) => [String::new(), causes::class(class).to_owned()],
            None => [name(span), clean::line(&span.label)],
        };
        let fitting = names.into_iter().find(|text| !text.is_empty() && fits(text, to - from));
        if let Some(text) = fitting.filter(|_| !idle) {
            let dark = own || (span.cause.is_some() && !class.contains("faint") && !class.contains("none"));
            let label = if dark { "on" } else { "in" };
            self.texts.text(label, ((from + to) / 2.0, self.top + BAR / 2.0 + 5.0), Anchor::Middle, &text);
        }
    }

    /// Returns the tooltip; on narrow screens, `None` for spans that delayed nothing, because they are too small to
    /// touch.
    fn tip(&self, span: &Span) -> Option<String> {
        if self.view.right + MARGIN <= NARROW && span.cause.is_none() {
            return None;
        }
        let length = Nanos(span.end_ns.saturating_sub(span.start_ns));
        let since = self.view.since(span.start_ns);
        let sign = if since < 0.0 { '−' } else { '+' };
        let cause = span.cause.map(|class| format!(": {}", causes::class(class))).unwrap_or_default();
        Some(format!("{}, {length} from T0 {sign} {}{cause}", name(span), Nanos(since.abs() as u64)))
    }

    fn name(&mut self, text: &str, top: f64, strong: bool) {
        let class = if strong { "lane strong" } else { "lane" };
        self.names.text(class, (LEFT - 8.0, top + BAR / 2.0 + 5.0), Anchor::End, text);
    }

    pub fn finish(self) -> Drawn {
        Drawn {
            bottom: self.top - GAP / 2.0,
            names: self.names.into_parts(),
            bars: self.canvas.into_parts(),
            texts: self.texts.into_parts(),
        }
    }
}

pub fn name(span: &Span) -> String {
    match span.kind {
        SpanKind::Task => span.scheduled.thread(Some(&span.label), span.tid),
        SpanKind::Idle => "idle".to_owned(),
        SpanKind::Unknown => "not traced".to_owned(),
        SpanKind::Nmi => "NMI".to_owned(),
        SpanKind::Softirq => format!("softirq {}", span.label),
        SpanKind::Irq => match span.label.starts_with("irq ") {
            true => span.label.clone(),
            false => format!("interrupt {}", span.label),
        },
    }
}

fn fits(text: &str, width: f64) -> bool {
    (text.chars().count() + 1) as f64 * CHARACTER <= width
}
