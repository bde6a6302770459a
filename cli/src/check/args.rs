//! Options of `check`.

use crate::args::common::OutputArgs;
use clap::{Args, ValueEnum};
use punctual_check::Order;
use punctual_units::Nanos;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("subject").args(["program", "pid", "unit", "cgroup", "explain", "list"]).required(true))]
pub struct CheckArgs {
    /// Program to start and observe, with its arguments; terminated after --duration. Its standard output goes to
    /// standard error
    #[arg(trailing_var_arg = true, value_name = "PROGRAM ARGS")]
    pub program: Vec<OsString>,
    /// Observe this process, which keeps running
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
    /// Observe the processes of this systemd unit
    #[arg(long)]
    pub unit: Option<String>,
    /// Observe the processes of this control group: /sys/fs/cgroup/…
    #[arg(long, value_name = "DIR")]
    pub cgroup: Option<PathBuf>,
    /// Maximum observation time: 500ms, 30s, 15m
    #[arg(short = 'D', long, value_name = "TIME", default_value = "10s")]
    pub duration: Nanos,
    /// Time from the start of the program to its real-time work [default: until the first cycle of each real-time
    /// thread]
    #[arg(long, value_name = "TIME")]
    pub after: Option<Nanos>,
    /// The real-time work begins when this function of the program is first called
    #[arg(long, value_name = "FUNCTION", conflicts_with = "after")]
    pub from: Option<String>,
    /// Loads to run at the same time: cpu, memory, io, … as for prove, or cmd:'ANY COMMAND'
    #[arg(short = 'l', long = "load", value_name = "LOAD")]
    pub loads: Vec<String>,
    /// Threads or programs, from the highest priority to the lowest, that must have priorities in this order:
    /// 'irq/27… > jackd > client'
    #[arg(long, value_name = "NAMES")]
    pub order: Option<Order>,
    /// For the exit code, ignore findings that are listed in this document of an earlier `check --json`
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Show the detected cycle of each thread: what releases it, period, phase, jitter
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub show_cycles: bool,
    /// Show every finding with its stack, the reason and an alternative, and the cycle of each thread
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub full: bool,
    /// Show what a rule looks for, why, and the alternative
    #[arg(long, value_name = "ID")]
    pub explain: Option<String>,
    /// List the rules
    #[arg(long)]
    pub list: bool,
    /// Output format [default: text]
    #[arg(short, long, value_enum)]
    pub format: Option<CheckFormat>,
    /// Write the result to this new file in the format of --format, and print text on standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// Text for a terminal
    Text,
    /// One self-contained page
    Html,
    /// One document, same as --json
    Json,
    /// Static Analysis Results Interchange Format 2.1.0, with code locations
    Sarif,
    /// JUnit XML: one test case per finding and source
    Junit,
    /// Test Anything Protocol
    Tap,
}
