//! Checks that the engine reports actual delays. Delays of known length are injected on the CPU that it measures. Each
//! must be reported with its length, CPU and time, and every period must be accounted for.
//!
//! ```text
//! inject (spinner above the measuring thread, fork) ──log──▶ judge ◀──Outcome── measure
//! ```
//!
//! An injected delay lasts at most 20 ms and stays on one CPU, while another CPU stays free for other tasks.

#![forbid(unsafe_code)]

mod inject;
mod judge;
mod run;

pub use inject::{Injected, Kind};
pub use judge::{Check, judge};
pub use run::{SelfTestError, Tested, selftest};
