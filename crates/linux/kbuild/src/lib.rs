//! Makes files that boot from a kernel source: [`fetch()`] fetches a source and refuses an unsigned one, [`build()`]
//! compiles it outside its tree and resumes interrupted builds, [`package()`] collects image, modules, device trees and
//! their origin, [`check`] tests whether the package matches its name, [`image`] writes the image of an SD card.
//!
//! Architecture invariant: nothing is installed and no root privileges are needed. Each step works in a separate
//! folder, and the file that marks it finished (`manifest.json`) is written last, by renaming. `punctual-kernel`
//! decides what to build.

#![forbid(unsafe_code)]

pub mod build;
pub mod check;
mod document;
mod error;
pub mod fetch;
mod files;
pub mod image;
pub mod package;

pub use build::build;
pub use document::{BuildResult, PackageResult};
pub use error::KbuildError;
pub use fetch::fetch;
pub use files::sha256;
pub use package::package;
