//! Draws the moments T0 to T4 and the delay between them.

use super::super::canvas::{Anchor, Canvas};
use super::{CHARACTER, LEFT, View, strip};
use punctual_units::Nanos;

pub const BOTTOM: f64 = 50.0;
const ROW: f64 = 15.0;

pub struct Marks {
    /// Names and positions of the moments.
    marks: Vec<(String, f64)>,
    delay: (f64, f64),
    right: f64,
    late: String,
}

impl Marks {
    pub fn new(view: &View) -> Marks {
        let joined = |(group, x): (Vec<(&str, u64)>, f64)| {
            (group.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" "), x)
        };
        let moments = &view.timeline.moments;
        let delay = (view.at(moments.t0_ns), view.at(moments.t4_ns.unwrap_or(moments.t3_ns)));
        let late = Nanos(moments.t4_ns.unwrap_or(moments.t3_ns).saturating_sub(moments.t0_ns));
        let marks = strip::groups(view).into_iter().map(joined).collect();
        Marks { marks, delay, right: view.right, late: format!("{late} late") }
    }

    pub fn shade(&self, canvas: &mut Canvas, bottom: f64) {
        let (from, to) = self.delay;
        canvas.rect("shade", (from, BOTTOM - 6.0), (to - from, bottom - BOTTOM + 6.0));
    }

    pub fn draw(&self, canvas: &mut Canvas, bottom: f64) {
        for (name, x) in &self.marks {
            canvas.line("mark", (*x, ROW + 4.0), (*x, bottom));
            let half = name.chars().count() as f64 * CHARACTER / 2.0;
            canvas.text("mark-label", (x.min(self.right - half), ROW), Anchor::Middle, name);
        }
        let y = BOTTOM - 11.0;
        let (from, to) = self.delay;
        canvas.line("reach", (from, y + 4.0), (to, y + 4.0));
        let half = self.late.chars().count() as f64 * CHARACTER / 2.0;
        let middle = ((from + to) / 2.0).clamp(LEFT + half, (self.right - half).max(LEFT + half));
        canvas.text("reach-label", (middle, y), Anchor::Middle, &self.late);
    }
}
