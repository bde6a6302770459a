//! Result of `explain`, in the same form for all sources.

use punctual_explain::{Explanation, Timeline};
use std::path::PathBuf;

pub struct Found {
    pub explanation: Explanation,
    /// One timeline for each explained wakeup, in order; empty if no timeline is requested.
    pub timelines: Vec<Option<Timeline>>,
    /// Prefix of the sentence about each wakeup: its load and time, or its time in the trace.
    pub places: Vec<String>,
    pub format: String,
    /// Name of the source, for headings.
    pub name: String,
    /// File with the trace of the worst wakeup.
    pub trace: Option<PathBuf>,
    /// Exit code instead of the usual one, if any.
    pub code: Option<u8>,
}
