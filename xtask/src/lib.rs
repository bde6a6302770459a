//! `cargo xtask`: builds, packages and releases, writes JSON Schemas, runs the live tests, and gives documents to the
//! programs that read them.
//!
//! It is also a library, with which the trials (qa/trials) find directories and programs in the same way.

#![forbid(unsafe_code)]

mod consumers;
mod cross;
mod live;
mod pack;
#[cfg(feature = "reference-checks")]
mod schemas;

use clap::{Parser, Subcommand};
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Build, package and check punctual
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
pub struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Cross(cross::Options),
    /// Check that the release binary is not larger than docs/cross.md allows
    Size {
        /// Binary to check; by default the one last built with the profile `dist`
        file: Option<PathBuf>,
    },
    /// Build the Debian package of a target into dist/ (docs/packages.md)
    Deb {
        /// Target to build for
        #[arg(value_parser = cross::names())]
        target: String,
    },
    /// Build the package punctual-rt-dev for this machine into dist/: programs in C, C++ and Rust (docs/packages.md)
    RtDev,
    /// Install a package in a fresh Debian, measure with it, purge it, and check that nothing is left; as root
    DebCheck {
        /// Target whose package is checked
        #[arg(value_parser = cross::names())]
        target: String,
    },
    /// Build programs, packages, archives, bills of materials (CycloneDX) and SHA256SUMS into dist/
    Release {
        /// Target to build for
        #[arg(value_parser = cross::names(), default_value = "all")]
        target: String,
    },
    /// Write the JSON Schemas of the program's own formats, made from its types, into docs/schemas
    Schemas,
    Consumers(consumers::Options),
    Live(live::Options),
}

impl Arguments {
    /// Runs the command.
    ///
    /// # Errors
    /// A message for the user that says what failed.
    pub fn run(self) -> Result<(), String> {
        match self.task {
            Task::Cross(options) => cross::run(&options),
            Task::Size { file } => pack::size(file),
            Task::Deb { target } => pack::deb(&target),
            Task::RtDev => pack::dev(),
            Task::DebCheck { target } => pack::check(&target),
            Task::Release { target } => pack::release(&target),
            #[cfg(feature = "reference-checks")]
            Task::Schemas => schemas::run(&[]),
            #[cfg(not(feature = "reference-checks"))]
            Task::Schemas => {
                Err("this needs a feature; run cargo run -p xtask --features reference-checks schemas".into())
            }
            Task::Consumers(options) => consumers::run(&options),
            Task::Live(options) => live::run(&options),
        }
    }
}

pub fn exit_code(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

pub fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

pub fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the path of the release build of `punctual`.
pub fn punctual() -> PathBuf {
    target_dir().join("release/punctual")
}

/// Returns the directory of tools that are not installed in the system.
pub fn tools_dir() -> PathBuf {
    let home = env::var_os("HOME").map_or_else(|| PathBuf::from("."), PathBuf::from);
    home.join(".cache/punctual/consumers")
}
