//! Directories held open as descriptors.
//!
//! A path is resolved only once, when the directory is opened. Everything beneath it is reached from that descriptor by
//! openat2(2) with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, so renaming the directory or replacing it by a link
//! does not redirect any access. A file is created under a new name with `O_EXCL` and then renamed, so it is never
//! written through a symbolic or hard link that someone placed there beforehand.
//!
//! [`Whose`] selects the identity. Results belong to the user who called sudo. Root without sudo writes only to
//! directories that no other user can change.

#![forbid(unsafe_code)]

mod beneath;
mod dir;
mod draft;
mod error;
mod opening;
mod safe;
pub mod sha256;
mod staging;
mod stale;
#[cfg(test)]
mod tests;
mod whose;

pub use dir::{Dir, Kind};
pub use draft::Draft;
pub use error::Error;
pub use staging::Staging;
pub use stale::Scratch;
pub use whose::{Whose, set_owner};
