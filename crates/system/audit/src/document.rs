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
        /// The application's policy and priority.
        scheduling: String,
        /// One finding per rule, whatever its state.
        findings: &'a [Finding],
    },
    /// The result of `audit --plan-cpus`.
    Plan {
        /// Name of the machine.
        machine: &'a str,
        plan: &'a CpuPlan,
    },
}

/// The result of `snapshot`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SnapshotResult {
    Machine {
        /// Path of the snapshot that was written.
        file: String,
        /// Number of files in the snapshot.
        files: usize,
    },
    Contribution {
        /// Path of the snapshot that was written.
        file: String,
        /// Number of measurements in the snapshot.
        measurements: usize,
        /// Parts of the run that the file omits.
        left_out: Vec<String>,
    },
}

impl<'a> AuditResult<'a> {
    /// Creates the result of an audit; `machine` is the name of the machine.
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
