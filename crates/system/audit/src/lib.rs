//! What keeps this machine from being on time: rules as data, judged on what was read.
//!
//! A rule is one file under `rules/` ([`Rule`] documents its form): what it reads, and an ordered list of cases, each a
//! condition, a state and a sentence. A condition on something that could not be read is neither true nor false, so a
//! rule comes out as PASS only when what was read admits nothing else. Logic that data cannot express is a small typed
//! probe that a rule names where it would name a file.
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
//! Architecture invariant: nothing here opens a file, makes a system call or changes the machine; all it knows comes
//! through [`punctual_machine::Machine`], so that a recorded machine is judged as a live one.

#![forbid(unsafe_code)]

mod calls;
mod context;
mod explain;
mod fixes;
mod glob;
mod import;
mod interrupts;
mod judge;
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
pub use fixes::RtThread;
pub use import::{Lookup, Reference, Referred};
pub use offers::{Offers, Trial};
pub use plan::{BootParameter, CpuPlan, IrqPlan, Movable, PlanError, PlanWish};
pub use profile::{ProfileFileError, Today};
pub use rule::{Action, Fix, Group, Rule, RuleError};
pub use rules::Rules;

use punctual_machine::Machine;
use punctual_model::Finding;

/// Judges every embedded rule on a machine; one finding a rule, in the order of the rules' table.
pub fn audit(machine: &dyn Machine, context: &Context) -> Vec<Finding> {
    Rules::embedded().audit(machine, context)
}
