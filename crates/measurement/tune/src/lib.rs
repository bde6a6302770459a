//! Tunes a machine. Each fix of the audit (`punctual-fix`) is evaluated in pairs of measurement blocks with and without
//! it (`punctual-proof`), and kept only if independent pairs show that it helps.
//!
//! [`Wanted::choose`] selects the fixes to try, [`seek`] tries them, and [`conclude`] verifies the result with a run of
//! full length. The statistics and the order of the trials are in [`search`], which has no side effects. See
//! docs/adr/0015-tune.md.
//!
//! Architecture invariant: prints nothing. Changes are made only through the journal of fixes. A fix on trial is undone
//! by [`seek`] or, if that is killed, at the program's next start.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod bench;
mod choose;
mod objective;
mod options;
mod power;
pub mod search;
mod seek;

pub use choose::{Chosen, Prepared, Wanted};
pub use objective::{Objective, ObjectiveError};
pub use options::{Options, Place, WORK};
pub use seek::{Sought, TuneError, conclude, seek};
