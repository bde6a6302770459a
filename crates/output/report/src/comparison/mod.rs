mod chart;
mod context;
mod finding;
mod html;
mod overlay;
mod scatter;
mod summary;
mod text;
mod value;

use crate::json::clock;
use punctual_model::{Comparison, ComparisonRow, Group, SampleUnit, Sampled};
use serde::Serialize;

pub use html::comparison_html;
pub use summary::{Decision, comparison_summary};
pub use text::comparison_text;
pub(crate) use value::{Changed, changed, shown};

/// The result of `compare`: the figures and the sentences about them.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonResult<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// Either `real` or `virtual`.
    clock: &'static str,
    /// The conclusion in one sentence.
    headline: String,
    /// One sentence per finding.
    sentences: Vec<String>,
    /// One sentence for each run in `doubtful`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubtful_sentences: Vec<String>,
    /// Differences between the groups other than the requested one.
    unlike_sentences: Vec<String>,
    /// What these runs cannot show.
    cannot_say: Vec<String>,
    /// Sentences on how many boots are required to show a difference of a given size.
    boots_sentences: Vec<String>,
}

pub fn comparison_json(comparison: &Comparison) -> ComparisonResult<'_> {
    ComparisonResult {
        comparison,
        clock: clock(&comparison.virtual_time),
        headline: finding::headline(comparison),
        sentences: finding::findings(comparison),
        doubtful_sentences: finding::doubtful(comparison),
        unlike_sentences: context::unlike(comparison),
        cannot_say: context::cannot_say(comparison),
        boots_sentences: finding::recipes(comparison),
    }
}

/// Returns the label of a group: `A`, `B`, …, `Z`, then numbers.
fn letter(n: usize) -> String {
    match u8::try_from(n) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("#{}", n + 1),
    }
}

/// Returns the figure that represents a group: the mean if the values are times of batches, otherwise the median.
fn middle(row: &ComparisonRow, group: usize) -> Option<f64> {
    let sampled = row.groups.get(group)?;
    if row.sample == SampleUnit::Batch { sampled.mean } else { sampled.median }
}

/// Returns the names of the boots to which the values belong; empty names if some boots have no value.
fn names(sampled: &Sampled, group: &Group) -> Vec<String> {
    match sampled.values.len() == group.boots.len() {
        true => group.boots.clone(),
        false => vec![String::new(); sampled.values.len()],
    }
}
