//! Options of `audit` and `snapshot`.

use crate::args::common::OutputArgs;
use crate::fix::args::FixArgs;
use crate::subject::args::SubjectArgs;
use clap::{Args, ValueEnum};
use punctual_units::Nanos;
use std::path::PathBuf;

/// Options of `audit`.
#[derive(Args, Debug)]
pub struct AuditArgs {
    /// Show every rule, not only what is wrong or unknown
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Look twice, this far apart, for what rises over time: 10s
    #[arg(help_heading = "More than reading", long, value_name = "TIME")]
    pub window: Option<Nanos>,
    /// Also try the policy, the locking of memory, leaving idle and reading the clock (1 s)
    #[arg(help_heading = "More than reading", long)]
    pub probe: bool,
    /// As --probe, and try policy and memory as this user, with the limits of a login (as root)
    #[arg(help_heading = "More than reading", long, value_name = "USER", conflicts_with_all = ["root", "snapshot"])]
    pub user: Option<String>,
    /// Propose which CPUs to isolate for an application that needs so many, and how: writes only the plan
    #[arg(help_heading = "More than reading", long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "1", require_equals = true,
          conflicts_with_all = ["pid", "probe", "user", "window", "explain", "all", "cpus", "format"])]
    pub plan_cpus: Option<usize>,
    /// With --plan-cpus: on the memory node of this network interface
    #[arg(help_heading = "More than reading", long, value_name = "INTERFACE", requires = "plan_cpus")]
    pub near: Option<String>,
    /// Say what a rule reads, decides and proposes
    #[arg(long, value_name = "ID")]
    pub explain: Option<String>,
    /// What to write
    #[arg(short, long, value_enum, default_value_t = AuditFormat::Text)]
    pub format: AuditFormat,
    #[command(flatten, next_help_heading = "Mending")]
    pub fix: FixArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `audit` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// For a terminal
    Text,
    /// One document with every finding, as --json
    Json,
    /// Static Analysis Results Interchange Format 2.1.0
    Sarif,
    /// For continuous integration: one test case a rule
    Junit,
    /// Test Anything Protocol (versions 13, 14, KTAP): one test point a rule
    Tap,
    /// Signals for a LAVA dispatcher: one a rule
    Lava,
    /// A table
    Markdown,
}

/// Options of `snapshot`.
#[derive(Args, Debug)]
pub struct SnapshotArgs {
    /// The new file (tar)
    pub file: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}
