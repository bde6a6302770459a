//! Boots real kernels in QEMU: downloads them from the distribution, packs an initramfs around any static program and a
//! shell script, runs the script, and returns its exit code, the fetched files and the console output.
//!
//! Under [`Clock::Virtual`] the guest's clock counts instructions (QEMU's `-icount`), so the guest's measurements do
//! not depend on the host's load, and the same boot gives the same bytes.
//!
//! Architecture invariant: this crate is independent of the rest of the program (no run directory, no claim, no
//! latency). Nothing is installed; downloads go to a cache folder; a guest dies with the thread that started it and
//! leaves no file.

#![forbid(unsafe_code)]

mod apt;
mod arch;
mod backport;
mod boot;
mod cache;
mod card;
mod console;
mod cpio;
mod disk;
mod error;
mod fleet;
mod guest;
mod initramfs;
mod kernel;
mod machine;
mod modules;
mod network;
mod newest;
mod qemu;
mod source;
mod tools;

pub use arch::Arch;
pub use boot::{Booted, boot};
pub use cache::Cache;
pub use card::{Card, CardBoot};
pub use disk::{DiskBoot, DiskGuest, DiskImage, DiskRun, Ending, Kill, LiveBoot, Step};
pub use error::VmError;
pub use fleet::boot_all;
pub use guest::{Clock, Disk, FileIn, Forward, Guest, shift_of_mips};
pub use kernel::{Kernel, KernelSpec, busybox};
pub use machine::Machine;
pub use network::Network;
pub use qemu::{Qemu, Version};
pub use source::KernelSource;
