mod chart;
mod gate;
mod html;
mod text;
pub(crate) mod words;

use crate::json::clock;
use punctual_model::history::{Figure, Gate, History, HistoryGroup, HistorySeries, RunSummary};
use serde::Serialize;
use std::collections::BTreeMap;

pub use gate::gate_text;
pub use html::history_html;
pub use text::history_text;

/// The result of `history`: the figures and the sentences about them.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryResult<'a> {
    figures: &'a [Figure],
    /// Requested rate of false alarms per year, over all series.
    alarms_per_year: f64,
    /// Number of series with enough runs to be watched.
    watched: usize,
    /// Runs by machine and settings, with the group of the most recent run first.
    groups: Vec<HistoryGroupPart<'a>>,
    /// Sentences on what changed.
    sentences: Vec<String>,
}

/// A group of comparable runs.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct HistoryGroupPart<'a> {
    machine: &'a str,
    /// Clock model; null for real time.
    virtual_time: &'a Option<String>,
    /// Either `real` or `virtual`.
    clock: &'static str,
    settings: BTreeMap<&'a str, &'a str>,
    /// The runs in chronological order; runs without a time are last.
    runs: &'a [RunSummary],
    /// Distinct hosts of the runs.
    hosts: &'a [String],
    /// One series per load and figure, and per run length if the figure grows with the length.
    series: Vec<HistorySeriesPart<'a>>,
}

/// One figure under one load over time, with sentences about it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct HistorySeriesPart<'a> {
    #[serde(flatten)]
    series: &'a HistorySeries,
    /// Sentences on what changed.
    sentences: Vec<String>,
}

/// The result of `history gate`: the run compared with its baseline, and sentences about it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateResult<'a> {
    #[serde(flatten)]
    gate: &'a Gate,
    sentences: Vec<String>,
}

pub fn history_json(history: &History) -> HistoryResult<'_> {
    HistoryResult {
        figures: &history.figures,
        alarms_per_year: history.alarms_per_year,
        watched: history.watched,
        groups: history.groups.iter().map(HistoryGroupPart::new).collect(),
        sentences: words::sentences(history),
    }
}

impl<'a> HistoryGroupPart<'a> {
    fn new(group: &'a HistoryGroup) -> HistoryGroupPart<'a> {
        let series = |series| HistorySeriesPart { series, sentences: words::of_series(series) };
        HistoryGroupPart {
            machine: &group.machine,
            virtual_time: &group.virtual_time,
            clock: clock(&group.virtual_time),
            settings: group.settings.iter().map(|(name, value)| (*name, value.as_str())).collect(),
            runs: &group.runs,
            hosts: &group.hosts,
            series: group.series.iter().map(series).collect(),
        }
    }
}

pub fn gate_json(gate: &Gate) -> GateResult<'_> {
    GateResult { gate, sentences: gate::sentences(gate) }
}

/// Returns the shortened ID of a run, which is unique among a few thousand runs.
pub(crate) fn short(id: &str) -> String {
    id.chars().take(10).collect()
}

/// Formats a start time: `2026-01-02 03:04`.
pub(crate) fn when(started_ns: Option<u64>) -> String {
    let utc = |ns: u64| crate::utc(ns).chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect();
    started_ns.map_or_else(|| "time not recorded".into(), utc)
}

pub(crate) fn kernel(run: &RunSummary) -> &str {
    run.kernel.release.as_deref().unwrap_or("not recorded")
}
