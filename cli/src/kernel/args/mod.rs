//! Arguments of `punctual kernel`.

pub mod building;
pub mod deploying;

use crate::args::common::OutputArgs;
use building::{BuildArgs, FetchArgs, PackageArgs};
use clap::{Args, Subcommand};
use deploying::{CommitArgs, DeployArgs, OnArgs, VerifyArgs};
use punctual_kernel::{Arch, Patched, Release, Series, Tracer};
use std::path::PathBuf;

/// What to do about kernels.
#[derive(Subcommand, Debug)]
pub enum KernelCommand {
    /// Say which kernel this board needs and the cheapest trustworthy way to it, each step with why, time, disk and risk
    Plan(PlanArgs),
    /// Check what a build and the first boot fail on, each with the fix to type: tools, compiler, room, series, patch, options, board
    Preflight(PreflightArgs),
    /// Find the published real-time patch for exactly one release, or check one: release, signature, and a dry run with fuzz 0
    Patch(PatchArgs),
    /// Configure a kernel source in a folder of its own, compare what came out with what was asked for, and audit it
    Configure(ConfigureArgs),
    /// Fetch a kernel source into a folder of its own: signed, or it is refused; broken off, the same command goes on
    Fetch(FetchArgs),
    /// Build image, modules and device trees outside of the source, also for another architecture; killed, the same command goes on
    Build(BuildArgs),
    /// Package a build as tarball and .deb with a manifest, checked for the faults that others shipped; --image writes a card
    Package(PackageArgs),
    /// Put a kernel beside the running one and arm it for one boot, here or over ssh; nothing that is there is touched
    Deploy(DeployArgs),
    /// In the trial boot: is it the kernel that was meant, real-time, with its modules, all devices and the network?
    Verify(VerifyArgs),
    /// In the trial boot, once verified: boot this kernel by default from now on
    Commit(CommitArgs),
    /// Take the deployed kernel away again, every file as before
    Rollback(OnArgs),
    /// Nothing, deployed, on trial, returned and why, or committed
    Status(OnArgs),
    /// In the trial boot: return to the old kernel unless it is committed in time
    #[command(hide = true)]
    Guard,
}

/// Options of `kernel preflight`.
#[derive(Args, Debug)]
pub struct PreflightArgs {
    /// Board instead of this machine
    #[arg(long, value_name = "BOARD")]
    pub board: Option<String>,
    /// The board's files lie below this folder: a mounted card
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Cross compiler's name up to gcc [default: the board's, or none on its own architecture]
    #[arg(long, value_name = "PREFIX")]
    pub cross: Option<String>,
    /// Kernel series to build [default: the source's]
    #[arg(long, value_name = "X.Y")]
    pub series: Option<Series>,
    /// The unpacked kernel source
    #[arg(long, value_name = "DIR")]
    pub tree: Option<PathBuf>,
    /// The real-time patch to apply to it
    #[arg(long, value_name = "A.B.C-rtN")]
    pub patch: Option<Patched>,
    /// Folder of the build, as make's O= is to have it
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The configuration, when there is one
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `kernel patch`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("work").args(["index", "file"]).required(true))]
pub struct PatchArgs {
    /// The unpacked kernel source
    #[arg(long, value_name = "DIR", required_unless_present = "release")]
    pub tree: Option<PathBuf>,
    /// Release to find a patch for, in place of the source's
    #[arg(long, value_name = "A.B.C", conflicts_with_all = ["tree", "file"])]
    pub release: Option<Release>,
    /// Find it in this saved page of kernel.org/pub/linux/kernel/projects/rt/X.Y/
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// The saved page of its folder older/
    #[arg(long, value_name = "FILE", requires = "index")]
    pub older: Option<PathBuf>,
    /// Check this patch, with its published name: patch-A.B.C-rtN.patch.xz or .gz
    #[arg(long, value_name = "FILE", requires = "keyring")]
    pub file: Option<PathBuf>,
    /// Its signature, of the unpacked patch [default: the name with .sign in place of .xz or .gz]
    #[arg(long, value_name = "FILE", requires = "file")]
    pub sign: Option<PathBuf>,
    /// The signed list of sums, sha256sums.asc
    #[arg(long, value_name = "FILE", requires = "file")]
    pub sums: Option<PathBuf>,
    /// Keys that may have signed it, as `gpg --export KEY > FILE` writes them
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `kernel configure`.
#[derive(Args, Debug)]
pub struct ConfigureArgs {
    /// The unpacked kernel source, or the folder of `kernel fetch`
    #[arg(long, value_name = "DIR")]
    pub tree: PathBuf,
    /// Folder for .config, as make's O= takes it
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// ARCH of the kernel: arm, arm64, x86_64, riscv
    #[arg(long, value_name = "ARCH", value_parser = arch)]
    pub arch: Arch,
    /// Cross compiler's name up to gcc, aarch64-linux-gnu-
    #[arg(long, value_name = "PREFIX")]
    pub cross: Option<String>,
    /// make target to begin with: defconfig, tinyconfig, bcm2711_defconfig
    #[arg(long, value_name = "TARGET", default_value = "defconfig")]
    pub defconfig: String,
    /// File with options; may be repeated
    #[arg(long = "fragment", value_name = "FILE", required = true)]
    pub fragments: Vec<PathBuf>,
    /// Change the result in make's menu before it is compared
    #[arg(long)]
    pub menuconfig: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

fn arch(text: &str) -> Result<Arch, String> {
    let known = [Arch::Arm, Arch::Arm64, Arch::X86, Arch::Riscv];
    let found = known.into_iter().find(|arch| arch.name() == text);
    found.ok_or_else(|| format!("use one of {}", known.map(Arch::name).join(", ")))
}

/// Options of `kernel plan`.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// Board instead of this machine, for example raspberry-pi-4-64; a wrong one is answered with all there are
    #[arg(long, value_name = "BOARD")]
    pub board: Option<String>,
    /// Plan for the machine whose files lie below this folder
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Kernel series [default: the newest maintained one that was tried]
    #[arg(long, value_name = "X.Y")]
    pub series: Option<Series>,
    /// CONFIG_HZ
    #[arg(long, value_name = "HZ")]
    pub hz: Option<u32>,
    /// Tracers the kernel has to have: timerlat, osnoise, hwlat, wakeup_rt, irqsoff, preemptoff, function
    #[arg(long = "tracer", value_name = "TRACERS", value_delimiter = ',')]
    pub tracers: Vec<Tracer>,
    /// File with more options that the kernel has to have; may be repeated
    #[arg(long = "fragment", value_name = "FILE")]
    pub fragments: Vec<PathBuf>,
    /// A saved index page of kernel.org/pub/linux/kernel/projects/rt/X.Y/: its newest patch replaces the built-in table's
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
