//! Options of `explain`.

use crate::args::common::OutputArgs;
use crate::prove::args::RunArgs;
use clap::Args;
use punctual_explain::{Options, Victims};
use punctual_units::Nanos;
use std::path::PathBuf;

/// Options of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A run directory; or a trace: trace.dat, perf.data, the text of /sys/kernel/tracing/trace, `trace-cmd report` or a mail; -
    /// reads text from standard input
    #[arg(value_name = "RUN|FILE", required_unless_present_any = ["live", "hardware"], conflicts_with_all = ["live", "hardware"])]
    pub file: Option<PathBuf>,
    /// Trace this machine: measure as `measure` would and explain the worst; with --task or --all-rt, watch those threads
    #[arg(long)]
    pub live: bool,
    /// With --live: run this tracer of the kernel as well and watch (timerlat, osnoise, hwlat, wakeup_rt; see
    /// /sys/kernel/tracing/available_tracers)
    #[arg(long, value_name = "NAME", requires = "live")]
    pub tracer: Option<String>,
    /// Tell hardware, hypervisor and Linux apart on this machine: threads read the clock for half of the time, gaps of at
    /// least --threshold [default: 10us] are compared with a trace. Takes --duration [default: 10s], --cpus, --priority,
    /// --trace never and --trace-buffer too. Real-time threads below that priority wait up to half a second for a CPU
    #[arg(long, conflicts_with_all = ["live", "task", "all_rt", "cycle", "timeline", "html", "perfetto", "bundle"])]
    pub hardware: bool,
    /// With --hardware: let the kernel's own detector run for half of the time too. It keeps interrupts off for half of
    /// each second
    #[arg(long, requires = "hardware", conflicts_with_all = ["live", "file"])]
    pub hwlat: bool,
    /// With --live and --task or --all-rt: end at the first wakeup later than --threshold
    #[arg(long, requires = "live", requires = "threshold")]
    pub stop: bool,
    /// Whose wakeups: a thread's id or name [default: known measuring tools' threads, else all real-time threads]
    #[arg(long, value_name = "NAME|TID")]
    pub task: Option<String>,
    /// The wakeups of all real-time threads
    #[arg(long, conflicts_with = "task")]
    pub all_rt: bool,
    /// How many of the latest wakeups
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub most: u16,
    /// Wakeups below this are not late, gaps below this none
    #[arg(long, value_name = "TIME")]
    pub threshold: Option<Nanos>,
    /// Account for the cycle too: from the release to the end of the work
    #[arg(long)]
    pub cycle: bool,
    /// Draw what every CPU did around the latest wakeup
    #[arg(long)]
    pub timeline: bool,
    /// Write a page with verdicts, causes and the timeline to this new file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the trace with its verdicts for ui.perfetto.dev to this new file
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Write the latest wakeup's piece of the trace to this new file, as text for a bug report: names of threads stay, kernel
    /// addresses and texts of programs do not
    #[arg(long, value_name = "FILE")]
    pub bundle: Option<PathBuf>,
    #[command(flatten, next_help_heading = "With --live")]
    pub run: RunArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl ExplainArgs {
    /// Whose wakeups.
    pub fn victims(&self) -> Victims {
        match (&self.task, self.all_rt) {
            (Some(task), _) => task.parse().map_or_else(|_| Victims::Comm(task.clone()), Victims::Tid),
            (None, true) => Victims::AllRealTime,
            (None, false) => Victims::Measuring,
        }
    }

    /// What to explain, and how much of it.
    pub fn options(&self) -> Options {
        Options {
            victims: self.victims(),
            most: self.most.into(),
            threshold_ns: self.threshold.map(|t| t.0),
            cycles: self.cycle,
            ..Options::default()
        }
    }
}
