//! Directories held open as descriptors.
//!
//! A path is resolved once, when the directory is opened. Everything beneath it is reached from that descriptor by
//! openat2(2) with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, so renaming the directory, or replacing it by a link,
//! redirects nothing. A file is created under a new name with `O_EXCL` and then renamed: it is never written through a
//! symbolic or hard link that someone placed there beforehand.
//!
//! [`Whose`] selects the identity: results belong to the user who called sudo; as root without sudo, only directories
//! that no other user can change are written to.

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
