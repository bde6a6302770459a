//! Directories as descriptors.
//!
//! A path is resolved once, when a directory is opened. Everything beneath is reached from that descriptor by openat2(2) with
//! `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, so a directory that is renamed, or replaced by a link, redirects nothing. A file
//! is created with a new name and `O_EXCL`, then renamed: neither a symbolic nor a hard link placed there beforehand is written through.
//!
//! [`Whose`] says as whom: results belong to the user who called sudo; as root without sudo, only directories that no other user can
//! change are written to.

#![forbid(unsafe_code)]

mod beneath;
mod dir;
mod draft;
mod error;
mod opening;
mod safe;
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
