//! Results of `history add`, `remove` and `baseline`.

use serde::Serialize;

/// The result of `history add`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddResult {
    /// Path of the database.
    pub db: String,
    pub runs: Vec<AddedRun>,
    pub failed: Vec<NotAdded>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddedRun {
    /// ID of the run.
    pub run: String,
    pub path: String,
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^(added|brought up to date|known already)$")))]
    pub what: &'static str,
}

/// A path that could not be added.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotAdded {
    pub path: String,
    pub why: String,
}

/// The result of `history remove`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoveResult<'a> {
    /// ID of the removed run.
    pub removed: &'a str,
}

/// The result of `history baseline`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum BaselineResult {
    Set(Baseline),
    /// Result of `history baseline remove`.
    Removed {
        /// Name of the baseline.
        removed: String,
    },
    /// Result of `history baseline list`.
    Listed {
        baselines: Vec<Baseline>,
    },
}

/// A named set of runs.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Baseline {
    pub name: String,
    /// IDs of the runs in the baseline.
    pub runs: Vec<String>,
}
