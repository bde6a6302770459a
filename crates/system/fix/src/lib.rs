//! Applies the audit's advice to a machine, and undoes it exactly.
//!
//! [`Request::plan`] turns findings into concrete steps without changing anything. [`fix`] applies them, but first
//! records each with the old state in the [`Journal`]. [`undo`] compares the current state with the written and the old
//! one, and restores only what this program changed. See docs/adr/0014-fix-and-undo.md.
//!
//! Architecture invariant: every change is in the journal and synced before it is made; this crate prints nothing;
//! every operation on the machine goes through [`System`].

#![forbid(unsafe_code)]

mod act;
mod back;
mod carry;
mod change;
mod commands;
mod companions;
mod compare;
mod copies;
mod daemons;
mod document;
mod draft;
mod faulty;
mod files;
mod fix;
mod form;
mod glob;
mod journal;
mod look_back;
mod parameters;
mod plan;
mod real;
mod record;
mod system;
mod task;
mod trial;
mod undo;
mod watchdog;

pub use carry::{Carried, Doing, look};
pub use change::{Change, Kept, Thread};
pub use compare::Outcome;
pub use daemons::writers;
pub use document::{FixResult, StepKind, StepPart, UndoResult};
pub use faulty::{Fault, Faulty};
pub use files::diff;
pub use fix::{Asked, FixOptions, Fixed, RuleDone, fix, open};
pub use form::Form;
pub use journal::{Entry, FOLDER, Journal, JournalError, Set, State};
pub use parameters::{BootNotes, How, OneBoot, Parameters, TRIAL_FILE, TRIAL_RULE, Tried, tried};
pub use plan::{BOOT_RULE, BootChain, BootWish, Plan, Request, RulePlan, UnknownRule};
pub use real::Real;
pub use system::{Attributes, Kind, Lock, Ran, System};
pub use trial::{OnTrial, keep, revert, try_rule};
pub use undo::{Taken, Undone, guard, recover, undo};
pub use watchdog::{armed, removes_protection};
