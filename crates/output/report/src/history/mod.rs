mod chart;
mod gate;
mod html;
mod text;
pub(crate) mod words;

use punctual_model::history::{Gate, History, RunSummary};
use serde_json::{Value, json};

pub use gate::gate_text;
pub use html::history_html;
pub use text::history_text;

pub fn history_json(history: &History) -> Value {
    let mut value = json!(history);
    value["sentences"] = words::sentences(history).into();
    for (group, shown) in history.groups.iter().zip(value["groups"].as_array_mut().into_iter().flatten()) {
        shown["clock"] = if group.virtual_time.is_some() { "virtual" } else { "real" }.into();
        shown["settings"] = group.settings.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let series = shown["series"].as_array_mut().into_iter().flatten();
        for (series, shown) in group.series.iter().zip(series) {
            shown["sentences"] = words::of_series(series).into();
        }
    }
    value
}

pub fn gate_json(found: &Gate) -> Value {
    let mut value = json!(found);
    value["sentences"] = gate::sentences(found).into();
    value
}

/// A run's ID, shortened; unique among some thousands.
pub(crate) fn short(id: &str) -> String {
    id.chars().take(10).collect()
}

/// `2026-01-02 03:04`
pub(crate) fn when(started_ns: Option<u64>) -> String {
    let utc = |ns: u64| crate::utc(ns).chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect();
    started_ns.map_or_else(|| "time not told".into(), utc)
}

pub(crate) fn kernel(run: &RunSummary) -> &str {
    run.kernel.release.as_deref().unwrap_or("not told")
}
