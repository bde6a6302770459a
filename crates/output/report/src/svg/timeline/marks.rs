//! T0 to T3 and the delay between them.

use super::super::canvas::{Anchor, Canvas};
use super::{CHARACTER, LEFT, View};
use crate::words::causes;
use punctual_units::Nanos;

const ROW: f64 = 19.0;
const LABEL: f64 = 2.6 * CHARACTER;

pub struct Marks {
    /// Name, position, row of the label.
    marks: Vec<(&'static str, f64, usize)>,
    rows: usize,
    delay: (f64, f64),
    right: f64,
    late: String,
}

impl Marks {
    /// A label goes into the first row with room for it.
    pub fn new(view: &View) -> Marks {
        let mut ends: Vec<f64> = Vec::new();
        let mut marks = Vec::new();
        for (name, at, _) in causes::moments(view.timeline) {
            let x = view.at(at).clamp(LEFT, view.right);
            let row = ends.iter().position(|end| *end <= x - LABEL / 2.0).unwrap_or(ends.len());
            match ends.get_mut(row) {
                Some(end) => *end = x + LABEL / 2.0,
                None => ends.push(x + LABEL / 2.0),
            }
            marks.push((name, x, row));
        }
        let moments = &view.timeline.moments;
        let delay = (view.at(moments.t0_ns), view.at(moments.t4_ns.unwrap_or(moments.t3_ns)));
        let late = Nanos(moments.t4_ns.unwrap_or(moments.t3_ns).saturating_sub(moments.t0_ns));
        Marks { marks, rows: ends.len(), delay, right: view.right, late: format!("{late} late") }
    }

    pub fn bottom(&self) -> f64 {
        ROW * (self.rows + 1) as f64 + 12.0
    }

    pub fn shade(&self, canvas: &mut Canvas, bottom: f64) {
        let (from, to) = self.delay;
        canvas.rect("shade", (from, self.bottom() - 6.0), (to - from, bottom - self.bottom() + 6.0));
    }

    pub fn draw(&self, canvas: &mut Canvas, bottom: f64) {
        for (name, x, row) in &self.marks {
            let y = ROW * (*row + 1) as f64 - 4.0;
            canvas.line("mark", (*x, y + 4.0), (*x, bottom));
            canvas.text("mark-label", (*x, y), Anchor::Middle, name);
        }
        let y = self.bottom() - 11.0;
        let (from, to) = self.delay;
        canvas.line("reach", (from, y + 4.0), (to, y + 4.0));
        let half = self.late.chars().count() as f64 * CHARACTER / 2.0;
        let middle = ((from + to) / 2.0).clamp(LEFT + half, (self.right - half).max(LEFT + half));
        canvas.text("reach-label", (middle, y), Anchor::Middle, &self.late);
    }
}
