//! Result of an audit.

use punctual_audit::Context;
use punctual_model::Finding;

pub struct Audited {
    /// The findings, one per rule.
    pub findings: Vec<Finding>,
    /// Purpose and CPUs that the findings were judged for.
    pub context: Context,
    pub machine: String,
    /// The board, if there is a page about it.
    pub board: Option<&'static punctual_references::Board>,
}
