//! Options of `tune`.

use crate::args::common::{KnownArgs, OutputArgs};
use clap::Args;
use punctual_model::Claim;
use punctual_tune::Objective;
use punctual_units::{CpuList, Nanos, Policy, Priority};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Try only these rules, even if their fixes interrupt something [default: every FAIL and WARN whose fix can be
    /// undone and interrupts nothing]
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Purpose of the machine, as for `audit`
    #[arg(long = "for", value_name = "PROFILE|FILE", default_value = "control-loop")]
    pub profile: String,
    /// Claim to reach, as for `prove`; the search ends as soon as all claims hold [default: missed = 0 in the last run,
    /// and the search continues until nothing helps]
    #[arg(short = 'c', long = "claim", value_name = "CLAIM")]
    pub claims: Vec<Claim>,
    /// Shorthand for the claims 'max < TIME' and 'missed = 0'
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Nanos>,
    /// Statistic to reduce: max, or a quantile such as p99.9 [default: the one in the claims, otherwise max]
    #[arg(long, value_name = "FIGURE")]
    pub objective: Option<Objective>,
    /// Measurement time of one block, over all loads; each fix is measured in pairs of blocks, without and with it
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub block: Nanos,
    /// Maximum duration of the search; the last run is not included
    #[arg(long, alias = "max", value_name = "TIME", default_value = "30m")]
    pub time_limit: Nanos,
    /// Measurement time of the last run, and of checks whether the claims hold
    #[arg(short = 'D', long, value_name = "TIME", default_value = "60s")]
    pub duration: Nanos,
    /// Loads of the blocks and of the last run, as for `prove` [default: idle and all for blocks, those of `prove` for
    /// the last run]
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
    /// Also try fixes that interrupt something, or take something from other programs
    #[arg(long)]
    pub disruptive: bool,
    #[command(flatten)]
    pub known: KnownArgs,
    /// Make helpful fixes permanent, in drop-in files
    #[arg(long)]
    pub persist: bool,
    /// Show what would be tried and the minimum time that it takes; changes and measures nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Directory on a real disk for the files of the io load [default: where the run directory is created]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Maximum number of MiB that the io load writes during the search, and again during the last run
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub write_cap: u64,
    /// Run directory of the last run [default: ./punctual-runs/<time>-<host>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn parsed(words: &[&str]) -> (Vec<String>, Vec<String>) {
        let command = TuneArgs::augment_args(clap::Command::new("tune").no_binary_name(true));
        let args = TuneArgs::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap();
        (args.ids, args.known.i_know)
    }

    /// In `tune`, a rule after `--i-know` is a rule to try, not a setting.
    #[test]
    fn what_is_known_has_its_equals_sign() {
        let of = |ids: &[&str], known: &[&str]| {
            (ids.iter().map(ToString::to_string).collect(), known.iter().map(ToString::to_string).collect())
        };
        assert_eq!(parsed(&["--i-know", "cpu-smt"]), of(&["cpu-smt"], &[""]));
        assert_eq!(parsed(&["cpu-smt", "--i-know=init", "--i-know=vm.x"]), of(&["cpu-smt"], &["init", "vm.x"]));
    }
}
