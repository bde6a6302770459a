//! Options of `kernel fetch`, `build` and `package`.

use crate::args::common::OutputArgs;
use clap::Args;
use punctual_kernel::{Release, Series};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("origin").args(["url", "git", "debian", "tree"]).required(true))]
pub struct FetchArgs {
    /// URL or path of a tarball as kernel.org publishes it, with its .sign and sha256sums.asc next to it
    #[arg(long, value_name = "URL|FILE")]
    pub url: Option<String>,
    /// URL or path of a Git repository; also needs --branch, and --commit, a signed tag or --unsigned
    #[arg(long, value_name = "URL", requires = "branch")]
    pub git: Option<String>,
    /// Use the distribution's package linux-source-X.Y, through apt; installs nothing
    #[arg(long)]
    pub debian: bool,
    /// Use an existing source, which is recorded in the manifest but not copied
    #[arg(long, value_name = "DIR")]
    pub tree: Option<PathBuf>,
    /// Branch or tag of the repository
    #[arg(long, value_name = "NAME", requires = "git")]
    pub branch: Option<String>,
    /// Expected commit ID, all 40 digits
    #[arg(long, value_name = "HASH", requires = "git", conflicts_with = "release")]
    pub commit: Option<String>,
    /// Use the newest commit of the branch that has this release, since a patch fits only one release
    #[arg(long, value_name = "A.B.C", requires = "git")]
    pub release: Option<Release>,
    /// Accept a branch that is not signed; the manifest records that
    #[arg(long, requires = "git")]
    pub unsigned: bool,
    /// Series of the distribution's package [default: the newest]
    #[arg(long, value_name = "X.Y", requires = "debian")]
    pub series: Option<Series>,
    /// Keys whose signatures are trusted, as `gpg --export KEY > FILE` writes them
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    /// Signature of the unpacked tarball [default: next to the tarball]
    #[arg(long, value_name = "URL|FILE", requires = "url")]
    pub sign: Option<String>,
    /// Signed list of checksums [default: sha256sums.asc next to the tarball]
    #[arg(long, value_name = "URL|FILE", requires = "url")]
    pub sums: Option<String>,
    /// Published real-time patch to apply, for a source before 6.12: patch-A.B.C-rtN.patch.xz, or the directory
    /// https://cdn.kernel.org/pub/linux/kernel/projects/rt/X.Y/ (with a final slash), in which the patch is found; for
    /// a branch, its newest release that has a patch
    #[arg(long, value_name = "URL|FILE|DIR/", requires = "keyring", conflicts_with = "tree")]
    pub patch: Option<String>,
    /// Signature of the unpacked patch [default: next to the patch]
    #[arg(long, value_name = "URL|FILE", requires = "patch")]
    pub patch_sign: Option<String>,
    /// Directory for the source and manifest.json
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct BuildArgs {
    /// Unpacked kernel source, or the directory of `kernel fetch`
    #[arg(long, value_name = "DIR")]
    pub tree: PathBuf,
    /// Build directory, as made by `kernel configure`
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Prefix of the cross compiler [default: Debian's for the configured architecture, none on that architecture]
    #[arg(long, value_name = "PREFIX")]
    pub cross: Option<String>,
    /// Add the tracers irqsoff, preemptoff, timerlat, osnoise and hwlat and the preemptirq events, which show code that
    /// disables interrupts or preemption, without lock debugging. The kernel gets the suffix -diagnostic and is
    /// installed next to the plain one. It is slower, so prove claims on the plain kernel. Requires a separate --out
    #[arg(long)]
    pub diagnostic: bool,
    /// make target of the image [default: zImage, Image.gz or bzImage, depending on the architecture]
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Number of parallel compilers [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Temperature in degrees Celsius at which a native build pauses until the temperature is 8 degrees lower
    #[arg(long, value_name = "DEGREES", default_value_t = 75)]
    pub pause_at: i64,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct PackageArgs {
    /// Directory of a finished `kernel build`
    #[arg(long, value_name = "DIR")]
    pub build: PathBuf,
    /// Board whose requirements are checked
    #[arg(long, value_name = "BOARD")]
    pub board: String,
    /// Directory for the packages; their files are put into its subdirectory `stage`
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Also write Debian packages
    #[arg(long)]
    pub deb: bool,
    /// Also package the headers, for external modules
    #[arg(long)]
    pub headers: bool,
    /// Write an image of an SD card for a Raspberry Pi: 512 MiB, with a minimal root file system based on BusyBox
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Static BusyBox of the board's architecture for the card [default: the distribution's, through apt]
    #[arg(long, value_name = "FILE", requires = "image")]
    pub busybox: Option<PathBuf>,
    /// Directory with the Raspberry Pi's firmware for the card: start*.elf, fixup*.dat, bootcode.bin, overlays/
    #[arg(long, value_name = "DIR", requires = "image")]
    pub firmware: Option<PathBuf>,
    /// Shell script that the card runs as root at every boot
    #[arg(long, value_name = "FILE", requires = "image")]
    pub boot_script: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
