//! Another machine over OpenSSH: files copied both ways in checked parts, commands that survive a cut link.
//!
//! Host keys must be known, nothing is asked interactively, no agent is forwarded, and every word is quoted for the
//! remote shell.

mod fetch;
mod job;
mod link;
mod target;
mod upload;

pub use fetch::fetch;
pub use job::{Ended, Job};
pub use link::Link;
pub(crate) use link::quoted as ssh_quoted;
pub use target::{Target, TargetError};
pub use upload::upload;

/// Below the user's home folder on the target.
pub(crate) const FOLDER: &str = ".cache/punctual/remote";
/// Size of checked parts, bytes.
pub(crate) const PART: u64 = 4 << 20;
/// Consecutive cuts of the link without any progress.
pub(crate) const TRIES: u32 = 10;
