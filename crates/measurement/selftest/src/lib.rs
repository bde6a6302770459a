//! Checks that the measuring engine reports real delays. Delays of known length are injected on the measured CPU. Each
//! must be reported with its length, CPU and time, and every period must be accounted for.
//!
//! ```text
//! inject (spinner above the measuring thread, fork) ──log──▶ judge ◀──Outcome── measure
//! ```
//!
//! An injected delay lasts at most 20 ms and affects one CPU; another CPU stays free.

#![forbid(unsafe_code)]

mod inject;
mod judge;
mod run;

pub use inject::{Injected, Kind};
pub use judge::{Check, judge};
pub use run::{SelfTestError, Tested, selftest};
