//! Options of `prove` and `measure`.

use crate::args::common::{AlignmentArg, EventsArg, OutputArgs, TargetArgs, WhenArg};
use clap::Args;
use punctual_model::{Claim, VirtualTime};
use punctual_proof::Via;
use punctual_units::{CpuList, Nanos, Policy, Priority};
use std::path::PathBuf;

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
    pub on: TargetArgs,
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
