//! Installs kernels beside the running one, tries them in one boot, verifies them, and keeps them or returns to the old
//! one.
//!
//! [`deploy()`] checks first and records which files it will install where ([`Record`]), then copies the files into
//! separate folders, creates a boot entry and arms it for one boot. In that boot [`guard()`] feeds the watchdog and
//! reboots into the old kernel unless [`commit()`] comes in time, which requires a passed [`verify()`]. [`rollback()`]
//! removes everything that was installed. See docs/deploy.md.
//!
//! Architecture invariant: this crate never overwrites a file that it did not create, and the default boot does not
//! change before a commit. The loader's files are changed only through the journal of `fix`.

#![forbid(unsafe_code)]

mod check;
mod commit;
mod deploy;
mod document;
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
mod request;
mod rollback;
mod site;
mod status;
mod verify;
mod watchdog;

pub use check::{Check, worst};
pub use commit::commit;
pub use deploy::{Deployed, deploy};
pub use document::{CommitResult, DeployResult, VerifyResult};
pub use error::DeployError;
pub use guard::{Turn, guard, turn};
pub use inventory::{Inventory, Lost, default_route};
pub use package::{Magic, Manifest, Package, arch_of_image, wrong_modules};
pub use record::{Event, Record, Stage, Store, What};
pub use request::Request;
pub use rollback::{Back, rollback};
pub use site::Site;
pub use status::{Status, status};
pub use verify::{Latency, verify};
pub use watchdog::{Early, Hardware, early, hardware};
