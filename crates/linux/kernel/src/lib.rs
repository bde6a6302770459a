//! Kernels: which one a board needs and the cheapest trustworthy way to it ([`plan()`]), which published patch fits a source tree
//! exactly ([`patch`]), what a build needs before it is begun ([`preflight()`]), and whether a configuration holds what was asked for ([`config`]).
//!
//! Boards are `boards/*.toml` at the repository's root, series and packages `versions.toml`: data with its source, and with
//! what it was verified by.
//!
//! Architecture invariant: a plan is pure, so that recorded machines are planned for like live ones. Programs are run by
//! [`host`] (compilers), [`patch`] (xz, gpgv, sha256sum, patch) and [`config::make`] (make). Only the latter, into one new folder, and
//! [`patch::apply::apply`], into the tree it is given, write.

#![forbid(unsafe_code)]

mod boards;
pub mod config;
pub mod host;
pub mod patch;
mod plan;
mod preflight;
pub mod programs;
mod version;
mod versions;

pub use boards::{Arch, Board, BoardError, BootWay, Mainline, Need, PiNames, Verified, board, boards, detect};
pub use plan::{Estimate, Plan, PlanError, Situation, Source, Step, System, Tracer, UnknownTracer, Wish, plan};
pub use preflight::{Check, Given, Outcome, preflight};
pub use version::{Patched, Release, Series, VersionError};
pub use versions::{Package, RtBy, SeriesEntry, SourcePackage, packages, series, source_packages};
