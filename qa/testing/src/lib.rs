//! Code shared by the tests of several crates, and by trials. It is never part of the program, since its functions
//! panic on errors.
//!
//! A module that needs other crates is behind a feature with its name, so that the tests of a crate build only what
//! they use. Such a module can be used by the integration tests (tests/it) of the crates that it needs, but not by
//! their unit tests, in which the crate's types would exist twice.

#![forbid(unsafe_code)]

pub mod book;
#[cfg(feature = "corpus")]
pub mod corpus;
#[cfg(feature = "deploy")]
pub mod deploy;
#[cfg(feature = "fix")]
pub mod fix;
mod golden;
pub mod hostile;
#[cfg(feature = "kbuild")]
pub mod kbuild;
pub mod protobuf;
#[cfg(feature = "runs")]
pub mod runs;
#[cfg(feature = "schema")]
pub mod schema;
#[cfg(feature = "sshd")]
pub mod sshd;

pub use golden::{golden, golden_page};

use std::path::{Path, PathBuf};

pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

pub fn machines() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("machines")).unwrap().map(|entry| entry.unwrap().path());
    let mut machines: Vec<PathBuf> = entries.filter(|path| path.join("machine.toml").is_file()).collect();
    machines.sort();
    machines
}
