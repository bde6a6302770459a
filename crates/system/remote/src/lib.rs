//! Another machine over OpenSSH: files copied both ways in checked parts, commands that survive a cut link, and this
//! program run there ([`Remote`]).
//!
//! Architecture invariant: host keys must be known, nothing is asked interactively, no agent is forwarded, and every
//! word is quoted for the remote shell. What the other side sends is untrusted: bounded in bytes and time, made harmless before it
//! is shown, and only files and folders are made of it.

#![forbid(unsafe_code)]

mod child;
mod error;
mod fetch;
mod job;
mod link;
mod program;
mod sum;
mod target;
mod upload;

pub use error::RemoteError;
pub use fetch::fetch;
pub use job::{Ended, Job};
pub use link::Link;
pub use program::Remote;
pub use target::{Target, TargetError};
pub use upload::upload;

/// Below the user's home folder on the target.
const FOLDER: &str = ".cache/punctual/remote";
/// Size of checked parts, bytes.
const PART: u64 = 4 << 20;
/// Consecutive cuts of the link without any progress.
const TRIES: u32 = 10;
