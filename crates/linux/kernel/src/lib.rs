//! Plans for kernels: which kernel a board needs and the cheapest trustworthy way to get it ([`plan()`]), which
//! published patch fits a source tree exactly ([`patch`]), what a build needs beforehand ([`preflight()`]), and whether
//! a configuration has what was requested ([`config`]).
//!
//! Boards are described in `boards/*.toml` at the repository's root, series and packages in `versions.toml`. Each entry
//! states its source and how it was verified.
//!
//! Architecture invariant: a plan is a pure function, so a plan for a recorded machine is made in the same way as for a
//! live one. Programs are run by [`host`] (compilers), [`patch`] (xz, gpgv, sha256sum, patch) and [`config::make`]
//! (make). Only [`config::make`], in a new folder, and [`patch::apply::apply`], in the given tree, write files.

#![forbid(unsafe_code)]

mod boards;
pub mod config;
mod document;
pub mod host;
pub mod patch;
mod plan;
mod preflight;
pub mod programs;
mod version;
mod versions;

pub use boards::{Arch, Board, BoardError, BootWay, Mainline, Need, PiNames, Verified, board, boards, detect};
pub use document::{ConfigureResult, PatchResult, PreflightResult};
pub use plan::{
    Estimate, Loader, Plan, PlanError, Request, Situation, Source, Step, System, Tracer, UnknownTracer, diagnostic,
    plan,
};
pub use preflight::{Check, Given, Outcome, preflight};
pub use version::{Patched, Release, Series, VersionError};
pub use versions::{
    Package, RtBy, SeriesEntry, SourcePackage, SystemEntry, UsualLoader, packages, series, source_packages, systems,
};
