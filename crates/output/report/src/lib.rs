//! Reports on recorded runs and their verdicts: [`html`] for people, [`text`] for a terminal, [`json`] for programs,
//! [`csv`] for spreadsheets.
//!
//! All formats show the same figures, and [`words`] makes the sentences that HTML and text share. Untrusted text (host
//! and task names, command lines, kernel messages) is made harmless on output: control characters and direction marks
//! are shown as escapes, HTML is escaped, and no line is printed that a LAVA dispatcher would interpret.
//!
//! Architecture invariant: pure. The crate reads no clock and no file and uses no randomness: the same run gives the
//! same bytes. Arithmetic here is for display only; the judge decides what a run proves.

#![forbid(unsafe_code)]

mod application;
mod bench;
mod bounds;
mod check;
mod comparison;
mod composed;
mod csv;
mod date;
mod document;
mod experiment;
mod figures;
pub mod fix;
mod fleet;
mod hardware;
mod history;
mod html;
mod import;
mod json;
mod linuxcnc;
mod number;
mod references;
mod suite;
mod svg;

mod text;
pub mod tune;
mod watch;
mod why;
pub mod words;

use punctual_clean as clean;

pub use application::application_text;
pub use bench::{bench_csv, bench_html, bench_line, bench_text};
pub use bounds::Quantile;
pub use check::{CheckListing, check_html, check_text};
pub use comparison::{
    ComparisonResult, Decision, comparison_html, comparison_json, comparison_summary, comparison_text,
};
pub use composed::latency_bound_text;
pub use csv::csv;
pub use date::{utc, utc_mail, utc_of};
pub use document::{Document, ResultOrError, json_line, json_text, json_value};
pub use experiment::{experiment_csv, experiment_html, experiment_text, experiment_verdict};
pub use figures::{Cell, Figures, QUANTILES, Row, recorded_ns};
pub use fleet::{fleet_html, fleet_text};
pub use hardware::hardware_text;
pub use history::{GateResult, HistoryResult, gate_json, gate_text, history_html, history_json, history_text};
pub use html::html;

pub use import::{ImportResult, import_json};
pub use json::{RunResult, json};
pub use linuxcnc::linuxcnc;
pub use references::{CheckedResult, Contribution, ReferencesResult, contribution, references_board, references_list};
pub use suite::{suite_csv, suite_html, suite_line, suite_text};
pub use text::{Listing, Place, SUMMARY_LINES, TextStyle, audit_list, summary, text};
pub use watch::{moments, watch_html, watch_started, watch_status, watch_text};
pub use why::{
    causes_so_far, explanation_html, explanation_summary, explanation_text, timeline_text, worst_timeline_text,
};
