//! `punctual cyclictest` accepts the options of cyclictest (rt-tests 2.x) and reproduces its threads and its output, so
//! that in scripts only the command name must be changed. Where cyclictest silently behaves incorrectly, this command
//! reports an error or a warning: see docs/cyclictest.md.
//!
//! ```text
//! options ──▶ plan (a line a thread) ──▶ worker (one thread each) ──▶ stat ──▶ text, json
//! ```
//!
//! Architecture invariant: the workers only sleep and count. All printing, formatting and opening of files is done in
//! the main thread, which is kept off the measured CPUs if possible.

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
