//! A machine as described by its files. Unreadable files are distinct from absent ones.
//!
//! A [`Machine`] is [`Live`] (this computer, or the directory tree of another), [`Recorded`] (a text file under
//! `machines/`) or [`Given`] (a few files, such as a kernel configuration). Other crates read only through this trait,
//! so an audit of a recording takes the same path as one of the running machine. Where Linux has only a system call,
//! [`Live`] serves the path that newer kernels provide.
//!
//! [`facts`] returns the few lines that a report shows. [`KernelConfig`] is separate, because inflating it takes longer
//! than all facts together.
//!
//! Architecture invariant: this crate never writes, waits, starts a process or reads a clock. Callers can distinguish
//! absent, refused and failed reads.

#![forbid(unsafe_code)]

mod affinity;
mod boot_file;
mod boot_log;
mod boot_script;
mod built_in;
mod cmdline;
mod facts;
mod given;
mod kconfig;
mod kconfig_defaults;
mod kconfig_known;
mod kernel_types;
mod live;
mod mounts;
mod overlay;
mod recorded;
mod release;
mod snapshot;
mod text;
mod view;
mod within;

pub use affinity::partition_unpins;
pub use boot_file::{BootFile, boot_file, boot_file_cmdline, is_omission, is_placeholder};
pub use boot_log::{CUT_OFF, LOG_PART};
pub use built_in::BuiltIn;
pub use cmdline::{SHORTEST_CMDLINE, first_parameter, longest_cmdline, may_repeat, parameter, parameters, scrub};
pub use facts::{
    Distribution, Virtualisation, co_kernel, default_preemption, facts, facts_with, is_preempt_rt,
    kernels_distribution, preemption_mode, rt_group_sched, virtualisation,
};
pub use given::{Given, GivenError, Kind};
pub use kconfig::{ConfigError, KernelConfig, Setting, config_text};
pub use kconfig_known::{Since, architectures_with};
pub use kernel_types::{KERNEL_TYPES, TypeName, kernel_type_name};
pub use live::Live;
pub use mounts::read_only_mount;
pub use overlay::Overlay;
pub use recorded::{Recorded, RecordedError};
pub use release::backports;
pub use snapshot::{Snapshot, SnapshotError};
pub use text::{bracketed, field_values, numbered_name};
pub use view::{Listing, Machine, READ_LIMIT, Read};
