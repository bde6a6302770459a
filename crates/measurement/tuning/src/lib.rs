//! A machine tuned: the search of `punctual-tune` over real fixes (`punctual-fix`) and real measurements (`punctual-proof`).
//!
//! [`Wanted::choose`] says which fixes can be tried, [`seek`] tries them, [`conclude`] proves what came of it in a run of full length.
//! See docs/adr/0015-tune.md.
//!
//! Architecture invariant: prints nothing; a change is made only through the journal of fixes, and one on trial outlives neither
//! [`seek`] nor, at the program's next start, its death.

#![forbid(unsafe_code)]

mod bench;
mod choose;
mod objective;
mod seek;

pub use choose::{Chosen, Prepared, Wanted};
pub use objective::{Objective, ObjectiveError};
pub use seek::{Options, Place, Sought, TuneError, conclude, seek};
