//! Options of `kernel fetch`, `build` and `package`.

use crate::args::common::OutputArgs;
use clap::Args;
use punctual_kernel::{Release, Series};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("origin").args(["url", "git", "debian", "tree"]).required(true))]
pub struct FetchArgs {
    /// Address or path of a tarball as kernel.org publishes it, with its .sign and sha256sums.asc beside it
    #[arg(long, value_name = "URL|FILE")]
    pub url: Option<String>,
    /// Address or path of a Git repository; needs --branch, and --commit, a signed tag or --unsigned
    #[arg(long, value_name = "URL", requires = "branch")]
    pub git: Option<String>,
    /// The distribution's package linux-source-X.Y, through apt; installs nothing
    #[arg(long)]
    pub debian: bool,
    /// An existing source: recorded, not copied
    #[arg(long, value_name = "DIR")]
    pub tree: Option<PathBuf>,
    /// Branch or tag of the repository
    #[arg(long, value_name = "NAME", requires = "git")]
    pub branch: Option<String>,
    /// Expected commit, all 40 digits
    #[arg(long, value_name = "HASH", requires = "git", conflicts_with = "release")]
    pub commit: Option<String>,
    /// Newest commit of the branch that has this release: a patch fits only one release
    #[arg(long, value_name = "A.B.C", requires = "git")]
    pub release: Option<Release>,
    /// Accept a branch that is not signed; recorded in the manifest
    #[arg(long, requires = "git")]
    pub unsigned: bool,
    /// Series of the distribution's package [default: the newest]
    #[arg(long, value_name = "X.Y", requires = "debian")]
    pub series: Option<Series>,
    /// Keys whose signatures are trusted, as `gpg --export KEY > FILE` writes them
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    /// Signature of the unpacked tarball [default: beside it]
    #[arg(long, value_name = "URL|FILE", requires = "url")]
    pub sign: Option<String>,
    /// Signed list of checksums [default: sha256sums.asc beside it]
    #[arg(long, value_name = "URL|FILE", requires = "url")]
    pub sums: Option<String>,
    /// Published real-time patch to apply, for a source before 6.12: patch-A.B.C-rtN.patch.xz, or, ending with a slash,
    /// the directory https://cdn.kernel.org/pub/linux/kernel/projects/rt/X.Y/ to find it in; for a branch, the newest
    /// release that has one
    #[arg(long, value_name = "URL|FILE|DIR/", requires = "keyring", conflicts_with = "tree")]
    pub patch: Option<String>,
    /// Signature of the unpacked patch [default: beside it]
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
    /// Directory of `kernel configure`; everything is built there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Prefix of the cross compiler [default: Debian's for the configured architecture, none on that architecture]
    #[arg(long, value_name = "PREFIX")]
    pub cross: Option<String>,
    /// Add the tracers irqsoff, preemptoff, timerlat, osnoise and hwlat and the preemptirq events, which name sections
    /// with interrupts or preemption off, without lock debugging. The kernel is named -diagnostic and installed beside
    /// the plain one; it is slower, so claims are proved on the plain one. Requires a separate --out
    #[arg(long)]
    pub diagnostic: bool,
    /// make target of the image [default: zImage, Image.gz or bzImage by architecture]
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Parallel compilers [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Pause a native build at this temperature, in degrees Celsius, until it is 8 degrees lower
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
    /// Directory for the packages, and for a directory `stage` with their files
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Also write Debian packages
    #[arg(long)]
    pub deb: bool,
    /// Also package headers, for external modules
    #[arg(long)]
    pub headers: bool,
    /// Write the image of a Raspberry Pi card: 512 MiB, a minimal root with BusyBox
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
