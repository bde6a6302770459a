//! Options of `tune`.

use crate::args::common::OutputArgs;
use clap::Args;
use punctual_model::Claim;
use punctual_tuning::Objective;
use punctual_units::{CpuList, Nanos, Policy, Priority};
use std::path::PathBuf;

/// Options of `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Only these rules, whatever their fixes interrupt [default: every FAIL and WARN whose fix can be undone and interrupts nothing]
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// What the machine is for, as with `audit`
    #[arg(long = "for", value_name = "PROFILE|FILE", default_value = "control-loop")]
    pub profile: String,
    /// What must hold, as with `prove`; the search ends as soon as it does [default: missed = 0 in the last run, and the search goes
    /// on until nothing helps]
    #[arg(short = 'c', long = "claim", value_name = "CLAIM")]
    pub claims: Vec<Claim>,
    /// Claim 'max < TIME' and 'missed = 0'
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Nanos>,
    /// What is to become smaller: max, or a quantile such as p99.9 [default: what the claims are about, else max]
    #[arg(long, value_name = "FIGURE")]
    pub objective: Option<Objective>,
    /// Measuring time of one block, over all loads; each fix is measured in pairs of blocks, without it and with it
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub block: Nanos,
    /// The most time the search may take; the last run comes on top of it
    #[arg(long, value_name = "TIME", default_value = "30m")]
    pub max: Nanos,
    /// Measuring time of the last run, and of checks whether the claims hold
    #[arg(short = 'D', long, value_name = "TIME", default_value = "60s")]
    pub duration: Nanos,
    /// Loads, as with `prove`, of blocks and of the last run [default: idle and all for blocks, those of `prove` for the last run]
    #[arg(short = 'l', long = "load", value_name = "LOADS")]
    pub loads: Vec<String>,
    /// CPUs to measure [default: all allowed]
    #[arg(short = 'a', long, visible_alias = "affinity", value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// Period of the measuring threads
    #[arg(short = 'i', long, visible_alias = "interval", value_name = "TIME", default_value = "1ms")]
    pub period: Nanos,
    /// Priority of the measuring threads, 1 to 99 [default: 90 where permitted]
    #[arg(short = 'p', long, visible_alias = "prio", value_name = "N")]
    pub priority: Option<Priority>,
    /// Policy of the measuring threads: fifo, rr [default: fifo where permitted]
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<Policy>,
    /// Also try what interrupts something, or takes something from other programs
    #[arg(long)]
    pub disruptive: bool,
    /// RT throttling and the fair server may go although no hardware watchdog is armed
    #[arg(long)]
    pub i_know: bool,
    /// What helps stays over reboots, too, by files of our own
    #[arg(long)]
    pub persist: bool,
    /// Say what would be tried and how long that takes at least; changes and measures nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Folder on a real disk where the io load may write [default: where the run directory is made]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Most MiB the io load may write in the search, and in the last run
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub write_cap: u64,
    /// The run directory of the last run [default: ./punctual-runs/<time>-<host>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
