//! What an audit found.

use punctual_audit::Context;
use punctual_model::Finding;

/// A finished audit.
pub struct Audited {
    /// One a rule.
    pub findings: Vec<Finding>,
    /// What it was judged for.
    pub context: Context,
    pub machine: String,
}
