//! Reads and writes run directories. All other crates use it. Reference: docs/run-directory.md.
//!
//! Writing is crash-safe. While a phase runs, its results so far are appended with checksums to `segments/`. When it
//! ends, they are written to files, each under a temporary name that is then renamed. A run killed at any time can be
//! read.
//!
//! Architecture invariant: judges nothing and computes nothing from samples.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod appended;
mod bench;
mod bench_reader;
mod brief;
mod error;
mod events;
mod files;
mod finished;
mod layout;
mod reader;
mod segment;
mod text;
mod writer;

pub use bench::BenchWriter;
pub use error::Error;
pub use files::open as open_regular;
pub use finished::{attach, attach_causes, capture_text, replace_worst};
pub use layout::{HistogramFile, TUNE};
pub use reader::{read, read_brief, read_dir};
pub use writer::{DiskUse, Progress, Writer};

#[cfg(test)]
mod tests;
