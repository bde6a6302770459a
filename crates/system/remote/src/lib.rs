//! Access to another machine over OpenSSH: files copied both ways in verified parts, commands that survive a connection
//! loss, and runs of this program on it ([`Remote`]).
//!
//! Architecture invariant: host keys must be known, ssh never prompts, no agent is forwarded, and every word is quoted
//! for the remote shell. Data from the other side is untrusted: bounded in bytes and time, escaped before it is
//! displayed, and unpacked to regular files and folders only.

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

/// Folder of this crate's files, relative to the user's home folder on the target.
const FOLDER: &str = ".cache/punctual/remote";
/// Size of separately verified parts, bytes.
const PART: u64 = 4 << 20;
/// Maximum number of consecutive connection losses without progress.
const TRIES: u32 = 10;
