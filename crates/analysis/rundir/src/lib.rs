//! The only reader and writer of run directories. Reference: docs/run-directory.md.
//!
//! Writing is crash-safe: while a phase runs, its results so far are appended with checksums to `segments/`; when it
//! ends they become files, each written under a temporary name and renamed. A run killed at any instant can be read.
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
