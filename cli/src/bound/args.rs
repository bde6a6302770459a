//! Options of `bound`.

use crate::args::common::OutputArgs;
use clap::Args;
use punctual_units::{CpuList, Nanos};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct BoundArgs {
    /// A recording with the events of preemptirq, sched, irq and idle: trace.dat, or text with the columns of irq-info
    /// [default: record this machine]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Exit with 1 if the bound is not below this time
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Nanos>,
    /// Time to record, in windows between which the events are read
    #[arg(short = 'D', long, value_name = "TIME", default_value = "10s", conflicts_with = "file")]
    pub duration: Nanos,
    /// CPUs to record [default: all]
    #[arg(long, value_name = "CPUS", conflicts_with = "file")]
    pub cpus: Option<CpuList>,
    /// Also run the kernel's timerlat tracer, whose threads wake with priority FIFO 95 on every CPU, and compare
    #[arg(long, conflicts_with = "file")]
    pub timerlat: bool,
    /// Size of the trace buffer per CPU in KiB, which limits a window
    #[arg(long, value_name = "KIB", default_value_t = 16_384, value_parser = clap::value_parser!(u64).range(64..=1_048_576), conflicts_with = "file")]
    pub trace_buffer: u64,
    #[command(flatten)]
    pub output: OutputArgs,
}
