//! The command line.

use crate::audit::args::{AuditArgs, SnapshotArgs};
use crate::explain::args::ExplainArgs;
use crate::fix::args::UndoArgs;
use crate::kernel::args::KernelCommand;
use crate::lab::args::LabCommand;
use clap::{Args, Parser, Subcommand, ValueEnum};
use punctual_model::{Alignment, Claim, VirtualTime};
use punctual_proof::Via;
use punctual_units::{CpuList, Nanos, Policy, Priority};
use std::ffi::OsStr;
use std::path::PathBuf;

/// Will it be on time, and if not, what is in the way?
#[derive(Parser, Debug)]
#[command(name = "punctual", version, about, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 pass, 1 a claim fails, 2 wrong usage, 3 inconclusive, 4 the environment \
                        refused, 128+n ended by signal n.")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Audit the machine, measure it idle and under each load, judge the claims, write a report
    Prove(MeasureArgs),
    /// Check everything that keeps a machine from being on time: this one, a tree of files, or a snapshot
    Audit(AuditArgs),
    /// Try which of the audit's fixes help on this machine, each measured with and without it; keep those that do
    Tune(crate::tune::args::TuneArgs),
    /// Put back what `audit --fix` and `tune` changed, byte for byte: all of it, or that of some rules
    Undo(UndoArgs),
    /// Put what an audit reads into a file, without what identifies the machine
    Snapshot(SnapshotArgs),
    /// Measure wakeup latency under named loads into a run directory
    Measure(MeasureArgs),
    /// Watch a machine for weeks at less than 1 % of its CPU time: run directories of six hours, maxima of 5 minutes, every new maximum explained
    Watch(crate::watch::args::WatchArgs),
    /// As cyclictest: its options, its outputs; `punctual cyclictest --help` lists them
    #[command(disable_help_flag = true)]
    Cyclictest {
        /// cyclictest's options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        words: Vec<std::ffi::OsString>,
    },
    /// Plant known delays beside the measuring engine and require that it finds each (2 s, as root)
    Selftest(SelftestArgs),
    /// The portable event suite: periodic and interrupt-driven events, their timing and their number, none of which may be lost
    Events(crate::events::args::EventsArgs),
    /// Scheduling experiments: threads with policies, priorities and CPUs, when each ends, predicted beside measured
    Sched(crate::sched::args::SchedArgs),
    /// What a kernel costs: N-queens, network, memory, disk, switching; repeated, with temperature and frequency, for `compare`
    #[command(subcommand)]
    Bench(crate::bench::args::BenchCommand),
    /// Read other tools' results into a run directory: cyclictest, rtla, jitterdebugger, oslat, CSV
    Import(ImportArgs),
    /// Show a run directory again, or another tool's file: as a page, text, JSON, CSV, or in the formats that labs and dashboards collect
    Report(crate::report::args::ReportArgs),
    /// Say what delayed the latest wakeups of a trace (trace.dat, the kernel's own text, pasted lines)
    Explain(ExplainArgs),
    /// Put two or more runs, kernels or other tools' files beside each other: what differs, and how sure that is
    Compare(crate::compare::args::CompareArgs),
    /// Runs by machine, kernel and settings: trends, shifts, and whether a run is worse than its baseline
    #[cfg(feature = "history")]
    History(crate::history::args::HistoryArgs),
    /// Answer the network load of another machine
    Serve(crate::serve::ServeArgs),
    /// Boot kernels in QEMU: run scripts in them, prove and compare them in virtual time, without a board
    #[command(subcommand)]
    Lab(LabCommand),
    /// Real-time kernels: which one this board needs and the cheapest way to it, checks before a build, patches, configurations
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// Print what completes its commands and options in a shell
    Completions(crate::manual::CompletionsArgs),
    /// Write its manual pages into a folder, one for each command
    Man(crate::manual::ManArgs),
}

/// Options of `selftest`.
#[derive(Args, Debug)]
pub struct SelftestArgs {
    /// The CPU to disturb and measure [default: the last one]
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u32>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How the threads' releases lie to each other.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AlignmentArg {
    /// All at the same instant
    Aligned,
    /// Evenly spread over one period
    Staggered,
}

impl From<AlignmentArg> for Alignment {
    fn from(a: AlignmentArg) -> Alignment {
        match a {
            AlignmentArg::Aligned => Alignment::Aligned,
            AlignmentArg::Staggered => Alignment::Staggered,
        }
    }
}

/// Whether late wakeups are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhenArg {
    /// If this machine lets us; else the report says why not
    Auto,
    /// Refuse to measure without
    Always,
    /// Not at all
    Never,
}

/// Which events are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventsArg {
    /// What a delay can be followed with
    Minimal,
    /// Idle states, interrupts between CPUs and CPU time as well
    Full,
}

/// Options of `prove` and `measure`.
#[derive(Args, Debug)]
pub struct MeasureArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Watch it in the terminal while it runs: histograms and figures of each CPU, drawn twice a second; q ends, n begins the
    /// next load, ? shows the keys
    #[arg(long, conflicts_with = "quiet")]
    pub live: bool,
    /// Add the run to the history (`punctual history`) when it ends; what fails there is said and decides nothing [default
    /// FILE: as for `punctual history --db`]
    #[cfg(feature = "history")]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub history: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub on: crate::kernel::deploy_args::TargetArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What is measured, and how.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("claimed").args(["claims", "deadline"]).multiple(true))]
pub struct RunArgs {
    /// Total measuring time, shared equally by the loads: 500ms, 30s, 15m, 24h [default: 60s]
    #[arg(short = 'D', long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Measure on after --duration, in rounds over all loads, until every claim (there must be one) is decided; the claims are
    /// looked at after each round, which is as long as all before it
    #[arg(long, requires = "claimed")]
    pub until_decided: bool,
    /// With --until-decided: the most measuring time; what is open then stays inconclusive [default: 12h]
    #[arg(long, value_name = "TIME", requires = "until_decided")]
    pub max: Option<Nanos>,
    /// Time run but not recorded at the start of each phase [default: 200ms for prove, none for measure]
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<Nanos>,
    /// Loads, one phase each: idle, cpu, memory, io, loopback, network, scheduler, timers, all, or cmd:'ANY COMMAND'
    /// (one --load for each command) [default: all of them but network for prove, idle for measure]
    #[arg(short = 'l', long = "load", value_name = "LOADS")]
    pub loads: Vec<String>,
    /// What must hold: 'max < 100us', 'p99.99 < 50us', 'P(>100us) < 1e-6 @95%', 'missed = 0', hard, firm or soft; may be
    /// repeated [default for prove: missed = 0]
    #[arg(short = 'c', long = "claim", value_name = "CLAIM")]
    pub claims: Vec<Claim>,
    /// Claim 'max < TIME' and 'missed = 0'
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Nanos>,
    /// CPUs to measure, as the kernel writes them: 0-3,8 [default: all allowed]
    #[arg(short = 'a', long, visible_alias = "affinity", value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// By what the measuring threads are woken: nanosleep, relative, timerfd, posix-timer; or by another thread through futex,
    /// signal, eventfd, udp (loopback) or serial:/dev/ttyS1 (an UART that sends to itself). Only `measure`, instead of wakeups:
    /// busy-poll, or the kernel's tracers timerlat and hwlat
    #[arg(long, value_name = "WAY", default_value_t)]
    pub via: Via,
    /// Period of the measuring threads
    #[arg(short = 'i', long, visible_alias = "interval", value_name = "TIME", default_value = "1ms")]
    pub period: Nanos,
    /// Priority of the measuring threads, 1 to 99 [default: 90 where permitted]
    #[arg(short = 'p', long, visible_alias = "prio", value_name = "N")]
    pub priority: Option<Priority>,
    /// Policy of the measuring threads: fifo, rr, other, batch, idle, deadline [default: fifo where permitted]
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<Policy>,
    /// How the releases of several CPUs lie to each other
    #[arg(long, value_enum, default_value_t = AlignmentArg::Staggered)]
    pub phase: AlignmentArg,
    /// Hold /dev/cpu_dma_latency at this many µs (0: no C-states), as the application will
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(i32).range(0..))]
    pub cpu_dma_latency: Option<i32>,
    /// Worst wakeups kept for each phase and CPU, 1 to 128
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub worst: u16,
    /// Do not sample the machine's context: no thread but the measuring ones, and a killed run keeps finished phases only
    #[arg(long)]
    pub no_context: bool,
    /// The machine that answers the network load (running `punctual serve`)
    #[arg(long, value_name = "HOST[:PORT]")]
    pub peer: Option<String>,
    /// Folder on a real disk where the io load may write [default: the run directory]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Most MiB the io load may write in the whole run: SD cards wear
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub write_cap: u64,
    /// Trace late wakeups, to say their causes by name: auto (if this machine lets us), always, never
    /// [default: auto for prove, never for measure]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub trace: Option<WhenArg>,
    /// Which events are recorded: fewer disturb less, more tell apart what looks alike
    #[arg(long, value_enum, value_name = "SET", default_value_t = EventsArg::Minimal)]
    pub trace_events: EventsArg,
    /// Trace buffer of each CPU, KiB [default: a 256th of the memory shared by all, 512 to 4096]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(64..=1048576))]
    pub trace_buffer: Option<u64>,
    /// Leave it to the kernel when checkpoints reach the disk: a power cut may cost more than 10 s of samples
    #[arg(long)]
    pub no_sync: bool,
    /// The run directory to make [default: ./punctual-runs/<time>-<host>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Length of the blocks of which the maxima are kept
    #[arg(long, hide = true, value_name = "TIME")]
    pub maxima_block: Option<Nanos>,
    /// This machine's clock model, told by `lab prove`
    #[arg(long, hide = true, value_name = "JSON", value_parser = virtual_time)]
    pub virtual_time: Option<VirtualTime>,
}

fn virtual_time(text: &str) -> Result<VirtualTime, serde_json::Error> {
    serde_json::from_slice(text.as_bytes())
}

/// The measuring commands alone: building the whole tree of commands would delay the first sample.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub struct Measuring {
    #[command(flatten)]
    pub options: MeasureArgs,
}

impl Arguments {
    /// The arguments of this process.
    ///
    /// # Errors
    /// They are wrong, or ask for help.
    pub fn of_process() -> Result<Arguments, clap::Error> {
        let mut words = std::env::args_os().skip(1);
        let command: Option<fn(MeasureArgs) -> Command> = match words.next().as_deref().and_then(OsStr::to_str) {
            Some("prove") => Some(Command::Prove),
            Some("measure") => Some(Command::Measure),
            _ => None,
        };
        match command.map(|command| (command, Measuring::try_parse_from(words))) {
            Some((command, Ok(measuring))) => Ok(Arguments { command: command(measuring.options) }),
            // What is wrong is said by the whole parser.
            _ => Arguments::try_parse(),
        }
    }
}

/// Options of every command.
#[derive(Args, Debug, Clone, Copy)]
pub struct OutputArgs {
    /// One JSON document on standard output, nothing else
    #[arg(long)]
    pub json: bool,
    /// Nothing on standard output: the exit code tells
    #[arg(short, long)]
    pub quiet: bool,
}

/// What a file of another tool is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// Text of cyclictest, or live rows of cyclicdeadline or jitterdebugger
    Cyclictest,
    /// JSON of cyclictest, cyclicdeadline, oslat or jitterdebugger
    Json,
    /// A histogram as CSV, a bin a row
    Csv,
    /// Text of rtla timerlat, osnoise or hwnoise
    Rtla,
    /// samples.raw
    JitterdebuggerRaw,
    /// The N-queens benchmark's CSV
    Nqueens,
}

/// Units that a file may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnitArg {
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

/// What the user knows of a file that does not tell it.
#[derive(Args, Debug, Clone, Copy)]
pub struct ToldArgs {
    /// Read it as this, whatever it looks like
    #[arg(long = "input-format", visible_alias = "from", value_enum, value_name = "FORMAT")]
    pub input_format: Option<ImportFormat>,
    /// Unit of its values [default: as it tells, else us, and said]
    #[arg(long, value_enum)]
    pub unit: Option<UnitArg>,
    /// Period of its threads, where it does not tell: then it is known how many periods can have been skipped
    #[arg(long, value_name = "TIME")]
    pub period: Option<Nanos>,
    /// Board it was measured on, for example raspberry-pi-4b: its report then has what was published of that board
    #[arg(long, value_name = "BOARD", value_parser = known_board)]
    pub board: Option<&'static punctual_references::Board>,
}

fn known_board(named: &str) -> Result<&'static punctual_references::Board, String> {
    punctual_references::board(named).ok_or_else(|| {
        let keys: Vec<&str> = punctual_references::boards().iter().map(|b| b.key.as_str()).collect();
        format!("no published figures of it are bundled; there are some of {}", keys.join(", "))
    })
}

/// Options of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The files, each a phase or more of one run; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Read them as this, whatever they look like
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub format: Option<ImportFormat>,
    #[command(flatten)]
    pub told: ToldArgs,
    /// The run directory to make
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}
