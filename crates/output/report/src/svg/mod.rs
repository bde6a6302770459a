//! Charts, drawn by us as SVG. Colours come from the page's style sheet through classes, so that dark mode and print
//! need no second drawing.

pub mod axis;
pub mod canvas;
pub mod ccdf;
pub mod frame;
pub mod heat;
pub mod histogram;
pub mod osadl;
pub mod series;
pub mod signed;
pub mod stability;
pub mod time;
pub mod timeline;
pub mod watch;

/// A chart with what belongs beside it.
pub struct Chart {
    /// The drawing.
    pub svg: String,
    /// What its lines are.
    pub legend: Vec<Key>,
    /// The figures behind it.
    pub table: Table,
    /// A sentence under it, where something needs saying.
    pub note: Option<String>,
}

/// One entry of a legend.
pub struct Key {
    /// Class of the line's colour: `k0` … `k7`, `rest`, `limit`.
    pub class: String,
    /// Its name, with a figure.
    pub text: String,
}

/// A table of text; all columns but the first are figures.
#[derive(Default)]
pub struct Table {
    /// Names of the columns.
    pub head: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

/// Class of the colour of the `n`th line.
pub fn colour(n: usize) -> String {
    format!("k{}", n % 8)
}
