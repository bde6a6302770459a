//! Options of `audit` and `snapshot`.

use crate::args::common::OutputArgs;
use crate::fix::args::FixArgs;
use clap::{Args, ValueEnum};
use punctual_units::{CpuList, Nanos, Priority};
use std::path::PathBuf;

/// Options of `audit`.
#[derive(Args, Debug)]
pub struct AuditArgs {
    /// Show every rule, not only what is wrong or unknown
    #[arg(long)]
    pub all: bool,
    /// What the machine is for: control-loop, dedicated-core, busy-poll, audio-desktop, fieldbus-nic, kvm-host, kvm-guest,
    /// pi-appliance, measure-only, or a file: one of your own that extends one of them, TuneD's tuned.conf, rt-conf's YAML
    #[arg(help_heading = "What it is for", long = "for", value_name = "PROFILE|FILE", default_value = "control-loop")]
    pub profile: String,
    /// Look twice, this far apart, for what rises over time: 10s
    #[arg(help_heading = "More than reading", long, value_name = "TIME")]
    pub window: Option<Nanos>,
    /// Look at the tree of files under this folder instead of this machine
    #[arg(help_heading = "What is looked at", long, value_name = "DIR", conflicts_with_all = ["snapshot", "pid", "probe"])]
    pub root: Option<PathBuf>,
    /// Look at a snapshot of another machine
    #[arg(help_heading = "What is looked at", long, value_name = "FILE", conflicts_with_all = ["pid", "probe", "window"])]
    pub snapshot: Option<PathBuf>,
    /// Look at bare files of a machine, repeated for several: a kernel's .config, a saved /proc/cmdline or cmdline.txt, a
    /// Raspberry Pi's config.txt; what needs more is SKIP. Where it is unclear which a file is: kconfig:FILE,
    /// cmdline:FILE, config.txt:FILE, model:FILE
    #[arg(help_heading = "What is looked at", long, value_name = "FILE", conflicts_with_all = ["root", "snapshot", "pid", "probe", "user", "window", "plan_cpus"])]
    pub config: Vec<String>,
    /// The application's process
    #[arg(help_heading = "What it is for", long, value_name = "PID")]
    pub pid: Option<u32>,
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
    /// The application's CPUs [default: the isolated ones, else all that are online]
    #[arg(help_heading = "What it is for", short = 'a', long, value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// The application's priority, 1 to 99 (SCHED_FIFO)
    #[arg(help_heading = "What it is for", short = 'p', long, value_name = "N", default_value = "90")]
    pub priority: Priority,
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
