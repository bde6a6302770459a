//! Arguments of what fetches, builds and packages.

use crate::args::common::OutputArgs;
use clap::Args;
use punctual_kernel::{Release, Series};
use std::path::PathBuf;

/// Options of `kernel fetch`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("origin").args(["url", "git", "debian", "tree"]).required(true))]
pub struct FetchArgs {
    /// A tarball as kernel.org publishes it: address or file; its .sign and sha256sums.asc lie beside it
    #[arg(long, value_name = "URL|FILE")]
    pub url: Option<String>,
    /// A git repository: address or path; needs --branch, and --commit, a signed tag or --unsigned
    #[arg(long, value_name = "URL", requires = "branch")]
    pub git: Option<String>,
    /// The distribution's package linux-source-X.Y, by apt; installs nothing
    #[arg(long)]
    pub debian: bool,
    /// A source that is there: noted, not copied
    #[arg(long, value_name = "DIR")]
    pub tree: Option<PathBuf>,
    /// Branch or tag of the repository
    #[arg(long, value_name = "NAME", requires = "git")]
    pub branch: Option<String>,
    /// The commit that is meant, all 40 digits
    #[arg(long, value_name = "HASH", requires = "git", conflicts_with = "release")]
    pub commit: Option<String>,
    /// The newest commit of the branch that is this release: a patch fits only one
    #[arg(long, value_name = "A.B.C", requires = "git")]
    pub release: Option<Release>,
    /// Take a branch that nobody signed; it is noted in the manifest
    #[arg(long, requires = "git")]
    pub unsigned: bool,
    /// Series of the distribution's package [default: the newest]
    #[arg(long, value_name = "X.Y", requires = "debian")]
    pub series: Option<Series>,
    /// Keys that may have signed it, as `gpg --export KEY > FILE` writes them
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    /// Signature of the unpacked tarball [default: beside it]
    #[arg(long, value_name = "URL|FILE", requires = "url")]
    pub sign: Option<String>,
    /// The signed list of sums [default: sha256sums.asc beside it]
    #[arg(long, value_name = "URL|FILE", requires = "url")]
    pub sums: Option<String>,
    /// Published real-time patch to apply, for a source before 6.12: patch-A.B.C-rtN.patch.xz, or with a slash at its end the folder
    /// https://cdn.kernel.org/pub/linux/kernel/projects/rt/X.Y/ to find it in; of a branch the newest release that has one
    #[arg(long, value_name = "URL|FILE|FOLDER/", requires = "keyring", conflicts_with = "tree")]
    pub patch: Option<String>,
    /// Signature of the unpacked patch [default: beside it]
    #[arg(long, value_name = "URL|FILE", requires = "patch")]
    pub patch_sign: Option<String>,
    /// Folder for source and manifest.json
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `kernel build`.
#[derive(Args, Debug)]
pub struct BuildArgs {
    /// The unpacked kernel source, or the folder of `kernel fetch`
    #[arg(long, value_name = "DIR")]
    pub tree: PathBuf,
    /// Folder of `kernel configure`: everything is built there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Cross compiler's name up to gcc [default: Debian's for the configuration's architecture, none on that architecture]
    #[arg(long, value_name = "PREFIX")]
    pub cross: Option<String>,
    /// make target of the image [default: zImage, Image.gz or bzImage by architecture]
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Compilers at once [default: one a CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Pause a native build at this temperature, in degrees Celsius, until it is 8 below
    #[arg(long, value_name = "DEGREES", default_value_t = 75)]
    pub pause_at: i64,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `kernel package`.
#[derive(Args, Debug)]
pub struct PackageArgs {
    /// Folder of a finished `kernel build`
    #[arg(long, value_name = "DIR")]
    pub build: PathBuf,
    /// The board it is for: its needs are checked
    #[arg(long, value_name = "BOARD")]
    pub board: String,
    /// Folder for the packages, beside a folder `stage` with their files
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Debian packages beside the tarball
    #[arg(long)]
    pub deb: bool,
    /// Headers for modules of one's own, too
    #[arg(long)]
    pub headers: bool,
    /// Write a Raspberry Pi's card: 512 MiB, a minimal root with BusyBox
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Static BusyBox of the board's architecture for the card [default: the distribution's, by apt]
    #[arg(long, value_name = "FILE", requires = "image")]
    pub busybox: Option<PathBuf>,
    /// Folder with the Raspberry Pi's firmware for the card: start*.elf, fixup*.dat, bootcode.bin, overlays/
    #[arg(long, value_name = "DIR", requires = "image")]
    pub firmware: Option<PathBuf>,
    /// Shell script that the card runs as root at each boot
    #[arg(long, value_name = "FILE", requires = "image")]
    pub boot_script: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
