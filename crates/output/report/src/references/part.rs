//! The published figures in the JSON document.

use super::{Entry, flavour, in_ns, none, published, sentences, worst_ns};
use crate::figures::Figures;
use punctual_references::{Board, Flavour, Problem, Scope};
use serde::Serialize;

/// Result of `punctual references`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferencesResult {
    pub boards: Vec<&'static Board>,
}

/// Result of `punctual references check`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedResult {
    pub file: String,
    /// Problems in the order of lines; empty if the file is complete.
    pub problems: Vec<Problem>,
}

/// Published figures that are comparable with the run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PublishedPart {
    /// The board's key; null if there are no comparable figures for it.
    board: Option<&'static str>,
    /// Processor core of the boards in `entries`, if they are other boards.
    #[serde(skip_serializing_if = "Option::is_none")]
    core: Option<&'static str>,
    /// Either `stock` or `PREEMPT_RT`; null if unknown.
    kernel: Option<&'static str>,
    /// The run's worst wakeup; null if it has no comparable wakeup.
    worst_ns: Option<u64>,
    /// The reason why there are no figures; null if there are some.
    note: Option<String>,
    /// Sentences that compare the run's worst wakeup with the published figures.
    sentences: Vec<String>,
    /// Entries with conditions and source; the most comparable first.
    entries: Vec<EntryPart>,
}

/// One published worst latency.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct EntryPart {
    /// The board's key.
    board: &'static str,
    /// The worst wakeup of all threads.
    worst_ns: u64,
    /// True if the source gives a rounded figure, or the end of a range.
    approximate: bool,
    /// Either `stock` or `PREEMPT_RT`.
    kernel: &'static str,
    /// Kernel release, as printed by `uname -r`.
    kernel_release: &'static Option<String>,
    /// Load during the measurement; null if the source does not state it. The same holds for all members below.
    load: &'static Option<String>,
    /// Isolation and tuning.
    tuning: &'static Option<String>,
    duration_s: Option<u64>,
    wakeups_per_thread: Option<u64>,
    /// Number of measuring threads.
    threads: Option<u64>,
    tool: &'static Option<String>,
    /// Options of the tool.
    options: &'static Option<String>,
    /// Other conditions that the source states.
    note: &'static Option<String>,
    /// Title of the page, paper or repository.
    source: &'static str,
    url: &'static Option<String>,
    /// Date of the measurement, a day or a year.
    date: &'static Option<String>,
    year: Option<u16>,
}

impl PublishedPart {
    pub(crate) fn new(figures: &Figures) -> PublishedPart {
        let found = published(figures.recording);
        let (board, core) = match found.as_ref().map(|found| found.scope) {
            Some(Scope::Board(board)) => (Some(board.key.as_str()), None),
            Some(Scope::Core(core)) => (None, Some(core)),
            None => (None, None),
        };
        PublishedPart {
            board,
            core,
            kernel: flavour(figures.recording).map(Flavour::name),
            worst_ns: worst_ns(figures),
            note: none(figures),
            sentences: sentences(figures),
            entries: found.into_iter().flat_map(|found| found.entries).map(EntryPart::new).collect(),
        }
    }
}

impl EntryPart {
    fn new((board, p): Entry) -> EntryPart {
        EntryPart {
            board: &board.key,
            worst_ns: in_ns(p),
            approximate: p.approximate,
            kernel: p.flavour.name(),
            kernel_release: &p.kernel,
            load: &p.load,
            tuning: &p.tuning,
            duration_s: p.duration_s,
            wakeups_per_thread: p.samples,
            threads: p.threads,
            tool: &p.tool,
            options: &p.options,
            note: &p.note,
            source: &p.source,
            url: &p.url,
            date: &p.date,
            year: p.date.as_ref().and_then(|date| date.get(..4)?.parse().ok()),
        }
    }
}
