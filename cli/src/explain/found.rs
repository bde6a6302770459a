//! What `explain` found, wherever it looked.

use punctual_explain::{Explanation, Timeline};
use std::path::PathBuf;

/// What was found out.
pub struct Found {
    pub explanation: Explanation,
    /// Of the victims, in their order; empty where none is wanted.
    pub timelines: Vec<Option<Timeline>>,
    /// In front of each victim's sentence: the load it was measured under and the time, or its time in the trace.
    pub places: Vec<String>,
    pub format: String,
    /// What it is of, for headings.
    pub name: String,
    /// The trace with the worst wakeup, if there is a file of it.
    pub trace: Option<PathBuf>,
    /// The exit code, where it says more than whether something was found.
    pub code: Option<u8>,
}
