//! Result of an audit.

use punctual_audit::Context;
use punctual_model::Finding;

pub struct Audited {
    /// The findings, one per rule.
    pub findings: Vec<Finding>,
    /// Purpose and CPUs for which the machine was audited.
    pub context: Context,
    pub machine: String,
    /// The board, if it has published latencies.
    pub board: Option<&'static punctual_references::Board>,
}
