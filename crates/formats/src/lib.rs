//! Foreign formats, one file each. So far one that is written: [`perfetto`], a trace and its verdicts for the viewer at
//! <https://ui.perfetto.dev>.
//!
//! Architecture invariant: pure. What is written goes to a writer that the caller opened; nothing here opens files or
//! judges what it writes.

#![forbid(unsafe_code)]

mod perfetto;
mod proto;

pub use perfetto::{Written, perfetto};
