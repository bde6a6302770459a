//! Options of `watch`.

use crate::args::common::{AlignmentArg, EventsArg, OutputArgs, WhenArg};
use clap::Args;
use punctual_units::{CpuList, Nanos, Policy, Priority};
use punctual_watch::Keep;
use std::path::PathBuf;

/// Options of `watch`.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// The folder of the series; an earlier one there is continued
    #[arg(short, long, value_name = "DIR", default_value = "punctual-watch")]
    pub out: PathBuf,
    /// Do not measure: say how the series in this folder stands
    #[arg(long, value_name = "DIR")]
    pub status: Option<PathBuf>,
    /// For how long [default: until a signal ends it]
    #[arg(short = 'D', long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// CPUs to measure, as the kernel writes them: 0-3,8 [default: all allowed]
    #[arg(short = 'a', long, visible_alias = "affinity", value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// Period of the measuring threads: 10ms cost some 0.3 % of each CPU
    #[arg(short = 'i', long = "interval", visible_alias = "period", value_name = "TIME", default_value = "10ms")]
    pub period: Nanos,
    /// Priority of the measuring threads, 1 to 99 [default: 90 where permitted]
    #[arg(short = 'p', long, visible_alias = "prio", value_name = "N")]
    pub priority: Option<Priority>,
    /// Policy of the measuring threads: fifo, rr, other, batch, idle [default: fifo where permitted]
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<Policy>,
    /// How the releases of several CPUs lie to each other
    #[arg(long, value_enum, default_value_t = AlignmentArg::Staggered)]
    pub phase: AlignmentArg,
    /// Length of a run directory
    #[arg(long, value_name = "TIME", default_value = "6h")]
    pub segment: Nanos,
    /// Run directories that stay, by number (500) or together (64M, 2G); the oldest are deleted
    #[arg(long, value_name = "COUNT|SIZE", default_value = "64M")]
    pub keep: Keep,
    /// Length of the blocks of which the largest latencies are kept for ever
    #[arg(long, hide = true, value_name = "TIME", default_value = "5min")]
    pub block: Nanos,
    /// Most that all files together may grow by, for each CPU and day; what is over it are old traces, which are deleted
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size)]
    pub disk_per_day: u64,
    /// Trace new maxima, to say their causes by name: auto (if this machine lets us), always, never
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = WhenArg::Auto)]
    pub trace: WhenArg,
    /// A new maximum of a CPU is traced from this latency on
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub trace_above: Nanos,
    /// Which events are recorded: fewer disturb less, more tell apart what looks alike
    #[arg(long, value_enum, value_name = "SET", default_value_t = EventsArg::Minimal)]
    pub trace_events: EventsArg,
    /// Trace buffer of each CPU, KiB [default: a 256th of the memory shared by all, 512 to 4096]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(64..=1048576))]
    pub trace_buffer: Option<u64>,
    /// A file for Prometheus' textfile collector, replaced at once
    #[arg(long, value_name = "FILE")]
    pub textfile: Option<PathBuf>,
    /// How often it is written
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub textfile_every: Nanos,
    /// Leave it to the kernel when checkpoints reach the disk: a power cut may cost more than 10 s of samples
    #[arg(long)]
    pub no_sync: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

fn size(text: &str) -> Result<u64, String> {
    let known = punctual_watch::size(text).filter(|bytes| *bytes > 0);
    known.ok_or_else(|| format!("`{text}` is no size: write for example 1M or 500k"))
}
