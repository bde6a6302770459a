//! Options of `history`.

use super::date::since;
use crate::args::common::{GivenArgs, OutputArgs};
use crate::args::help;
use clap::{Args, Subcommand};
use punctual_model::history::Figure;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct HistoryArgs {
    #[command(subcommand)]
    pub command: Option<HistoryCommand>,
    /// History file [default: $PUNCTUAL_HISTORY, else for root /var/lib/punctual/history.db, else
    /// $XDG_STATE_HOME/punctual/history.db or ~/.local/state/punctual/history.db]
    #[arg(long, global = true, value_name = "FILE")]
    pub db: Option<PathBuf>,
    #[command(flatten)]
    pub query: QueryArgs,
}

#[derive(Args, Debug)]
pub struct QueryArgs {
    /// With --baseline: the run to compare, as for `history gate`
    #[arg(value_name = "RUN", requires = "baseline")]
    pub run: Option<PathBuf>,
    /// Only runs whose machine or host name contains this text
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Only runs on kernels whose release starts with this text
    #[arg(long, value_name = "RELEASE")]
    pub kernel: Option<String>,
    /// Only this load
    #[arg(long, value_name = "LOAD")]
    pub load: Option<String>,
    /// Only runs started since this day (2026-11-01, UTC), or within this time (30d)
    #[arg(long, value_name = "DATE|TIME", value_parser = since)]
    pub since: Option<u64>,
    /// Acceptable rate of false alarms while nothing shifts, over all series shown, if they are checked after each run:
    /// N/year or N/month
    #[arg(long, value_name = "RATE", default_value = "1/year", value_parser = alarms)]
    pub alarms: f64,
    #[command(flatten)]
    pub judged: JudgedArgs,
    /// Write a page with a plot of every value over time to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub html: Option<PathBuf>,
    /// Compare RUN with these runs, as for `history gate`
    #[arg(long, value_name = "N|KERNEL|RUN-ID|NAME", value_delimiter = ',', requires = "run")]
    pub baseline: Option<Vec<String>>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug, Clone)]
pub struct JudgedArgs {
    /// Statistics to compare, each of the worst CPU: max, p50, p99, p99.9, p99.99
    #[arg(long = "figure", value_name = "FIGURES", value_delimiter = ',', default_values = ["p99.9", "max"])]
    pub figures: Vec<Figure>,
    /// With a baseline: how much worse a value may be, 10% or 0.1
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = tolerance)]
    pub tolerance: f64,
}

#[derive(Subcommand, Debug)]
pub enum HistoryCommand {
    /// Add runs: run directories, directories of them, or files that `import` reads
    #[command(after_help = help::HISTORY_ADD)]
    Add(AddArgs),
    /// Remove a run from the history (its directory stays)
    #[command(after_help = help::HISTORY_REMOVE)]
    Remove(RemoveArgs),
    /// Check a run against its baseline: exits 0 if it is not worse, 1 if it is worse, 3 if inconclusive, 2 if nothing
    /// is comparable
    #[command(after_help = help::HISTORY_GATE)]
    Gate(GateArgs),
    /// Name runs as a baseline
    #[command(subcommand)]
    #[command(after_help = help::HISTORY_BASELINE)]
    Baseline(BaselineCommand),
}

#[derive(Args, Debug)]
pub struct AddArgs {
    /// Run directories, directories of them, or files that `import` reads
    #[arg(required = true, value_name = "RUN|DIR|FILE")]
    pub runs: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = "With another tool's file")]
    pub given: GivenArgs,
}

#[derive(Args, Debug)]
pub struct RemoveArgs {
    /// Start of the run's ID
    #[arg(value_name = "RUN-ID")]
    pub run: String,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct GateArgs {
    /// The run: its directory, a file that `import` reads, or the start of its ID
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The baseline: a number of runs (the most recent comparable ones before this run), a kernel release or its start,
    /// run IDs, or a name set with `history baseline set`
    #[arg(long, value_name = "N|KERNEL|RUN-ID|NAME", value_delimiter = ',', default_value = "40")]
    pub baseline: Vec<String>,
    #[command(flatten)]
    pub judged: JudgedArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = "With another tool's file")]
    pub given: GivenArgs,
}

#[derive(Subcommand, Debug)]
pub enum BaselineCommand {
    /// Name these runs as a baseline; runs that had the name lose it
    #[command(after_help = help::HISTORY_BASELINE_SET)]
    Set {
        /// The name: a letter, then letters, digits, - and _
        #[arg(value_name = "NAME")]
        name: String,
        /// Starts of the runs' IDs
        #[arg(required = true, value_name = "RUN-ID")]
        runs: Vec<String>,
    },
    /// Remove the name of a baseline; the runs are kept
    #[command(after_help = help::HISTORY_BASELINE_REMOVE)]
    Remove {
        /// The name to remove
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List the baselines and their runs
    #[command(after_help = help::HISTORY_BASELINE_LIST)]
    List,
}

/// Parses a rate of false alarms. Returns the number per year.
fn alarms(text: &str) -> Result<f64, String> {
    let (number, per_year) = match text.trim().split_once('/') {
        Some((number, "year")) => (number, 1.0),
        Some((number, "month")) => (number, 12.0),
        _ => ("", 0.0),
    };
    let rate = number.trim().parse::<f64>().ok().map(|n| n * per_year).filter(|rate| (0.001..=365.0).contains(rate));
    rate.ok_or_else(|| {
        format!("`{text}` is not a rate of false alarms from 0.001 to 365 per year: write 1/year or 0.5/month")
    })
}

fn tolerance(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), 0.01),
        None => (text.trim(), 1.0),
    };
    let value = number.parse::<f64>().ok().map(|v| v * unit).filter(|v| (0.0..=100.0).contains(v));
    value.ok_or_else(|| format!("`{text}` is not a tolerance: write 10% or 0.1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_alarms() {
        assert_eq!((alarms("1/year"), alarms("0.5/month")), (Ok(1.0), Ok(6.0)));
        assert!(
            ["1", "0/year", "-1/year", "NaN/year", "inf/year", "1/week", "1/", "400/year"]
                .iter()
                .all(|t| alarms(t).is_err())
        );
    }

    #[test]
    fn tolerances() {
        assert_eq!(tolerance("0.25"), Ok(0.25));
        assert!((tolerance("10 %").unwrap() - 0.1).abs() < 1e-12);
        assert!(["-1%", "x", "NaN", "inf"].iter().all(|t| tolerance(t).is_err()));
    }
}
