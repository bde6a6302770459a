use super::data::History;
use super::latency_label;
use crate::svg::axis::{Scale, plain};
use crate::svg::canvas::{Canvas, px};
use crate::svg::frame::{Area, Frame};
use crate::svg::series::Series;

pub struct Panel<'a> {
    pub name: String,
    /// True if the values are latencies or responses, ns.
    pub is_latency: bool,
    pub area: Area,
    pub scale: Scale,
    /// Class, name and series of each line; a class that ends in `dots` is drawn as points.
    pub lines: Vec<(String, String, &'a Series)>,
}

impl Panel<'_> {
    pub fn grid(&self, canvas: &mut Canvas) {
        let frame = Frame { area: self.area, x: self.scale, y: self.scale };
        frame.y_grid(canvas, |v| if self.is_latency { latency_label(v) } else { plain(v) });
    }

    pub fn draw(&self, canvas: &mut Canvas, history: &History, x: &Scale) {
        for (class, name, series) in &self.lines {
            match class.strip_suffix(" dots") {
                Some(colour) => self.dots(canvas, colour, series, x),
                None => self.steps(canvas, class, name, series, x),
            }
        }
        if self.name == "°C" {
            self.throttled(canvas, history, x);
        }
    }

    fn steps(&self, canvas: &mut Canvas, class: &str, name: &str, series: &Series, x: &Scale) {
        let unit = if self.is_latency { "ns" } else { self.name.rsplit(", ").next().unwrap_or_default() };
        let figure = |figure: f64| if self.is_latency { format!("{figure:.0}") } else { plain(figure) };
        let figures = series.spans().into_iter().map(|(.., value)| figure(value));
        canvas.steps(class, &self.path(series, x), name, unit, figures);
    }

    pub fn axes(&self, canvas: &mut Canvas) {
        let Area { left, top, right, bottom } = self.area;
        canvas.line("axis", (left, top), (left, bottom));
        canvas.line("axis", (left, bottom), (right, bottom));
        canvas.upright("name", (13.0, (top + bottom) / 2.0), &self.name);
    }

    /// Draws a horizontal step per interval, since its value applies to the whole interval; the line is interrupted at
    /// gaps.
    fn path(&self, series: &Series, x: &Scale) -> String {
        let mut d = String::new();
        let mut before: Option<(u64, u64)> = None;
        for (start, end, figure) in series.spans() {
            // Only a gap of more than a tenth of an interval is drawn, since the times of counters are not exact.
            let joins = before.is_some_and(|(s, e)| start <= e.saturating_add((e - s) / 10));
            let (y, to) = (px(self.scale.at(figure)), px(x.at(end as f64)));
            d.push_str(&if joins { format!("V{y}H{to}") } else { format!("M{} {y}H{to}", px(x.at(start as f64))) });
            before = Some((start, end.max(start)));
        }
        d
    }

    fn dots(&self, canvas: &mut Canvas, colour: &str, series: &Series, x: &Scale) {
        for (t, _, value) in series.spans() {
            canvas.dot(
                &format!("{colour} end"),
                (x.at(t as f64), self.scale.at(value)),
                2.5,
                &format!("{value:.2} GHz"),
            );
        }
    }

    fn throttled(&self, canvas: &mut Canvas, history: &History, x: &Scale) {
        let mut drawn = f64::MIN;
        for (from, to) in &history.throttled {
            let (from, to) = (x.at(*from as f64).max(drawn), x.at(*to as f64));
            if to - drawn < 1.0 {
                continue;
            }
            canvas.tipped_rect("throttled", (from, self.area.bottom - 6.0), (to - from, 6.0), Some("throttled"));
            drawn = to;
        }
    }
}
