//! Foreign formats, one file each. Written are [`perfetto`], a trace and its verdicts for the viewer at
//! <https://ui.perfetto.dev>, and [`bundle`], the kernel's text of one late wakeup for a bug report.
//!
//! Architecture invariant: pure. What is written goes to a writer that the caller opened; nothing here opens files or
//! judges what it writes.

#![forbid(unsafe_code)]

mod bundle;
mod perfetto;
mod proto;

pub use bundle::{BundleHead, bundle, bundle_head};
pub use perfetto::{Written, perfetto};
