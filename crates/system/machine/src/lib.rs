//! A machine as its files show it, with what could not be read kept apart from what is not there.
//!
//! [`Machine`] is either [`Live`] (this computer, or a folder that looks like one), [`Recorded`] (a small text file
//! under `machines/`) or [`Given`] (a few bare files of one, such as its kernel's configuration). Everything above reads through it, so an audit of a recording and of the running machine take
//! the same path. Almost all is a file; where Linux tells something only by system call, [`Live`] answers the path that
//! newer kernels have for it.
//!
//! [`facts`] makes the few lines a report shows; [`KernelConfig`] is read apart, because inflating it costs more than
//! all facts together.
//!
//! Architecture invariant: nothing here writes, waits, starts a process or reads a clock, and no answer is made up:
//! absent, refused and failed stay distinct up to the caller.

#![forbid(unsafe_code)]

mod cmdline;
mod facts;
mod given;
mod kconfig;
mod kernel_types;
mod live;
mod overlay;
mod recorded;
mod snapshot;
mod text;
mod view;
mod within;

pub use cmdline::{parameter, parameters, scrub};
pub use facts::{Virtualisation, facts, facts_with, is_preempt_rt, preemption_mode, virtualisation};
pub use given::{Given, GivenError, Kind};
pub use kconfig::{ConfigError, KernelConfig, Setting};
pub use kernel_types::{KERNEL_TYPES, TypeName, kernel_type_name};
pub use live::Live;
pub use overlay::Overlay;
pub use recorded::{Recorded, RecordedError};
pub use snapshot::{Snapshot, SnapshotError};
pub use text::{bracketed, field_values, numbered_name};
pub use view::{Listing, Machine, READ_LIMIT, Read};
