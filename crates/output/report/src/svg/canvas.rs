use crate::clean;
use std::fmt::Write;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG drawing built element by element. Writing to a String cannot fail, so results of `write!` are dropped.
pub struct Canvas {
    out: String,
}

impl Canvas {
    /// `id` must be unique in the page: title and description are referenced by it.
    pub fn new(id: &str, size: (f64, f64), title: &str, description: &str) -> Canvas {
        let mut out = String::new();
        let (title, description) = (clean::html(title), clean::html(description));
        let _ = write!(
            out,
            "<svg role=\"img\" aria-labelledby=\"{id}-t {id}-d\" viewBox=\"0 0 {} {}\">\
             <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>",
            px(size.0),
            px(size.1)
        );
        Canvas { out }
    }

    /// Elements without an `<svg>` around them, for [`Canvas::add`].
    pub fn part() -> Canvas {
        Canvas { out: String::new() }
    }

    pub fn into_parts(self) -> String {
        self.out
    }

    pub fn add(&mut self, part: &str) {
        self.out.push_str(part);
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        let _ = write!(self.out, "<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>");
    }

    pub fn path(&mut self, class: &str, d: &str) {
        let _ = write!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        let _ = write!(self.out, "<rect class=\"{class}\"{}/>", area(at, size));
    }

    pub fn told_rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: &str) {
        let tip = clean::html(tip);
        let _ = write!(self.out, "<rect class=\"{class}\"{}><title>{tip}</title></rect>", area(at, size));
    }

    pub fn dot(&mut self, class: &str, at: (f64, f64), radius: f64, tip: &str) {
        let (x, y, tip) = (px(at.0), px(at.1), clean::html(tip));
        let _ = write!(self.out, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{}\">", px(radius));
        let _ = write!(self.out, "<title>{tip}</title></circle>");
    }

    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (px(at.0), px(at.1), clean::html(text));
        let _ = write!(self.out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>");
    }

    /// Text rotated to read upwards.
    pub fn upright(&mut self, class: &str, at: (f64, f64), text: &str) {
        let (x, y, text) = (px(at.0), px(at.1), clean::html(text));
        let _ = write!(
            self.out,
            "<text class=\"{class}\" text-anchor=\"middle\" transform=\"translate({x} {y})rotate(-90)\">{text}</text>"
        );
    }

    pub fn finish(self) -> String {
        self.out + "</svg>"
    }
}

fn area(at: (f64, f64), size: (f64, f64)) -> String {
    format!(
        " x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        px(at.0),
        px(at.1),
        px(size.0.max(0.0)),
        px(size.1.max(0.0))
    )
}

/// A coordinate with at most one decimal: a tenth of a pixel is finer than any screen.
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
