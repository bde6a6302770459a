//! Another machine over OpenSSH: files brought there and back in parts that are checked, commands that outlive the link.
//!
//! Host keys have to be known, nothing is asked, no agent is forwarded, and every word is quoted for the shell at the other end.

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
/// Parts that are checked, bytes.
pub(crate) const PART: u64 = 4 << 20;
/// How often in a row the link may be cut without a part getting through.
pub(crate) const TRIES: u32 = 10;
