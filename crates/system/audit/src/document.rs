//! Results of `audit` and `snapshot`.

use crate::{Context, CpuPlan};
use punctual_model::Finding;
use serde::Serialize;

/// The result of `audit`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AuditResult<'a> {
    Findings {
        /// Name of the machine.
        machine: &'a str,
        profile: String,
        /// The application's CPUs.
        cpus: String,
        /// Its policy and priority.
        scheduling: String,
        /// One per rule, in every state.
        findings: &'a [Finding],
    },
    /// `--plan-cpus`.
    Plan {
        /// Name of the machine.
        machine: &'a str,
        plan: &'a CpuPlan,
    },
}

/// The result of `snapshot`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotResult {
    /// The new file.
    pub file: String,
    /// Number of files in it.
    pub files: usize,
}

impl<'a> AuditResult<'a> {
    /// `machine` is its name.
    pub fn findings(machine: &'a str, context: &Context, findings: &'a [Finding]) -> AuditResult<'a> {
        AuditResult::Findings {
            machine,
            profile: context.profile.to_string(),
            cpus: context.cpus.to_string(),
            scheduling: context.scheduling.to_string(),
            findings,
        }
    }
}
