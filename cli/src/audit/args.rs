//! Options of `audit` and `snapshot`.

use crate::args::common::OutputArgs;
use crate::fix::args::FixArgs;
use crate::subject::args::SubjectArgs;
use clap::{Args, ValueEnum};
use punctual_units::Nanos;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct AuditArgs {
    /// Show every rule, not only those that fail or are unknown
    #[arg(long)]
    pub all: bool,
    /// Show for each finding why it matters and how to fix it, instead of one line each
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub full: bool,
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Read all counters twice, this far apart, to find those that rise: 10s
    #[arg(help_heading = "Additional checks", long, value_name = "TIME")]
    pub window: Option<Nanos>,
    /// Also measure what can only be found by trying it: scheduling policy, memory locking, leaving idle, clock reads
    /// (1 s)
    #[arg(help_heading = "Additional checks", long)]
    pub probe: bool,
    /// Like --probe, but try policy and memory locking as this user, with the limits of a login (as root)
    #[arg(help_heading = "Additional checks", long, value_name = "USER", conflicts_with_all = ["root", "snapshot"])]
    pub user: Option<String>,
    /// Propose which CPUs to isolate for an application that needs COUNT of them, and how; print only the plan
    #[arg(help_heading = "Additional checks", long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "1", require_equals = true,
          conflicts_with_all = ["pid", "probe", "user", "window", "explain", "all", "cpus", "format"])]
    pub plan_cpus: Option<usize>,
    /// With --plan-cpus: propose CPUs on the NUMA node of this network interface
    #[arg(help_heading = "Additional checks", long, value_name = "INTERFACE", requires = "plan_cpus")]
    pub near: Option<String>,
    /// Show what a rule reads, how it decides, and what it recommends
    #[arg(long, value_name = "ID")]
    pub explain: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = AuditFormat::Text)]
    pub format: AuditFormat,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = "Fixes")]
    pub fix: FixArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// Text for a terminal
    Text,
    /// One document with every finding, same as --json
    Json,
    /// Static Analysis Results Interchange Format 2.1.0
    Sarif,
    /// JUnit XML for continuous integration: one test case per rule
    Junit,
    /// Test Anything Protocol (versions 13, 14, KTAP): one test point per rule
    Tap,
    /// Signals for a LAVA dispatcher: one per rule
    Lava,
    /// A Markdown table
    Markdown,
}

#[derive(Args, Debug)]
pub struct SnapshotArgs {
    /// New file to write (tar, or TOML with --contribute)
    pub file: PathBuf,
    /// Instead, write the measurements of a run, anonymous and readable, to a file that you can publish; nothing is
    /// sent [default: the newest run in ./punctual-runs]
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub contribute: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
