//! Watches a machine for weeks at less than 1 % of its CPU time: one measuring thread per CPU; run directories of six
//! hours, of which the oldest are deleted; the maximum latency of each CPU in every five minutes, kept forever (OSADL's
//! long-term view); every new maximum explained by a window of the trace. Reference: docs/watch.md.
//!
//! Survives kill -9 (the next start continues the series), signals, a full disk, steps of the wall clock and CPU
//! hotplug.
//!
//! Architecture invariant: prints nothing; messages for the user are passed to [`OnMessage`]. Disk space and memory are
//! bounded.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod budget;
mod child;
mod error;
mod keep;
mod ledger;
mod lines;
mod notify;
mod options;
mod own;
mod read;
mod segment;
mod state;
#[cfg(test)]
mod tests;
mod tracer;
mod watching;
#[cfg(test)]
mod weeks;

pub use child::{EXPLAIN_ARG, explain_main};
pub use error::WatchError;
pub use ledger::OnMessage;
pub use options::{Keep, KeepError, Options, size};
pub use read::{is_watch, read};
pub use watching::{Done, watch};
