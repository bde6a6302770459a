//! Results of `kernel preflight`, `patch` and `configure`. That of `kernel plan` is a [`Plan`](crate::Plan).

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
    /// The board's key.
    pub board: &'a str,
    /// In the order they were made.
    pub checks: &'a [Check],
}

/// The result of `kernel patch`: a patch that fits a release, or a file that was checked.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum PatchResult<'a> {
    /// A patch of an index that fits.
    Found {
        release: Release,
        found: &'a Found,
        /// URL of the directory.
        base: &'a str,
    },
    /// A file checked against its signature and a tree.
    Checked {
        patch: Patched,
        /// Release of the tree.
        release: Release,
        /// Fingerprint of the key.
        signed_by: &'a str,
        /// Fingerprint of the key of the list of checksums; null without a list.
        sums_signed_by: Option<&'a str>,
        /// Number of files that it changes.
        files: usize,
        /// Number of hunks that fit at other lines than stated.
        hunks_moved: usize,
    },
}

/// The result of `kernel configure`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigureResult<'a> {
    /// The `.config`.
    pub config: &'a Path,
    /// Number of requested options.
    pub requested: usize,
    /// Requested options that the result does not have.
    pub dropped: &'a [Dropped],
    /// Findings of the audit's rules on configurations.
    pub findings: &'a [Finding],
}
