//! Audits a machine for real time: rules as data, applied to readings of its files.
//!
//! A rule is one file under `rules/` ([`Rule`] documents its form): its reads, and an ordered list of cases, each a
//! condition, a state and a sentence. A condition on something that could not be read is neither true nor false, so a
//! rule is PASS only if every possible content of unread files gives PASS. Logic that data cannot express is a small
//! typed probe, which a rule names in place of a file.
//!
//! ```
//! use punctual_audit::{Context, Profile, audit};
//! use punctual_machine::Live;
//! use punctual_units::{Priority, Scheduling};
//!
//! let priority = Priority::try_from(90).unwrap();
//! let context = Context {
//!     scheduling: Scheduling::Fifo { priority },
//!     cpus: "0".parse().unwrap(),
//!     profile: Profile::ControlLoop,
//! };
//! for finding in audit(&Live::new(), &context) {
//!     println!("{:?} {}: {}", finding.state, finding.id, finding.summary);
//! }
//! ```
//!
//! Architecture invariant: this crate opens no files, makes no system calls and changes nothing. Everything is read
//! through [`punctual_machine::Machine`], so a recorded machine is judged like a live one.

#![forbid(unsafe_code)]

mod calls;
mod cmdline;
mod config_txt;
mod context;
mod document;
mod explain;
mod fixes;
mod glob;
mod import;
mod interrupts;
mod judge;
mod memo;
mod offers;
mod owner;
mod plan;
mod probes;
mod profile;
mod reading;
mod rule;
mod rules;
mod say;
mod sight;
mod tasks;
mod truth;

pub use calls::Calls;
pub use context::{Context, Profile, ProfileError};
pub use document::{AuditResult, SnapshotResult};
pub use fixes::RtThread;
pub use import::{Lookup, Reference, Referred};
pub use offers::{Offers, Trial};
pub use plan::{BootParameter, CpuPlan, IrqPlan, Misfit, Movable, PlanError, PlanWish, proposes};
pub use profile::{ProfileFileError, Today};
pub use rule::{Action, Fix, Group, Rule, RuleError};
pub use rules::Rules;

use punctual_machine::Machine;
use punctual_model::Finding;

/// Judges every embedded rule; returns one finding per rule, in the order of `rules.txt`.
pub fn audit(machine: &dyn Machine, context: &Context) -> Vec<Finding> {
    Rules::embedded().audit(machine, context)
}
