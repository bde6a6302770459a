//! Options of `lab`.

use crate::args::common::OutputArgs;
use crate::args::help;
use clap::{Args, Subcommand};
use punctual_model::Claim;
use punctual_units::{Nanos, Priority};
use punctual_vm::{KernelSpec, Machine};
use std::path::PathBuf;

const KERNEL: &str = "Kernel: rt or stock (the distribution's newest; rt@6.12: the newest of that series), the name of a package, a .deb, an image, \
                      or a build directory";

#[derive(Subcommand, Debug)]
pub enum LabCommand {
    /// Boot a kernel and run a script in it: copies files in, and returns files and the script's exit code
    #[command(after_help = help::LAB_BOOT)]
    Boot(BootArgs),
    /// Measure and judge a kernel in virtual time, with the same engine, loads, claims and report as on hardware
    #[command(after_help = help::LAB_PROVE)]
    Prove(ProveArgs),
    /// Boot two kernels several times each and compare their latencies, with confidence
    #[command(after_help = help::LAB_COMPARE)]
    Compare(CompareArgs),
    /// Find the commit that broke a claim: git bisect with a build and a measurement at each step
    #[command(after_help = help::LAB_BISECT)]
    Bisect(BisectArgs),
}

/// Options that apply to every guest.
#[derive(Args, Debug)]
pub struct GuestArgs {
    /// Machine: pc, virt-arm64, raspi3b, raspi4b [default: pc or virt-arm64, by the architecture of the kernel]
    #[arg(short, long, value_name = "MACHINE")]
    pub machine: Option<Machine>,
    /// Number of virtual CPUs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub cpus: u32,
    /// Memory in MiB, if the machine model does not fix it
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    pub memory: u32,
    /// Words to add to the kernel's command line; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub append: Vec<String>,
    /// Directory with the kernel's modules, if the kernel is given as an image
    #[arg(long, value_name = "DIR")]
    pub modules: Option<PathBuf>,
    /// Static BusyBox for the guest [default: that of the distribution's package busybox-static]
    #[arg(long, value_name = "FILE")]
    pub busybox: Option<PathBuf>,
    /// Maximum duration of one boot
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub timeout: Nanos,
}

#[derive(Args, Debug)]
pub struct BootArgs {
    #[arg(short, long, value_name = "KERNEL", help = KERNEL, default_value = "rt")]
    pub kernel: KernelSpec,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Shell script to run as root in the guest; - reads standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "command")]
    pub script: Option<PathBuf>,
    /// Command to run instead of a script
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// File of this machine to copy into the guest; may be repeated. This program is always available as /bin/punctual
    #[arg(long, value_name = "FILE:PATH")]
    pub put: Vec<String>,
    /// File or directory of the guest to copy into the directory --out; may be repeated
    #[arg(long, value_name = "PATH")]
    pub get: Vec<String>,
    /// Directory for files copied from the guest, and for console.log
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// punctual built for the guest's architecture [default: this program, or the one cross-built next to it]
    #[arg(long, value_name = "FILE")]
    pub guest_program: Option<PathBuf>,
    /// Number of identical guests on one network; a guest's number is in $VM_NUMBER, its address is 10.77.0.NUMBER
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub guests: u32,
    /// Size in MiB of a file system in the guest's memory, mounted at /scratch
    #[arg(long, value_name = "MIB")]
    pub disk: Option<u32>,
    /// Kernel module to load; may be repeated
    #[arg(long, value_name = "NAME")]
    pub module: Vec<String>,
    /// Port of this machine's loopback to forward to a port of the guest: 2222:22; may be repeated
    #[arg(long, value_name = "HOST:GUEST")]
    pub forward: Vec<String>,
    /// Run in virtual time: the guest's clock counts instructions
    #[arg(long = "virtual")]
    pub virtual_time: bool,
    /// Speed of virtual time, in million instructions per second: 1000, 500, 250, …
    #[arg(long, value_name = "N", default_value_t = 500.0, requires = "virtual_time")]
    pub mips: f64,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct ProofArgs {
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Million instructions per second of virtual time: 1000, 500, 250, …; one instruction takes 1000/N ns
    #[arg(long, value_name = "N", default_value_t = 500.0)]
    pub mips: f64,
    /// Total measurement time on the guest's clock, divided equally among the loads
    #[arg(short = 'D', long, value_name = "TIME", default_value = "2s")]
    pub duration: Nanos,
    /// Time to run without recording at the start of each phase
    #[arg(long, value_name = "TIME", default_value = "20ms")]
    pub warmup: Nanos,
    /// Period of the measuring threads
    #[arg(short = 'i', long, visible_alias = "interval", value_name = "TIME", default_value = "1ms")]
    pub period: Nanos,
    /// Priority of the measuring threads, 1 to 99
    #[arg(short = 'p', long, visible_alias = "prio", value_name = "N")]
    pub priority: Option<Priority>,
    /// Loads, one phase each, as for prove [default: all but network]
    #[arg(short = 'l', long = "load", value_name = "LOADS")]
    pub loads: Vec<String>,
    /// Claim to judge, as for prove; may be repeated [default: missed = 0]
    #[arg(short = 'c', long = "claim", value_name = "CLAIM")]
    pub claims: Vec<Claim>,
    /// Shorthand for the claims 'max < TIME' and 'missed = 0'
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Nanos>,
    /// Seed of the first boot, which determines the phase of the releases, the order of the loads and the memory layout
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Number of parallel boots [default: one per CPU of this machine]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<usize>,
    /// punctual built for the guest's architecture [default: this program, or the one cross-built next to it]
    #[arg(long, value_name = "FILE")]
    pub guest_program: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct ProveArgs {
    #[arg(short, long, value_name = "KERNEL", help = KERNEL, default_value = "rt")]
    pub kernel: KernelSpec,
    #[command(flatten)]
    pub proof: ProofArgs,
    /// Number of boots, each with the next seed; if there are several, each has a directory below --out
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub boots: usize,
    /// Run directory to create [default: ./punctual-runs/<time>-lab-<kernel>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct CompareArgs {
    #[arg(value_name = "A", help = KERNEL)]
    pub a: KernelSpec,
    /// The kernel to compare with the first one
    #[arg(value_name = "B")]
    pub b: KernelSpec,
    #[command(flatten)]
    pub proof: ProofArgs,
    /// Number of boots of each kernel, with the same seeds for both
    #[arg(short, long, value_name = "N", default_value_t = 6)]
    pub boots: usize,
    /// Directory for the run directories and comparison.html [default: ./punctual-runs/<time>-lab-<a>-<b>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct BisectArgs {
    /// Git tree of the kernel; it is not changed, since builds use a separate work tree
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub tree: PathBuf,
    /// A commit where the claims hold
    #[arg(long, value_name = "COMMIT")]
    pub good: String,
    /// A later commit where a claim does not hold
    #[arg(long, value_name = "COMMIT")]
    pub bad: String,
    /// The kernel's configuration; olddefconfig completes it for each commit
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Extra argument for make, for example LLVM=1; may be repeated
    #[arg(long = "make", value_name = "WORD")]
    pub make: Vec<String>,
    #[command(flatten)]
    pub proof: ProofArgs,
    /// Directory for work tree, objects, logs and runs; with the same directory, an interrupted bisection continues
    #[arg(short, long, value_name = "DIR", default_value = "punctual-runs/bisect")]
    pub out: PathBuf,
}
