//! Kernels put beside the running one, tried in one boot, verified, and kept or returned from; on this machine or over ssh.
//!
//! [`deploy()`] looks first and writes down what it will put where ([`Record`]), then puts the files into folders of their own, makes a
//! boot entry and arms it for one boot. In that boot [`guard()`] keeps the watchdog quiet and reboots into the old kernel unless
//! [`commit()`] comes in time, which takes a [`verify()`] that passed. [`rollback()`] takes all of it away.
//! See docs/deploy.md.
//!
//! Architecture invariant: nothing here overwrites a file that it has not made, and nothing that boots by default changes before a
//! commit. The loader's files are changed through the journal of `fix` only.

#![forbid(unsafe_code)]

mod check;
mod commit;
mod deploy;
mod error;
mod guard;
mod guard_files;
mod hash;
mod inventory;
mod loader;
mod lock;
mod package;
mod pi;
mod place;
mod preflight;
mod programs;
mod record;
mod remote;
mod rollback;
mod site;
mod ssh;
mod status;
mod verify;
mod watchdog;
mod wish;

pub use check::{Check, worst};
pub use commit::commit;
pub use deploy::{Deployed, deploy};
pub use error::DeployError;
pub use guard::{Turn, guard, turn};
pub use inventory::{Inventory, Lost, default_route};
pub use package::{Magic, Manifest, Package, arch_of_image, arch_of_program, wrong_modules};
pub use record::{Event, Record, Stage, Store, What};
pub use remote::Remote;
pub use rollback::{Back, rollback};
pub use site::Site;
pub(crate) use ssh::ssh_quoted;
pub use ssh::{Ended, Job, Link, Target, TargetError, fetch, upload};
pub use status::{Status, status};
pub use verify::{Latency, verify};
pub use watchdog::{Early, Hardware, early, hardware};
pub use wish::Wish;
