use crate::args::common::OutputArgs;
use clap::Args;
use punctual_units::Nanos;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct SchedArgs {
    /// A built-in experiment (see --list; 3 is case-3), a TOML file (see --example), or an rt-app workload (.json). Of
    /// rt-app's keys these are supported: in tasks policy, priority, cpus, delay, instance, loop, run, sleep, timer (ref,
    /// period), phases of these, dl-runtime, dl-deadline, dl-period; in global duration, default_policy
    #[arg(value_name = "EXPERIMENT|FILE", required_unless_present_any = ["list", "example"])]
    pub experiment: Option<String>,
    /// List the built-in experiments, and exit
    #[arg(long)]
    pub list: bool,
    /// Print a file with every setting of an experiment, explained in comments, and exit
    #[arg(long, conflicts_with_all = ["list", "json"])]
    pub example: bool,
    /// CPU of pinned threads [default: the last one]
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
    /// Number of repetitions [default: the experiment's own]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,
    /// CPU time of one unit of `amount` in the experiment, seconds: 0.01 to 600
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = scale)]
    pub scale: Nanos,
    /// Write the edge image that the first thread computed to this new PGM file, after all timed work
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Run directory to create [default: ./punctual-runs/<time>-sched-<experiment>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

fn scale(text: &str) -> Result<Nanos, String> {
    let seconds: f64 = text.parse().map_err(|_| "seconds, for example 0.5".to_owned())?;
    match (0.01..=600.0).contains(&seconds) {
        true => Ok(Nanos((seconds * 1e9) as u64)),
        false => Err("0.01 to 600 seconds".into()),
    }
}
