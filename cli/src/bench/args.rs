use crate::args::common::OutputArgs;
use clap::{Args, Subcommand, ValueEnum};
use punctual_model::NqueensMode;
use punctual_units::{CpuId, Nanos};
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    /// Count the solutions of the N-queens problem: as the published benchmark does, or as fast as possible
    Nqueens(NqueensArgs),
    /// Post images to a web server that stores them, while counting queens or measuring wakeup latency
    Network(NetworkArgs),
    /// Measure memory bandwidth: read, write and copy, one thread per CPU
    Memory(MemoryArgs),
    /// Measure how long written data takes to reach the disk (fsync, fdatasync)
    Disk(DiskArgs),
    /// Measure the cost of waking a thread and switching to it: pipes and futexes, on one CPU and between two
    Switch(SwitchArgs),
}

#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Number of repetitions; each gives `compare` one value [default: see below]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub repeat: Option<u64>,
    /// Run directory to create [default: ./punctual-runs/<time>-bench-<axis>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue a killed or interrupted run with its original options; takes no other option
    #[arg(long, value_name = "DIR", conflicts_with_all = ["repeat", "out"])]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// The backtracking search of the published benchmark, in native code; `punctual report DIR --format csv` prints
    /// its CSV
    Compat,
    /// The fastest algorithm: meet in the middle, with the widest SIMD instructions available
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

#[derive(Args, Debug)]
#[command(
    after_help = "Counts are checked against OEIS A000170: if one is wrong, the exit code is 1. Default: 10 repetitions.\n\n\
    Examples: the published load (N = 12, four threads, 20 s, 100 times) and its table\n  \
    punctual bench nqueens --mode compat -n 12 --threads 4 --repeat 100 --fill 20 --out std\n  \
    punctual report std --format csv > std.csv\n  \
    punctual compare std rt\n\n\
    Times are for native code; do not compare them with the published times, which are for Python.\n\n\
    Exit codes: 0 all counts right, 1 a wrong count, 2 wrong usage, 4 refused by the environment, 128+n ended by signal n: \
    --resume DIR continues the run."
)]
pub struct NqueensArgs {
    /// How to count
    #[arg(short, long, value_enum, default_value_t = ModeArg::Native, conflicts_with = "resume")]
    pub mode: ModeArg,
    /// Number of queens, 1 to 27
    #[arg(short, value_name = "N", default_value_t = 12, conflicts_with = "resume")]
    pub n: u32,
    /// Number of threads [default: one per CPU]
    #[arg(short, long, value_name = "N", conflicts_with = "resume")]
    pub threads: Option<u32>,
    /// Count repeatedly until a repetition takes about this many seconds
    #[arg(long, value_name = "SECONDS", conflicts_with = "resume")]
    pub fill: Option<f64>,
    #[command(flatten)]
    pub bench: BenchArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BesideArg {
    /// Run nothing while images are sent
    Nothing,
    /// Run the published N-queens search repeatedly
    Nqueens,
    /// Measure wakeup latency with one thread per CPU
    Measure,
}

#[derive(Args, Debug)]
#[command(after_help = "Default: 10 repetitions. Without --to, client and server both run here, over loopback.\n\n\
    Examples, the second on a client of `punctual serve --bind 192.168.1.5 --secret-file SECRET --store /mnt/usb`:\n  \
    punctual bench network\n  \
    punctual bench network --to 192.168.1.5 --secret-file SECRET --beside nqueens")]
pub struct NetworkArgs {
    /// HOST[:PORT] of a `punctual serve --store DIR`
    #[arg(long, value_name = "HOST", conflicts_with_all = ["store", "resume"])]
    pub to: Option<String>,
    /// File with the server's secret: a copy of the file that `punctual serve` was given
    #[arg(long, value_name = "FILE", requires = "to", conflicts_with = "resume")]
    pub secret_file: Option<PathBuf>,
    /// Directory in which the local server stores images; they are removed at the end
    #[arg(long, value_name = "DIR", default_value = ".", conflicts_with = "resume")]
    pub store: PathBuf,
    /// Size of an image, KiB
    #[arg(long, value_name = "KIB", default_value_t = 500, conflicts_with = "resume")]
    pub size: u64,
    /// How long to send images in each repetition: 5s
    #[arg(short = 'D', long, value_name = "TIME", default_value = "5s", conflicts_with = "resume")]
    pub duration: Nanos,
    /// What to run or measure while images are sent
    #[arg(long, value_enum, default_value_t = BesideArg::Nothing, conflicts_with = "resume")]
    pub beside: BesideArg,
    /// Number of queens, with --beside nqueens
    #[arg(short, value_name = "N", default_value_t = 12, conflicts_with = "resume")]
    pub n: u32,
    /// Threads that count queens [default: one per CPU]
    #[arg(short, long, value_name = "N", conflicts_with = "resume")]
    pub threads: Option<u32>,
    #[command(flatten)]
    pub bench: BenchArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "Default: 20 repetitions.\n\n\
    Examples:\n  \
    punctual bench memory\n  \
    punctual bench memory --threads 1 --repeat 50")]
pub struct MemoryArgs {
    /// Threads, each on its own CPU [default: one per CPU]
    #[arg(short, long, value_name = "N", conflicts_with = "resume")]
    pub threads: Option<u32>,
    /// Size of each thread's two memory areas, MiB [default: four times the largest cache, 64 to 512]
    #[arg(long, value_name = "MIB", conflicts_with = "resume")]
    pub size: Option<u64>,
    #[command(flatten)]
    pub bench: BenchArgs,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Default: 20 repetitions. The scratch file has no name; the kernel frees it when the program ends.\n\n\
    Examples:\n  \
    punctual bench disk\n  \
    punctual bench disk --dir /mnt/sd --size 65536"
)]
pub struct DiskArgs {
    /// Directory to write in, on the disk to measure
    #[arg(short, long, value_name = "DIR", default_value = ".", conflicts_with = "resume")]
    pub dir: PathBuf,
    /// Bytes per write
    #[arg(long, value_name = "BYTES", default_value_t = 4096, conflicts_with = "resume")]
    pub size: u64,
    /// Writes of each kind per repetition
    #[arg(short, long, value_name = "N", default_value_t = 50, conflicts_with = "resume")]
    pub writes: u32,
    #[command(flatten)]
    pub bench: BenchArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "Default: 20 repetitions. With real-time threads: chrt -f 50 punctual bench switch\n\n\
    Examples:\n  \
    punctual bench switch\n  \
    punctual bench switch --cpus 2,3")]
pub struct SwitchArgs {
    /// Round trips of each kind per repetition
    #[arg(long, value_name = "N", default_value_t = 2000, conflicts_with = "resume")]
    pub rounds: u32,
    /// The two CPUs, A,B [default: the first two allowed]
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
