//! Options of `kernel`.

pub mod building;
pub mod deploying;

use crate::args::common::OutputArgs;
use crate::args::help;
use building::{BuildArgs, FetchArgs, PackageArgs};
use clap::{Args, Subcommand};
use deploying::{CommitArgs, DeployArgs, OnArgs, VerifyArgs};
use punctual_kernel::{Arch, Patched, Release, Series, Tracer};
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub enum KernelCommand {
    /// Show which kernel this board needs and the cheapest reliable way to get it, each step with its reason, time,
    /// disk space and risk
    #[command(after_help = help::KERNEL_PLAN)]
    Plan(PlanArgs),
    /// Check what could make a build or the first boot fail, and print the fixes to type: tools, compiler, disk space,
    /// series, patch, options, board
    #[command(after_help = help::KERNEL_PREFLIGHT)]
    Preflight(PreflightArgs),
    /// Find the published real-time patch for a release, or check a patch: release, signature, and a dry run with fuzz
    /// 0
    #[command(after_help = help::KERNEL_PATCH)]
    Patch(PatchArgs),
    /// Configure a kernel source in a separate directory, compare the result with the requested options, and audit it
    #[command(after_help = help::KERNEL_CONFIGURE)]
    Configure(ConfigureArgs),
    /// Fetch a kernel source into a directory; a source that is not signed is refused. Repeat the command to resume
    #[command(after_help = help::KERNEL_FETCH)]
    Fetch(FetchArgs),
    /// Build image, modules and device trees outside the source, also for another architecture. Repeat the
    /// command to resume
    #[command(after_help = help::KERNEL_BUILD)]
    Build(BuildArgs),
    /// Package a build as tarball and .deb with a manifest, and check it for common packaging faults; --image writes an
    /// SD card image
    #[command(after_help = help::KERNEL_PACKAGE)]
    Package(PackageArgs),
    /// Install a kernel next to the running one and boot it once, here or over ssh; existing files are not changed
    #[command(after_help = help::KERNEL_DEPLOY)]
    Deploy(DeployArgs),
    /// In the trial boot: check that it is the intended kernel, real-time, with its modules, all devices and the
    /// network
    #[command(after_help = help::KERNEL_VERIFY)]
    Verify(VerifyArgs),
    /// In the trial boot, once verified: boot this kernel by default
    #[command(after_help = help::KERNEL_COMMIT)]
    Commit(CommitArgs),
    /// Remove the deployed kernel; every file is restored
    #[command(after_help = help::KERNEL_ROLLBACK)]
    Rollback(OnArgs),
    /// Show the state of the deployment: nothing deployed, deployed, on trial, returned (and why), or committed
    #[command(after_help = help::KERNEL_STATUS)]
    Status(OnArgs),
    /// In the trial boot: return to the old kernel unless the new one is committed in time
    #[command(hide = true)]
    Guard,
}

#[derive(Args, Debug)]
pub struct PreflightArgs {
    /// Board to check instead of this machine
    #[arg(long, value_name = "BOARD")]
    pub board: Option<String>,
    /// Directory with the board's files, for example a mounted SD card
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Prefix of the cross compiler [default: the one for the board; none on the board's own architecture]
    #[arg(long, value_name = "PREFIX")]
    pub cross: Option<String>,
    /// Kernel series to build [default: the source's]
    #[arg(long, value_name = "X.Y")]
    pub series: Option<Series>,
    /// Unpacked kernel source
    #[arg(long, value_name = "DIR")]
    pub tree: Option<PathBuf>,
    /// Real-time patch to apply to the source
    #[arg(long, value_name = "A.B.C-rtN")]
    pub patch: Option<Patched>,
    /// Build directory, as for make's O=
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Kernel configuration to check, if there already is one
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("work").args(["index", "file"]).required(true))]
pub struct PatchArgs {
    /// Unpacked kernel source
    #[arg(long, value_name = "DIR", required_unless_present = "release")]
    pub tree: Option<PathBuf>,
    /// Release for which to find a patch, instead of the source's release
    #[arg(long, value_name = "A.B.C", conflicts_with_all = ["tree", "file"])]
    pub release: Option<Release>,
    /// Find the patch in this saved copy of the page kernel.org/pub/linux/kernel/projects/rt/X.Y/
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// Saved copy of the subdirectory older/ of that page
    #[arg(long, value_name = "FILE", requires = "index")]
    pub older: Option<PathBuf>,
    /// Check this patch, which must have its published name: patch-A.B.C-rtN.patch.xz or .gz
    #[arg(long, value_name = "FILE", requires = "keyring")]
    pub file: Option<PathBuf>,
    /// Signature of the unpacked patch [default: the name with .sign instead of .xz or .gz]
    #[arg(long, value_name = "FILE", requires = "file")]
    pub sign: Option<PathBuf>,
    /// Signed list of checksums, sha256sums.asc
    #[arg(long, value_name = "FILE", requires = "file")]
    pub sums: Option<PathBuf>,
    /// Keys whose signatures are trusted, as `gpg --export KEY > FILE` writes them
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct ConfigureArgs {
    /// Unpacked kernel source, or the directory of `kernel fetch`
    #[arg(long, value_name = "DIR")]
    pub tree: PathBuf,
    /// Directory for .config, as for make's O=
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Architecture of the kernel, as for make's ARCH=: arm, arm64, x86_64, i386, riscv
    #[arg(long, value_name = "ARCH", value_parser = arch)]
    pub arch: Arch,
    /// Prefix of the cross compiler, for example aarch64-linux-gnu-
    #[arg(long, value_name = "PREFIX")]
    pub cross: Option<String>,
    /// make target to start with: defconfig, tinyconfig, bcm2711_defconfig
    #[arg(long, value_name = "TARGET", default_value = "defconfig")]
    pub defconfig: String,
    /// Configuration to start with instead of a make target, for example that of the running kernel:
    /// /boot/config-RELEASE or /proc/config.gz
    #[arg(long, value_name = "FILE", conflicts_with = "defconfig")]
    pub config: Option<PathBuf>,
    /// File with options to set; may be repeated
    #[arg(long = "fragment", value_name = "FILE", required = true)]
    pub fragments: Vec<PathBuf>,
    /// Edit the result in make's menuconfig before it is compared
    #[arg(long)]
    pub menuconfig: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

fn arch(text: &str) -> Result<Arch, String> {
    let known = [Arch::Arm, Arch::Arm64, Arch::X86, Arch::I386, Arch::Riscv];
    let found = known.into_iter().find(|arch| arch.name() == text);
    found.ok_or_else(|| format!("use one of {}", known.map(Arch::name).join(", ")))
}

#[derive(Args, Debug)]
pub struct PlanArgs {
    /// Board to plan for instead of this machine, for example raspberry-pi-4-64; an unknown name lists all boards
    #[arg(long, value_name = "BOARD")]
    pub board: Option<String>,
    /// Plan for the machine whose files are below this directory
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Kernel series [default: the newest maintained series that was tested]
    #[arg(long, value_name = "X.Y")]
    pub series: Option<Series>,
    /// Timer frequency that the kernel needs (CONFIG_HZ)
    #[arg(long, value_name = "HZ")]
    pub hz: Option<u32>,
    /// Tracers that the kernel needs: timerlat, osnoise, hwlat, wakeup_rt, irqsoff, preemptoff, function
    #[arg(long = "tracer", value_name = "TRACERS", value_delimiter = ',')]
    pub tracers: Vec<Tracer>,
    /// File with further options that the kernel needs; may be repeated
    #[arg(long = "fragment", value_name = "FILE")]
    pub fragments: Vec<PathBuf>,
    /// Saved copy of the page kernel.org/pub/linux/kernel/projects/rt/X.Y/, whose newest patch is used instead of the
    /// one in the built-in table
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
