use super::axis::Scale;
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
    pub fn grid(&self, canvas: &mut Canvas, x_label: impl Fn(f64) -> String, y_label: impl Fn(f64) -> String) {
        self.y_grid(canvas, y_label);
        for x in self.x.between_decades() {
            canvas.line("grid minor", (x, self.area.top), (x, self.area.bottom));
        }
        for tick in self.x.ticks(8) {
            let x = self.x.at(tick);
            canvas.line("grid", (x, self.area.top), (x, self.area.bottom));
            canvas.text("tick", (x, self.area.bottom + 19.0), Anchor::Middle, &x_label(tick));
        }
    }

    pub fn y_grid(&self, canvas: &mut Canvas, label: impl Fn(f64) -> String) {
        let wanted = ((self.area.bottom - self.area.top) / 34.0) as usize;
        for tick in self.y.ticks(wanted.clamp(4, 8)) {
            let y = self.y.at(tick);
            canvas.line("grid", (self.area.left, y), (self.area.right, y));
            canvas.text("tick", (self.area.left - 7.0, y + 4.5), Anchor::End, &label(tick));
        }
    }

    pub fn axes(&self, canvas: &mut Canvas, x_name: &str, y_name: &str) {
        let Area { left, top, right, bottom } = self.area;
        canvas.line("axis", (left, top), (left, bottom));
        canvas.line("axis", (left, bottom), (right, bottom));
        canvas.text("name", ((left + right) / 2.0, bottom + 42.0), Anchor::Middle, x_name);
        canvas.upright("name", (12.0, (top + bottom) / 2.0), y_name);
    }

    /// A vertical line at a value, with a label in the given row; if off the chart, an arrow only.
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
