//! `punctual cyclictest` accepts the options of cyclictest (rt-tests 2.x) and reproduces its threads and output, so
//! that scripts need only another command name. Where cyclictest silently does something wrong, this command reports an
//! error or a warning; see docs/cyclictest.md.
//!
//! ```text
//! options ──▶ plan (a line a thread) ──▶ worker (one thread each) ──▶ stat ──▶ text, json
//! ```
//!
//! Architecture invariant: the workers only sleep and count. Only the main thread prints, formats and opens files; it
//! stays off the measured CPUs if possible.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod error;
#[cfg(test)]
mod golden;
mod idle;
mod json;
mod options;
mod output;
mod plan;
mod report;
mod run;
mod sleeper;
mod stat;
mod text;
mod watch;
mod worker;

pub use error::RunError;
pub use options::{FormatVersion, Options, UsageError, parse};
pub use run::run;

pub const HELP: &str = include_str!("help.txt");
