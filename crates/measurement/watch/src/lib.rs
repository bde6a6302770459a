//! Watches a machine for weeks with less than 1 % of its CPU time. One thread per CPU measures into run directories of
//! six hours, of which the oldest are deleted. The largest latency of each CPU in every five minutes is kept
//! permanently, as in OSADL's long-term plots. Every new maximum is explained from a window of the trace. Reference:
//! docs/watch.md.
//!
//! The series survives kill -9 (the next start continues it), signals, a full disk, changes of the wall clock, and CPU
//! hotplug.
//!
//! Architecture invariant: this crate prints nothing; messages for the user are passed to [`OnMessage`]. Its use of
//! disk space and memory is bounded.

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
mod recording;
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
pub use options::{AppWatch, Keep, KeepError, Options, size};
pub use read::{is_watch, read};
pub use watching::{Done, watch, watch_signals};
