//! Does the engine report what happens? Delays of known size are planted on the CPU it measures, and each has to be found: in size,
//! on that CPU, at that time, with every period accounted for. No established tool tests itself so.
//!
//! ```text
//! plant (spinner above the measuring thread, fork) ──log──▶ judge ◀──Outcome── measure
//! ```
//!
//! What is planted lasts at most 20 ms at a time and stays on one CPU; another is kept free for everything else.

#![forbid(unsafe_code)]

mod judge;
mod plant;
mod run;

pub use judge::{Check, judge};
pub use plant::{Kind, Planted};
pub use run::{SelfTestError, Tested, selftest};
