//! Results of `kernel preflight`, `patch` and `configure`. The result of `kernel plan` is a [`Plan`](crate::Plan).

use crate::config::Dropped;
use crate::patch::index::Found;
use crate::{Check, Patched, Release};
use punctual_model::Finding;
use serde::Serialize;
use std::path::Path;

/// The result of `kernel preflight`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PreflightResult<'a> {
    pub board: &'a str,
    /// Checks, in the order in which they were made.
    pub checks: &'a [Check],
}

/// The result of `kernel patch`: a patch that fits a release, or a checked file.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum PatchResult<'a> {
    /// A patch from the published index that fits the release.
    Found {
        release: Release,
        found: &'a Found,
        /// URL of the folder that contains the patch.
        base: &'a str,
    },
    /// A file checked against its signature and a tree.
    Checked {
        patch: Patched,
        release: Release,
        /// Fingerprint of the key that signed the file.
        signed_by: &'a str,
        /// Fingerprint of the key that signed the list of checksums; null if there is no such list.
        sums_signed_by: Option<&'a str>,
        /// Number of files that the patch changes.
        files: usize,
        /// Number of hunks that apply at lines other than those stated in the patch.
        hunks_moved: usize,
    },
}

/// The result of `kernel configure`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigureResult<'a> {
    /// Path of the resulting `.config`.
    pub config: &'a Path,
    /// Number of requested options.
    pub requested: usize,
    /// Requested options that are missing from the result.
    pub dropped: &'a [Dropped],
    /// Findings of the audit's rules on configurations.
    pub findings: &'a [Finding],
}
