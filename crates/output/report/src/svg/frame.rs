use super::axis::Scale;
use super::calendar;
use super::canvas::{Anchor, Canvas};

#[derive(Clone, Copy)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

pub const SIZE: (f64, f64) = (560.0, 336.0);
pub const AREA: Area = Area { left: 68.0, top: 14.0, right: 538.0, bottom: 284.0 };

pub struct Frame {
    pub area: Area,
    pub x: Scale,
    pub y: Scale,
}

impl Frame {
    /// Draws the grid; everything drawn from here to [`Frame::axes`] moves with the horizontal axis. `unit` is as in
    /// [`Canvas::axis_x`].
    pub fn grid(
        &self,
        canvas: &mut Canvas,
        unit: &str,
        x_label: impl Fn(f64) -> String,
        y_label: impl Fn(f64) -> String,
    ) {
        canvas.axis_x(&self.x, unit);
        self.y_grid(canvas, y_label);
        canvas.open("xt");
        canvas.verticals("grid minor", &self.x.between_decades(), (self.area.top, self.area.bottom));
        let wanted = ((self.area.right - self.area.left) / 58.0) as usize;
        let ticks = self.x.ticks(wanted.clamp(4, 12)).into_iter().map(|tick| (self.x.at(tick), x_label(tick)));
        let ticks: Vec<(f64, String)> = ticks.collect();
        canvas.ticks_x("grid", &ticks, (self.area.top, self.area.bottom), self.area.bottom + 19.0);
        canvas.close();
        canvas.open("z");
    }

    /// Draws the grid as [`Frame::grid`] does, with an axis of UTC in ns.
    pub fn calendar(&self, canvas: &mut Canvas, (from, to): (u64, u64), y_label: impl Fn(f64) -> String) {
        let Area { left, top, right, bottom } = self.area;
        canvas.axis_x(&self.x, "wall");
        self.y_grid(canvas, y_label);
        canvas.open("xt");
        let ticks = calendar::ticks(from, to, ((right - left) / 85.0) as usize).into_iter();
        let ticks: Vec<(f64, String)> = ticks.map(|(ns, label)| (self.x.at(ns as f64), label)).collect();
        canvas.ticks_x("grid", &ticks, (top, bottom), bottom + 19.0);
        canvas.close();
        canvas.open("z");
    }

    pub fn y_grid(&self, canvas: &mut Canvas, label: impl Fn(f64) -> String) {
        let wanted = ((self.area.bottom - self.area.top) / 34.0) as usize;
        let ticks = self.y.ticks(wanted.clamp(4, 8));
        let places: Vec<f64> = ticks.iter().map(|tick| self.y.at(*tick)).collect();
        canvas.horizontals("grid", &places, (self.area.left, self.area.right));
        for (tick, y) in ticks.into_iter().zip(places) {
            canvas.text("tick", (self.area.left - 7.0, y + 4.5), Anchor::End, &label(tick));
        }
    }

    pub fn axes(&self, canvas: &mut Canvas, x_name: &str, y_name: &str) {
        let Area { left, top, right, bottom } = self.area;
        canvas.close();
        canvas.line("axis", (left, top), (left, bottom));
        canvas.line("axis", (left, bottom), (right, bottom));
        canvas.text("name", ((left + right) / 2.0, bottom + 42.0), Anchor::Middle, x_name);
        canvas.upright("name", (12.0, (top + bottom) / 2.0), y_name);
    }

    /// Draws a vertical line at a value, with a label in the given row; if the value is off the chart, draws an arrow
    /// only.
    pub fn mark(&self, canvas: &mut Canvas, class: &str, value: f64, row: usize, label: &str) {
        let Area { left, top, right, bottom } = self.area;
        let y = top + 14.0 + 17.0 * row as f64;
        let text = format!("{class}-label");
        if !self.x.holds(value) {
            canvas.text(&text, (right - 2.0, y), Anchor::End, &format!("{label} →"));
            return;
        }
        let x = self.x.at(value);
        canvas.line(class, (x, top), (x, bottom));
        if x > (left + right) / 2.0 {
            canvas.text(&text, (x - 5.0, y), Anchor::End, label);
        } else {
            canvas.text(&text, (x + 5.0, y), Anchor::Start, label);
        }
    }
}
