use super::axis::Scale;
use crate::clean;
use std::fmt::Write;

/// Default minimum width of rectangles, px: narrower rectangles are hard to see.
const NARROWEST: f64 = 1.2;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG drawing built element by element. Writing to a String cannot fail, so results of `write!` are dropped.
pub struct Canvas {
    /// The opening tag without its end, so that attributes can be added to it.
    head: String,
    out: String,
    /// Minimum width of rectangles, px; narrower rectangles are drawn this wide.
    pub narrowest: f64,
}

impl Canvas {
    /// Creates a drawing; `id` must be unique in the page, since title and description are referenced by it.
    pub fn new(id: &str, size: (f64, f64), title: &str, description: &str) -> Canvas {
        let (title, description) = (clean::html(title), clean::html(description));
        let (width, height) = (px(size.0), px(size.1));
        Canvas {
            head: format!("<svg role=\"img\" aria-labelledby=\"{id}-t {id}-d\" viewBox=\"0 0 {width} {height}\""),
            out: format!("<title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>"),
            narrowest: NARROWEST,
        }
    }

    /// Creates an empty canvas without the enclosing `<svg>`, to be inserted with [`Canvas::add`].
    pub fn part() -> Canvas {
        Canvas { head: String::new(), out: String::new(), narrowest: NARROWEST }
    }

    pub fn into_parts(self) -> String {
        self.out
    }

    pub fn add(&mut self, part: &str) {
        self.out.push_str(part);
    }

    /// Describes the horizontal axis for the page's script: its kind, its ends, their pixels, and the unit of a value
    /// (`ns`, `wall` for UTC in ns, or the suffix of a number). Charts without this description cannot be zoomed.
    pub fn axis_x(&mut self, x: &Scale, unit: &str) {
        let (lo, hi) = x.ends();
        let (left, right) = x.pixels();
        let kind = if x.is_log() { "log" } else { "lin" };
        let unit = clean::html(unit);
        let _ = write!(self.head, " data-x=\"{kind} {lo} {hi} {} {}\" data-u=\"{unit}\"", px(left), px(right));
    }

    /// Describes the edges of a histogram's steps: multiples of `step`, or on a logarithmic scale that many steps per
    /// decade.
    pub fn steps_x(&mut self, step: f64) {
        let _ = write!(self.head, " data-s=\"{step}\"");
    }

    pub fn open(&mut self, class: &str) {
        let _ = write!(self.out, "<g class=\"{class}\">");
    }

    pub fn close(&mut self) {
        self.out.push_str("</g>");
    }

    /// Draws a path of steps, each with one `H`, with the value of each step for the page's script; `unit` is as in
    /// [`Canvas::axis_x`].
    pub fn steps(&mut self, class: &str, d: &str, name: &str, unit: &str, values: impl Iterator<Item = String>) {
        let (name, unit) = (clean::html(name), clean::html(unit));
        let values: Vec<String> = values.collect();
        let values = values.join(" ");
        let _ = write!(
            self.out,
            "<path class=\"{class}\" data-n=\"{name}\" data-u=\"{unit}\" data-v=\"{values}\" d=\"{d}\"/>"
        );
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        let _ = write!(self.out, "<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>");
    }

    /// Draws vertical lines as one path.
    pub fn verticals(&mut self, class: &str, all: &[f64], (top, bottom): (f64, f64)) {
        let (top, bottom) = (px(top), px(bottom));
        self.lines(class, all.iter().map(|x| format!("M{} {top}V{bottom}", px(*x))).collect());
    }

    /// Draws horizontal lines as one path.
    pub fn horizontals(&mut self, class: &str, all: &[f64], (left, right): (f64, f64)) {
        let (left, right) = (px(left), px(right));
        self.lines(class, all.iter().map(|y| format!("M{left} {}H{right}", px(*y))).collect());
    }

    fn lines(&mut self, class: &str, d: String) {
        if !d.is_empty() {
            self.path(class, &d);
        }
    }

    /// Draws the ticks of a horizontal axis: lines as one path, and the label of each at the height `at`.
    pub fn ticks_x(&mut self, class: &str, all: &[(f64, String)], ends: (f64, f64), at: f64) {
        let places: Vec<f64> = all.iter().map(|(x, _)| *x).collect();
        self.verticals(class, &places, ends);
        all.iter().for_each(|(x, text)| self.text("tick", (*x, at), Anchor::Middle, text));
    }

    pub fn path(&mut self, class: &str, d: &str) {
        let _ = write!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        let _ = write!(self.out, "<rect class=\"{class}\"{}/>", area(at, size));
    }

    /// Draws a rectangle at least [`Canvas::narrowest`] wide, with a tooltip if `tip` is given.
    pub fn tipped_rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: Option<&str>) {
        let tip = tip.map(|tip| format!("<title>{}</title>", clean::html(tip)));
        let narrow =
            if size.0 < self.narrowest { format!(" data-w=\"{}\"", fine(size.0.max(0.0))) } else { String::new() };
        let area = area(at, (size.0.max(self.narrowest), size.1));
        let _ = write!(self.out, "<rect class=\"{class}\"{area}{narrow}");
        let _ = match tip {
            Some(tip) => write!(self.out, ">{tip}</rect>"),
            None => write!(self.out, "/>"),
        };
    }

    pub fn dot(&mut self, class: &str, at: (f64, f64), radius: f64, tip: &str) {
        let (x, y, tip) = (px(at.0), px(at.1), clean::html(tip));
        let _ = write!(self.out, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{}\">", px(radius));
        let _ = write!(self.out, "<title>{tip}</title></circle>");
    }

    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        // These names are classes of the style sheet.
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " m",
            Anchor::End => " e",
        };
        let (x, y, text) = (px(at.0), px(at.1), clean::html(text));
        let _ = write!(self.out, "<text class=\"{class}{anchor}\" x=\"{x}\" y=\"{y}\">{text}</text>");
    }

    /// Draws text rotated to read upwards.
    pub fn upright(&mut self, class: &str, at: (f64, f64), text: &str) {
        let (x, y, text) = (px(at.0), px(at.1), clean::html(text));
        let _ = write!(self.out, "<text class=\"{class} m\" transform=\"translate({x} {y})rotate(-90)\">{text}</text>");
    }

    pub fn finish(self) -> String {
        self.head + ">" + &self.out + "</svg>"
    }
}

fn area(at: (f64, f64), size: (f64, f64)) -> String {
    format!(
        " x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        fine(at.0),
        px(at.1),
        fine(size.0.max(0.0)),
        px(size.1.max(0.0))
    )
}

/// Formats a horizontal coordinate with at most two decimals, since the page's script magnifies up to 12 times.
pub fn fine(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Formats a coordinate with at most one decimal: a tenth of a pixel is finer than any screen.
pub fn px(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".into(),
        Some(whole) => whole.into(),
        None => text,
    }
}
