//! Access to another machine over OpenSSH: files copied in both directions in verified parts, commands that continue if
//! the connection is lost, and runs of this program on it ([`Remote`]).
//!
//! Architecture invariant: host keys must be known, ssh never prompts, no agent is forwarded, and every word is quoted
//! for the remote shell. Data from the other machine is untrusted: limited in size and time, escaped before it is
//! displayed, and unpacked only to regular files and directories.

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

/// Directory of this crate's files on the target, relative to the user's home directory.
const FOLDER: &str = ".cache/punctual/remote";
/// Size of the parts of a file that are verified separately, bytes.
const PART: u64 = 4 << 20;
/// Maximum number of lost connections in succession without progress.
const TRIES: u32 = 10;
