//! Foreign formats, one file each.
//!
//! What test harnesses collect ([`junit`], [`tap`], [`lava`], [`kcidb`], [`squad`], [`bencher`]) is made of one intermediate
//! form, [`Cases`]: named outcomes and figures of a run, an event suite, a benchmark or an audit. [`prometheus`] and
//! [`cyclictest_text`], [`cyclictest_json`] need the distributions and take the recording itself, [`sarif`] takes the audit's
//! findings. [`perfetto`] is a trace and its verdicts for the viewer at <https://ui.perfetto.dev>, and [`bundle`] the kernel's
//! text of one late wakeup for a bug report.
//!
//! What comes from outside (host and task names, loads, kernel messages) passes `punctual_report::clean` and then the escapes of
//! the format; names that a consumer takes apart are [slugs](Names) of `[a-zA-Z0-9_-]`.
//!
//! Architecture invariant: pure. What is written goes to a string or a writer that the caller opened; nothing here opens files,
//! has a clock or judges what it writes.

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
pub use sarif::sarif;
pub use squad::{squad_metrics, squad_tests};
pub use tap::tap;
pub use watch::watch_prometheus;
