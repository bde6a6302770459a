//! Options of `watch`.

use crate::args::common::{AlignmentArg, EventsArg, OutputArgs, WhenArg};
use crate::prove::args::AppArgs;
use clap::Args;
use punctual_model::Claim;
use punctual_units::{CpuList, Nanos, Policy, Priority};
use punctual_watch::Keep;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Args, Debug)]
pub struct WatchArgs {
    /// Directory of the series; an existing series is continued
    #[arg(short, long, value_name = "DIR", default_value = "punctual-watch")]
    pub out: PathBuf,
    /// Show the state of the series in this directory; does not measure
    #[arg(long, value_name = "DIR")]
    pub status: Option<PathBuf>,
    /// Show the running watch of this directory as `measure --tui` shows a run, until q is pressed; does not measure
    #[arg(long, value_name = "DIR", conflicts_with = "status")]
    pub attach: Option<PathBuf>,
    /// How long to watch [default: until a signal]
    #[arg(short = 'D', long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// CPUs to measure, in the kernel's list format: 0-3,8 [default: all allowed]
    #[arg(short = 'a', long, visible_alias = "affinity", value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// Period of the measuring threads: 10ms costs about 0.3 % of each CPU
    #[arg(short = 'i', long = "interval", visible_alias = "period", value_name = "TIME", default_value = "10ms")]
    pub period: Nanos,
    /// Priority of the measuring threads, 1 to 99 [default: 90 where permitted]
    #[arg(short = 'p', long, visible_alias = "prio", value_name = "N")]
    pub priority: Option<Priority>,
    /// Policy of the measuring threads: fifo, rr, other, batch, idle [default: fifo where permitted]
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<Policy>,
    /// How the releases of several CPUs are aligned
    #[arg(long, value_enum, default_value_t = AlignmentArg::Staggered)]
    pub phase: AlignmentArg,
    /// Time covered by one run directory
    #[arg(long, value_name = "TIME", default_value = "6h")]
    pub segment: Nanos,
    /// Run directories to keep, by number (500) or by total size (64M, 2G) [default: 64M]; the oldest are deleted. With
    /// a TIME instead: how long before each moment at which the application is late events are kept [default: 20ms].
    /// Both may be given
    #[arg(long = "keep", value_name = "COUNT|SIZE|TIME")]
    pub keeps: Vec<KeepArg>,
    /// Length of the blocks whose maxima are kept permanently
    #[arg(long, hide = true, value_name = "TIME", default_value = "5min")]
    pub block: Nanos,
    /// Maximum growth of all files together, per CPU and day; beyond it, old traces are deleted
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size)]
    pub disk_per_day: u64,
    /// Trace new maxima to name their causes: auto (where this machine allows it), always, never
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = WhenArg::Auto)]
    pub trace: WhenArg,
    /// Trace a new maximum of a CPU only if it is at least this latency
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub trace_above: Nanos,
    /// Events to record: fewer events disturb less, more events distinguish similar causes
    #[arg(long, value_enum, value_name = "SET", default_value_t = EventsArg::Minimal)]
    pub trace_events: EventsArg,
    /// Trace buffer of each CPU, KiB [default: 1/256 of the memory for all CPUs together, 512 to 4096]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(64..=1048576))]
    pub trace_buffer: Option<u64>,
    /// Write a file for Prometheus' textfile collector, which is replaced atomically
    #[arg(long, value_name = "FILE")]
    pub textfile: Option<PathBuf>,
    /// How often to write the --textfile file
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub textfile_every: Nanos,
    /// Do not fsync checkpoints: a power failure may lose more than 10 s of samples
    #[arg(long)]
    pub no_sync: bool,
    #[command(flatten)]
    pub app: AppArgs,
    /// A claim whose violation makes the application late: 'response(THREAD) < TIME', 'late(THREAD) = 0', …; may be
    /// repeated [default: late(THREAD) = 0 for each thread with a period]
    #[arg(short = 'c', long = "claim", value_name = "CLAIM", requires = "application", help_heading = "Application")]
    pub claims: Vec<Claim>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What to keep: run directories, or the events before each moment at which the application is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepArg {
    Runs(Keep),
    Events(Nanos),
}

impl FromStr for KeepArg {
    type Err = String;

    fn from_str(text: &str) -> Result<KeepArg, String> {
        // A number without a unit counts run directories.
        let is_number = text.trim().parse::<f64>().is_ok();
        match text.parse::<Keep>() {
            Ok(keep) => Ok(KeepArg::Runs(keep)),
            Err(e) if is_number => Err(e.to_string()),
            Err(e) => text.parse().map(KeepArg::Events).map_err(|_| format!("{e}; write a time for events as in 20ms")),
        }
    }
}

impl WatchArgs {
    /// Returns the directory of the watch to show; `None` if the command measures.
    pub fn shown(&self) -> Option<&Path> {
        self.status.as_deref().or(self.attach.as_deref())
    }

    /// Returns the run directories to keep.
    pub fn kept_runs(&self) -> Keep {
        let runs = |keep: &KeepArg| match keep {
            KeepArg::Runs(keep) => Some(*keep),
            KeepArg::Events(_) => None,
        };
        self.keeps.iter().rev().find_map(runs).unwrap_or(Keep::Bytes(64 << 20))
    }

    /// Returns how long before each moment at which the application is late events are kept; `None` if not given.
    pub fn kept_events(&self) -> Option<Nanos> {
        let events = |keep: &KeepArg| match keep {
            KeepArg::Runs(_) => None,
            KeepArg::Events(time) => Some(*time),
        };
        self.keeps.iter().rev().find_map(events)
    }
}

fn size(text: &str) -> Result<u64, String> {
    let known = punctual_watch::size(text).filter(|bytes| *bytes > 0);
    known.ok_or_else(|| format!("`{text}` is not a size: write for example 1M or 500k"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_keeps_runs_and_a_time_keeps_events() {
        let of = |text: &str| text.parse::<KeepArg>();
        assert_eq!(of("64M"), Ok(KeepArg::Runs(Keep::Bytes(64 << 20))));
        assert_eq!(of("500"), Ok(KeepArg::Runs(Keep::Count(500))));
        assert_eq!(of("20ms"), Ok(KeepArg::Events(Nanos::from_millis(20))));
        assert_eq!(of("1s"), Ok(KeepArg::Events(Nanos::from_secs(1))));
        for wrong in ["", "0", "0M", "-1", "1.5", "1.5G", "x"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
