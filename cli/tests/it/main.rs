//! The integration tests of the crate, in one program.

// clippy.toml is for the program, not for its tests.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)]

mod app;
mod audit;
mod audit_files;
mod bad_input;
mod bench;
mod book;
mod bound;
mod capabilities;
mod check;
mod claims;
mod common;
mod compare;
mod confined;
mod cyclictest;
// Checks all crates.
#[path = "../../../tests/deps.rs"]
mod deps;
mod ending;
mod events;
mod explain;
mod fix;
mod fleet;
mod formats;
mod golden;
mod hardware;
mod history;
mod hostile;
mod import;
mod injected;
mod kbuild;
mod kernel;
mod kernel_deploy;
mod live;
mod manual;
mod methods;
mod one_screen;
mod owner;
mod persist;
mod references;
mod sched;
#[cfg(feature = "reference-checks")]
mod schemas;
#[cfg(feature = "reference-checks")]
mod schemas_of_decisions;
mod tracing;
mod tracing_own;
mod tune;
mod until;
mod usdt;
mod wakeup_sources;
mod watch;
