use super::frame::{AREA, Area};

/// One of the two drawings of a wide chart; the style sheet shows one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Broad,
    /// For pages narrower than 560 pixels, in which letters are larger in relation to the chart.
    Narrow,
}

/// Returns both drawings of a chart.
pub fn both(draw: impl Fn(Form) -> String) -> String {
    let [broad, narrow] = [Form::Broad, Form::Narrow].map(draw);
    format!("<div class=\"broad\">{broad}</div><div class=\"narrow\">{narrow}</div>")
}

impl Form {
    /// Returns the ID of this drawing of the chart, unique in the page.
    pub fn id(self, id: &str) -> String {
        match self {
            Form::Broad => id.to_owned(),
            Form::Narrow => format!("{id}n"),
        }
    }

    /// Returns the width of a drawing that is `broad` on wide pages.
    pub fn width(self, broad: f64) -> f64 {
        if self == Form::Broad { broad } else { 440.0 }
    }

    /// Returns the size and the plot area of a chart that has a frame and is `broad` on wide pages.
    pub fn framed(self, broad: f64) -> ((f64, f64), Area) {
        let size = (self.width(broad), AREA.bottom + 52.0);
        (size, Area { right: size.0 - 22.0, ..AREA })
    }
}
