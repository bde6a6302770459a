use super::run::Shown;
use crate::args::common::OutputArgs;
use crate::prove::args::RunArgs;
use clap::Args;
use punctual_explain::{ExplainOptions, Victims};
use punctual_units::Nanos;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A run directory, or a trace: trace.dat, perf.data, the text of /sys/kernel/tracing/trace or of `trace-cmd
    /// report`, also copied into a mail; - reads text from standard input [default: the newest run of ./punctual-runs]
    #[arg(value_name = "RUN|FILE", conflicts_with_all = ["live", "hardware"])]
    pub file: Option<PathBuf>,
    /// Trace this machine: measure as `measure` does and explain the worst wakeups; with --task or --all-rt, explain
    /// those of the given threads
    #[arg(long)]
    pub live: bool,
    /// With --live: also run this kernel tracer (timerlat, osnoise, hwlat, wakeup_rt; see
    /// /sys/kernel/tracing/available_tracers)
    #[arg(long, value_name = "NAME", requires = "live")]
    pub tracer: Option<String>,
    /// Distinguish hardware, hypervisor and Linux as sources of latency on this machine: threads read the clock half of
    /// the time, and gaps between two reads of at least --threshold [default: 10us] are compared with a trace. Also
    /// takes --duration [default: 10s], --cpus, --priority, --trace never and --trace-buffer. Real-time threads below
    /// that priority wait up to half a second for a CPU
    #[arg(long, conflicts_with_all = ["live", "task", "all_rt", "cycle", "timeline", "html", "perfetto", "bundle"])]
    pub hardware: bool,
    /// With --hardware: also run the kernel's hwlat detector half of the time; it disables interrupts for half of each
    /// second
    #[arg(long, requires = "hardware", conflicts_with_all = ["live", "file"])]
    pub hwlat: bool,
    /// With --live and --task or --all-rt: stop at the first wakeup that is later than --threshold
    #[arg(long, requires = "live", requires = "threshold")]
    pub stop: bool,
    /// Thread to explain, by ID or name [default: the threads of known measuring tools, otherwise all real-time
    /// threads]
    #[arg(long, value_name = "NAME|TID")]
    pub task: Option<String>,
    /// Explain wakeups of all real-time threads
    #[arg(long, conflicts_with = "task")]
    pub all_rt: bool,
    /// Number of wakeups to explain, worst first; implies --full [default: 10]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub most: Option<u16>,
    /// Print the verdict on every wakeup and all that is known about the worst one, instead of a summary for a terminal
    /// of 80×24
    #[arg(long, conflicts_with_all = ["json", "quiet", "hardware"])]
    pub full: bool,
    /// Ignore wakeup latencies and gaps below this time
    #[arg(long, value_name = "TIME")]
    pub threshold: Option<Nanos>,
    /// Also explain the time of the whole cycle, from the release to the end of the work
    #[arg(long)]
    pub cycle: bool,
    /// Draw a timeline of every CPU around the worst wakeup
    #[arg(long)]
    pub timeline: bool,
    /// Write a page with verdicts, causes and the timeline to this new file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the trace with its verdicts to this new file, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Write the part of the trace around the worst wakeup to this new file, as text for a bug report: keeps thread
    /// names, removes kernel addresses and text written by programs
    #[arg(long, value_name = "FILE")]
    pub bundle: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = "With --live")]
    pub run: RunArgs,
}

impl ExplainArgs {
    pub fn most(&self) -> u16 {
        self.most.unwrap_or(10)
    }

    pub fn is_full(&self) -> bool {
        self.full || self.cycle || self.most.is_some()
    }

    pub fn victims(&self) -> Victims {
        match (&self.task, self.all_rt) {
            (Some(task), _) => task.parse().map_or_else(|_| Victims::Comm(task.clone()), Victims::Tid),
            (None, true) => Victims::AllRealTime,
            (None, false) => Victims::Measuring,
        }
    }

    pub fn shown(&self) -> Shown {
        Shown { most: self.most().into(), least_ns: self.threshold.map_or(0, |least| least.0) }
    }

    pub fn options(&self) -> ExplainOptions {
        ExplainOptions {
            victims: self.victims(),
            most: self.most().into(),
            threshold_ns: self.threshold.map(|t| t.0),
            cycles: self.cycle,
            ..ExplainOptions::default()
        }
    }
}
