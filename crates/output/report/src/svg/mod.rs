//! Draws charts as SVG. Colours are classes of the page's style sheet, so that dark mode and print need no second
//! drawing.

pub mod axis;
pub mod calendar;
pub mod canvas;
pub mod ccdf;
pub mod form;
pub mod frame;
pub mod heat;
pub mod histogram;
pub mod osadl;
pub mod overview;
pub mod series;
pub mod signed;
pub mod stability;
pub mod time;
pub mod timeline;
pub mod watch;

pub struct Chart {
    pub svg: String,
    pub legend: Vec<Key>,
    pub table: Table,
    pub note: Option<String>,
}

pub struct Key {
    /// Class of the colour: `k0` … `k7`, `rest`, `limit`.
    pub class: String,
    pub text: String,
}

/// A table whose columns contain figures, except the first.
#[derive(Default)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

pub fn colour(n: usize) -> String {
    format!("k{}", n % 8)
}
