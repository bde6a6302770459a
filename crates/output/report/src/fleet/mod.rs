//! Many boards: tables, outliers, and what kernels and settings have to do with it.

mod html;
mod text;
mod words;

pub use html::fleet_html;
pub use text::fleet_text;
