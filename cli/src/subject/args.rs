//! Options that say which machine is audited, and what it is for.

use clap::Args;
use punctual_units::{CpuList, Priority};
use std::path::PathBuf;

/// The machine, and what it is for.
#[derive(Args, Debug)]
pub struct SubjectArgs {
    /// What the machine is for: control-loop, dedicated-core, busy-poll, audio-desktop, fieldbus-nic, kvm-host, kvm-guest,
    /// pi-appliance, measure-only, or a file: one of your own that extends one of them, TuneD's tuned.conf, rt-conf's YAML
    #[arg(help_heading = "What it is for", long = "for", value_name = "PROFILE|FILE", default_value = "control-loop")]
    pub profile: String,
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
    /// The application's CPUs [default: the isolated ones, else all that are online]
    #[arg(help_heading = "What it is for", short = 'a', long, value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// The application's priority, 1 to 99 (SCHED_FIFO)
    #[arg(help_heading = "What it is for", short = 'p', long, value_name = "N", default_value = "90")]
    pub priority: Priority,
}
