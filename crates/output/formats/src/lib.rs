//! Writers of the formats of other tools, with one module each.
//!
//! Formats for test harnesses ([`junit`], [`tap`], [`lava`], [`kcidb`], [`squad`], [`bencher`]) are made from
//! [`Cases`]: named outcomes and figures of a run, an event suite, a benchmark or an audit. [`prometheus`],
//! [`cyclictest_text`] and [`cyclictest_json`] need the distributions and use the recording; [`sarif`] uses the
//! findings of the audit. [`perfetto`] writes a trace with its verdicts for the viewer at <https://ui.perfetto.dev>,
//! and [`bundle`] writes the kernel text of a late wakeup for a bug report.
//!
//! Untrusted text (host and task names, loads, kernel messages) is sanitised by `punctual_report::clean` and then
//! escaped as the format requires. Names that a consumer parses are [slugs](Names) of `[a-zA-Z0-9_-]`.
//!
//! Architecture invariant: pure. Output is written to a string or to a writer opened by the caller. This crate opens no
//! files, reads no clock and judges nothing.

#![forbid(unsafe_code)]

mod bencher;
mod bundle;
mod cases;
mod cyclictest;
mod junit;
mod kcidb;
mod lava;
mod perfetto;
mod prometheus;
mod proto;
mod sarif;
mod squad;
mod table;
mod tap;
mod watch;

pub use bencher::bencher;
pub use bundle::{BundleHead, bundle, bundle_head};
pub use cases::{About, Case, CaseOutcome, Cases, Figure, FigureUnit, Group, Names, slug};
pub use cyclictest::{CyclictestError, cyclictest_json, cyclictest_text};
pub use junit::junit;
pub use kcidb::{KcidbError, KcidbIds, kcidb};
pub use lava::lava;
pub use perfetto::{Written, perfetto};
pub use prometheus::{BUCKETS_S, prometheus};
pub use sarif::{check_sarif, sarif};
pub use squad::{squad_metrics, squad_tests};
pub use table::{FORMATS, Format, Subject, Writer};
pub use tap::tap;
pub use watch::watch_prometheus;
