mod html;
mod text;

pub use html::watch_html;
pub use text::{moments, watch_started, watch_status, watch_text};
