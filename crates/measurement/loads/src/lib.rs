//! Loads that run while wakeup latency is measured.
//!
//! A load is a separate process, so that it shares neither address space nor priority with the measuring threads.
//! [`Load::start`] runs this program again with the hidden first argument [`HIDDEN_ARG`], and the program's `main` must
//! pass that to [`child_main`] before it does anything else:
//!
//! ```no_run
//! let mut args = std::env::args_os().skip(1);
//! if args.next().is_some_and(|first| first == punctual_loads::HIDDEN_ARG) {
//!     std::process::exit(punctual_loads::child_main(args));
//! }
//! // … only now create threads, change signal masks and parse other arguments
//! ```
//!
//! Each worker of a load counts completed units of real work in memory shared with the parent, which can read the
//! counts at any time without waking a thread. If a load stalls, dies, or does not increase the kernel's counters,
//! `ran` is false in its [`LoadReport`](punctual_model::LoadReport), and `why_not` states the reason and what to do.
//!
//! Loads run as SCHED_OTHER with nice 0, as nobody if the caller is root (except `cmd:`), as the first candidates of
//! the OOM killer, and within limits on memory and disk. No process or file remains after a load, even if the caller is
//! killed with SIGKILL.
//!
//! Architecture invariant: this crate changes no settings of the machine, and does not depend on what is measured.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod beat;
mod board;
mod budget;
mod builtin;
mod child;
mod counter;
mod disk;
mod error;
mod load;
mod message;
mod mounts;
mod nic;
mod part;
mod report;
mod route;
mod secret;
mod serve;
mod settings;
mod setup;
mod spec;
mod store;
mod traffic;
mod wire;

pub use builtin::{NAMES, defaults};
pub use child::child_main;
pub use disk::storage;
pub use error::LoadError;
pub use load::{Load, LoadWatch, Progress};
pub use report::not_run;
pub use secret::Secret;
pub use serve::{DEFAULT_PORT, ServeEvent, Served, Server, serve};
pub use settings::{HIDDEN_ARG, LoadSettings, folder_at};
pub use spec::{LoadSpec, parse};
pub use store::{Store, StoreLimits};
pub use wire::{Connection, Purpose, introduce};
