//! Two groups of runs beside each other, as text, HTML and JSON.

mod chart;
mod html;
mod sentences;
mod text;

use punctual_model::Comparison;
use serde_json::{Value, json};

pub use html::comparison_html;
pub use text::comparison_text;

/// The comparison for programs, with its sentences.
pub fn comparison_json(comparison: &Comparison) -> Value {
    let mut value = json!(comparison);
    value["clock"] = if comparison.virtual_time.is_some() { "virtual" } else { "real" }.into();
    value["headline"] = sentences::headline(comparison).into();
    value["sentences"] = sentences::findings(comparison).into();
    value["cannot_say"] = sentences::cannot_say(comparison).into();
    value
}
