//! Kernels, from a source to files that boot: [`fetch()`] brings a source and refuses what is not signed, [`build()`] compiles it
//! outside of its tree and goes on where it was killed, [`package()`] puts image, modules, device trees and their origin together,
//! [`check`] looks whether the package is what it is called, [`image`] writes a card.
//!
//! Architecture invariant: nothing is installed and no root is needed; each step works in a folder of its own, and a file that says
//! the step is done (`manifest.json`) is written last, by renaming. What to build is decided by `punctual-kernel`.

#![forbid(unsafe_code)]

pub mod build;
pub mod check;
mod error;
pub mod fetch;
mod files;
pub mod image;
pub mod package;

pub use build::build;
pub use error::KbuildError;
pub use fetch::fetch;
pub use files::sha256;
pub use package::package;
