//! Options of `prove` and `measure`.

use crate::args::common::{AlignmentArg, EventsArg, OutputArgs, TargetArgs, WhenArg};
use clap::Args;
use punctual_model::{Claim, VirtualTime};
use punctual_proof::Via;
use punctual_units::{CpuList, Nanos, Policy, Priority};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct MeasureArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Show histograms and statistics of each CPU in the terminal while it runs, updated twice a second; q ends, n
    /// starts the next load, ? lists the keys
    #[arg(long, alias = "live", conflicts_with = "quiet")]
    pub tui: bool,
    /// Add the run to the history (`punctual history`) when it ends; a failure to add it is reported and does not
    /// change the exit code [default FILE: as for `punctual history --db`]
    #[cfg(feature = "history")]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub history: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub on: TargetArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Print every section of the result instead of a summary for a terminal of 80×24
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub full: bool,
}

#[derive(Args, Debug)]
pub struct ProveArgs {
    #[command(flatten)]
    pub measure: MeasureArgs,
    #[command(flatten)]
    pub app: AppArgs,
    /// Show what was detected about each thread (what releases it, and its period) without measuring
    #[arg(long, requires = "application", help_heading = "Application")]
    pub show_cycles: bool,
}

/// Options that select an application whose cycles are measured instead of wakeups.
#[derive(Args, Debug)]
#[command(next_help_heading = "Application", group = clap::ArgGroup::new("application").args(["commands", "pids", "units"]).multiple(true))]
pub struct AppArgs {
    /// Start this command and measure the cycles of its real-time threads instead of wakeups; it ends with the run, and
    /// its standard output goes to standard error. --app, --pid and --unit may be repeated and combined
    #[arg(long = "app", value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// Measure this process, which continues to run
    #[arg(long = "pid", value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub pids: Vec<i32>,
    /// Measure the processes of this systemd unit
    #[arg(long = "unit", value_name = "UNIT")]
    pub units: Vec<String>,
    /// Measure the threads of this name, or PROGRAM/NAME; may be repeated [default: all real-time threads]
    #[arg(long = "thread", value_name = "NAME", requires = "application")]
    pub threads: Vec<String>,
    /// Time from the start of the application to its real-time work
    #[arg(long, value_name = "TIME", requires = "application")]
    pub after: Option<Nanos>,
}

/// Options of the measurement.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("claimed").args(["claims", "deadline"]).multiple(true))]
pub struct RunArgs {
    /// Total measurement time, divided equally among the loads: 500ms, 30s, 15m, 24h [default: 60s]
    #[arg(short = 'D', long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Continue past --duration until every claim is decided; requires a claim. Claims are checked after each round
    /// over all loads; a round lasts an eighth of the time measured before it, at least --duration
    #[arg(long, requires = "claimed")]
    pub until_decided: bool,
    /// With --until-decided: maximum measurement time; claims still open are then inconclusive [default: 12h]
    #[arg(long, value_name = "TIME", requires = "until_decided")]
    pub time_limit: Option<Nanos>,
    /// Time to run without recording at the start of each phase [default: 200ms for prove, none for measure]
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<Nanos>,
    #[arg(short = 'l', long = "load", value_name = "LOADS", help = loads_help())]
    pub loads: Vec<String>,
    /// Claim to judge: 'max < 100us', 'p99.99 < 50us', 'P(>100us) < 1e-6 @stall 50ms @95%', 'episodes(>100us) < 1 per
    /// day', 'missed = 0', 'missed <= 3 per 1e6', hard, firm or soft; with --app also 'response(THREAD) < 800us',
    /// 'late(THREAD) = 0', 'jitter(THREAD) < 50us', 'cpu(THREAD) < 300us' or 'chain(A > B) < 2ms'; may be repeated
    /// [default for prove: missed = 0]
    #[arg(short = 'c', long = "claim", value_name = "CLAIM")]
    pub claims: Vec<Claim>,
    /// Exit with 3 instead of 0 if a claim (max, missed, hard, firm, soft) has the verdict HELD, which is less than
    /// proved
    #[arg(long)]
    pub require_proof: bool,
    /// Shorthand for the claims 'max < TIME' and 'missed = 0'
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Nanos>,
    /// CPUs to measure, in the kernel's list format: 0-3,8 [default: all allowed]
    #[arg(short = 'a', long, visible_alias = "affinity", value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// What wakes the measuring threads: nanosleep, relative, timerfd, posix-timer; or another thread through futex,
    /// signal, eventfd, udp (loopback) or serial:/dev/ttyS1 (a UART that sends to itself). For `measure` only, instead
    /// of wakeups: busy-poll, or the kernel tracers timerlat and hwlat
    #[arg(long, value_name = "SOURCE", default_value_t)]
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
    /// How the releases of several CPUs are aligned
    #[arg(long, value_enum, default_value_t = AlignmentArg::Staggered)]
    pub phase: AlignmentArg,
    /// Hold /dev/cpu_dma_latency at this value in µs (0: no C-states), if the application will do so, too
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(i32).range(0..))]
    pub cpu_dma_latency: Option<i32>,
    /// Number of worst wakeups to keep for each phase and CPU, 1 to 128
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub worst: u16,
    /// Do not sample the machine's context: only the measuring threads run, and a killed run keeps only the phases that
    /// have finished
    #[arg(long)]
    pub no_context: bool,
    /// Machine that answers the network load (runs `punctual serve`)
    #[arg(long, value_name = "HOST[:PORT]")]
    pub peer: Option<String>,
    /// File with the peer's secret: a copy of the file passed to `punctual serve`
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub secret_file: Option<PathBuf>,
    /// Directory on a real disk for the files of the io load [default: the run directory]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Maximum number of MiB that the io load writes in the whole run, since SD cards wear out
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub write_cap: u64,
    /// Trace late wakeups to name their causes: auto (where this machine allows it), always, never [default: auto for
    /// prove, never for measure]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub trace: Option<WhenArg>,
    /// Events to record: fewer events disturb less, more events distinguish similar causes
    #[arg(long, value_enum, value_name = "SET", default_value_t = EventsArg::Minimal)]
    pub trace_events: EventsArg,
    /// Trace buffer of each CPU, KiB [default: 1/256 of the memory for all CPUs together, 512 to 4096]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(64..=1048576))]
    pub trace_buffer: Option<u64>,
    /// Do not fsync checkpoints: a power failure may lose more than 10 s of samples
    #[arg(long)]
    pub no_sync: bool,
    /// Run directory to create [default: ./punctual-runs/<time>-<host>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Length of the blocks whose maxima are kept
    #[arg(long, hide = true, value_name = "TIME")]
    pub maxima_block: Option<Nanos>,
    /// Clock model of this machine; `lab prove` passes it
    #[arg(long, hide = true, value_name = "JSON", value_parser = virtual_time)]
    pub virtual_time: Option<VirtualTime>,
}

fn loads_help() -> String {
    format!(
        "Loads, one phase each, separated by commas: {}, control and control-all (busy loops that check emulators), or \
         cmd:'ANY COMMAND' (one --load for each command) [default: all but network for \
         prove, idle for measure]",
        punctual_loads::defaults(true).join(", ")
    )
}

fn virtual_time(text: &str) -> Result<VirtualTime, serde_json::Error> {
    serde_json::from_slice(text.as_bytes())
}
