//! A watched machine: how its series stands, for a terminal and as a page.

mod html;
mod text;

pub use html::watch_html;
pub use text::watch_text;
