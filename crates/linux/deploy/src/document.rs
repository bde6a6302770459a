//! Results of `kernel deploy`, `verify` and `commit`. The result of `rollback` is [`Back`](crate::Back), the result of
//! `status` is [`Status`](crate::Status).

use crate::{Check, Deployed};
use serde::Serialize;

/// The result of `kernel deploy`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeployResult<'a> {
    /// Checks made before anything was changed.
    checks: &'a [Check],
    notes: &'a [String],
    /// Output of `uname -r` for the installed kernel; null if nothing was changed.
    release: Option<&'a str>,
    /// ID of the deployment; null if nothing was changed.
    id: Option<&'a str>,
}

/// The result of `kernel verify`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyResult<'a> {
    /// Checks, in the order in which they were made.
    pub checks: &'a [Check],
}

/// The result of `kernel commit`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitResult<'a> {
    /// The kernel that boots by default from now on.
    pub release: &'a str,
}

impl<'a> DeployResult<'a> {
    pub fn new(deployed: &'a Deployed) -> DeployResult<'a> {
        let record = deployed.record.as_ref();
        DeployResult {
            checks: &deployed.checks,
            notes: &deployed.notes,
            release: record.map(|record| record.release.as_str()),
            id: record.map(|record| record.id.as_str()),
        }
    }
}
