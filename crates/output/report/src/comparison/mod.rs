mod chart;
mod context;
mod finding;
mod html;
mod overlay;
mod scatter;
mod text;
mod value;

use punctual_model::{Comparison, ComparisonRow, SampleUnit};
use serde_json::{Value, json};

pub use html::comparison_html;
pub use text::comparison_text;
pub(crate) use value::shown;

pub fn comparison_json(comparison: &Comparison) -> Value {
    let mut value = json!(comparison);
    value["clock"] = if comparison.virtual_time.is_some() { "virtual" } else { "real" }.into();
    value["headline"] = finding::headline(comparison).into();
    value["sentences"] = finding::findings(comparison).into();
    value["unlike_sentences"] = context::unlike(comparison).into();
    value["cannot_say"] = context::cannot_say(comparison).into();
    value
}

/// `A`, `B`, …, `Z`, then numbers.
fn letter(n: usize) -> String {
    match u8::try_from(n) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("#{}", n + 1),
    }
}

/// The figure that represents a group: the mean of batches, otherwise the median.
fn middle(row: &ComparisonRow, group: usize) -> Option<f64> {
    let sampled = row.groups.get(group)?;
    if row.sample == SampleUnit::Batch { sampled.mean } else { sampled.median }
}
