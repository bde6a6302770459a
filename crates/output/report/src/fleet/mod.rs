//! Formats fleets of boards: tables, outliers, and effects of kernels and settings.

mod html;
mod text;
mod words;

pub use html::fleet_html;
pub use text::fleet_text;
