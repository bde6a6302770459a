//! The options of `bench`.

use crate::args::common::OutputArgs;
use clap::{Args, Subcommand, ValueEnum};
use punctual_model::NqueensMode;
use punctual_units::{CpuId, Nanos};
use std::path::PathBuf;

/// One axis.
#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    /// Count the solutions of the N-queens problem: the published benchmark, or as fast as it goes
    Nqueens(NqueensArgs),
    /// Images posted to a web server and stored, while queens are counted or wakeup latency is measured
    Network(NetworkArgs),
    /// Bandwidth of memory: read, write and copy, one thread a CPU
    Memory(MemoryArgs),
    /// How long it takes until written data is on the disk (fsync, fdatasync)
    Disk(DiskArgs),
    /// What waking a thread and switching to it costs: pipes and futexes, on one CPU and between two
    Switch(SwitchArgs),
}

/// Options of every axis.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Repetitions, each a figure for `compare` [default: as told below]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub repeat: Option<u64>,
    /// The run directory to make [default: ./punctual-runs/<time>-bench-<axis>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with a run that was killed or interrupted, as it was begun; no other option is needed
    #[arg(long, value_name = "DIR", conflicts_with_all = ["repeat", "out"])]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// The published benchmark's backtracking, in native code; its CSV by `punctual report DIR --format csv`
    Compat,
    /// The fastest counting: meet in the middle, with the widest instructions there are
    Native,
}

impl From<ModeArg> for NqueensMode {
    fn from(mode: ModeArg) -> NqueensMode {
        match mode {
            ModeArg::Compat => NqueensMode::Compat,
            ModeArg::Native => NqueensMode::Native,
        }
    }
}

/// Options of `bench nqueens`.
#[derive(Args, Debug)]
#[command(after_help = "Counts are checked against OEIS A000170: a wrong one exits 1. 10 repetitions unless told.\n\n\
    The published load (N = 12, four threads, 20 s, 100 times) and its table:\n  \
    punctual bench nqueens --mode compat -n 12 --threads 4 --repeat 100 --fill 20 --out std\n  \
    punctual report std --format csv > std.csv\n  \
    punctual compare std rt\n\n\
    Seconds of this program are those of native code, and are never compared with the published ones of Python.\n\n\
    Exit codes: 0 all counts right, 1 a wrong count, 2 wrong usage, 4 the environment refused, 128+n ended by signal n: \
    then --resume DIR goes on where it was.")]
pub struct NqueensArgs {
    /// Which search
    #[arg(short, long, value_enum, default_value_t = ModeArg::Native, conflicts_with = "resume")]
    pub mode: ModeArg,
    /// Queens, 1 to 27
    #[arg(short, value_name = "N", default_value_t = 12, conflicts_with = "resume")]
    pub n: u32,
    /// Threads [default: one a CPU]
    #[arg(short, long, value_name = "N", conflicts_with = "resume")]
    pub threads: Option<u32>,
    /// Count again and again until a repetition takes about so many seconds
    #[arg(long, value_name = "SECONDS", conflicts_with = "resume")]
    pub fill: Option<f64>,
    #[command(flatten)]
    pub bench: BenchArgs,
}

/// What runs beside the images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BesideArg {
    /// Nothing
    Nothing,
    /// The published search for N queens, again and again
    Nqueens,
    /// Wakeup latency, one thread a CPU
    Measure,
}

/// Options of `bench network`.
#[derive(Args, Debug)]
#[command(after_help = "10 repetitions unless told. Without --to client and server are both here, over loopback.\n\n\
    Between two machines, the board being measured as the one that sends:\n  \
    there:  punctual serve --store /mnt/usb\n  \
    here:   punctual bench network --to THERE --beside nqueens")]
pub struct NetworkArgs {
    /// HOST[:PORT] of a `punctual serve --store DIR`
    #[arg(long, value_name = "HOST", conflicts_with_all = ["store", "resume"])]
    pub to: Option<String>,
    /// Where the server here stores images; they are removed at the end
    #[arg(long, value_name = "DIR", default_value = ".", conflicts_with = "resume")]
    pub store: PathBuf,
    /// KiB of an image
    #[arg(long, value_name = "KIB", default_value_t = 500, conflicts_with = "resume")]
    pub size: u64,
    /// How long images are sent in a repetition: 5s
    #[arg(short = 'D', long, value_name = "TIME", default_value = "5s", conflicts_with = "resume")]
    pub duration: Nanos,
    /// What runs meanwhile, and is measured, too
    #[arg(long, value_enum, default_value_t = BesideArg::Nothing, conflicts_with = "resume")]
    pub beside: BesideArg,
    /// Queens, with --beside nqueens
    #[arg(short, value_name = "N", default_value_t = 12, conflicts_with = "resume")]
    pub n: u32,
    /// Threads that count queens [default: one a CPU]
    #[arg(short, long, value_name = "N", conflicts_with = "resume")]
    pub threads: Option<u32>,
    #[command(flatten)]
    pub bench: BenchArgs,
}

/// Options of `bench memory`.
#[derive(Args, Debug)]
#[command(after_help = "20 repetitions unless told.")]
pub struct MemoryArgs {
    /// Threads, each on a CPU of its own [default: one a CPU]
    #[arg(short, long, value_name = "N", conflicts_with = "resume")]
    pub threads: Option<u32>,
    /// MiB that each thread reads or writes in one pass, twice over [default: four times the largest cache, 64 to 512]
    #[arg(long, value_name = "MIB", conflicts_with = "resume")]
    pub size: Option<u64>,
    #[command(flatten)]
    pub bench: BenchArgs,
}

/// Options of `bench disk`.
#[derive(Args, Debug)]
#[command(after_help = "20 repetitions unless told. The scratch file has no name, and is gone when the program is.")]
pub struct DiskArgs {
    /// The folder to write in, on the disk that is meant
    #[arg(short, long, value_name = "DIR", default_value = ".", conflicts_with = "resume")]
    pub dir: PathBuf,
    /// Bytes of one write
    #[arg(long, value_name = "BYTES", default_value_t = 4096, conflicts_with = "resume")]
    pub size: u64,
    /// Writes of each kind in one repetition
    #[arg(short, long, value_name = "N", default_value_t = 50, conflicts_with = "resume")]
    pub writes: u32,
    #[command(flatten)]
    pub bench: BenchArgs,
}

/// Options of `bench switch`.
#[derive(Args, Debug)]
#[command(after_help = "20 repetitions unless told. Real-time threads: chrt -f 50 punctual bench switch")]
pub struct SwitchArgs {
    /// Round trips of each kind in one repetition
    #[arg(long, value_name = "N", default_value_t = 2000, conflicts_with = "resume")]
    pub rounds: u32,
    /// The two CPUs, A,B [default: the first two this process may run on]
    #[arg(long, value_name = "A,B", value_parser = two_cpus, conflicts_with = "resume")]
    pub cpus: Option<(CpuId, CpuId)>,
    #[command(flatten)]
    pub bench: BenchArgs,
}

fn two_cpus(text: &str) -> Result<(CpuId, CpuId), String> {
    let number = |word: &str| word.trim().parse().map(CpuId).map_err(|_| "write two CPUs, for example 0,1".to_owned());
    let (a, b) = text.split_once(',').ok_or("write two CPUs, for example 0,1")?;
    Ok((number(a)?, number(b)?))
}
