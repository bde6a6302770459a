//! Options of `report`.

use crate::args::common::ToldArgs;
use clap::{Args, ValueEnum};
use punctual_model::Claim;
use std::path::PathBuf;

/// What `report` writes. docs/formats.md tells who takes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One self-contained page
    Html,
    /// For a terminal
    Text,
    /// One document with every figure
    Json,
    /// The histograms, one line a bin
    Csv,
    /// Of many runs: a line each phase and CPU of each run, for DuckDB (docs/fleet.md)
    Jsonl,
    /// As `cyclictest -q -h` prints
    Cyclictest,
    /// As `cyclictest --json` writes
    #[value(alias = "rt-tests")]
    CyclictestJson,
    /// JUnit's XML: a test case a claim, CPU and load, figures as properties
    Junit,
    /// Test Anything Protocol, read as version 13, 14 and KTAP
    Tap,
    /// Signals for a LAVA dispatcher
    Lava,
    /// For the textfile collector of Prometheus' node exporter; --out replaces the file
    Prometheus,
    /// Report for KCIDB, schema 5.3
    Kcidb,
    /// SQUAD: outcomes
    SquadTests,
    /// SQUAD: figures
    #[value(alias = "squad")]
    SquadMetrics,
    /// Bencher Metric Format
    Bencher,
    /// SARIF 2.1.0 of the audit's findings
    Sarif,
    /// The trace of the latest wakeup with its verdicts, for ui.perfetto.dev (binary)
    Perfetto,
}

impl Format {
    /// As it is typed.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Options of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The run directory, or files that `import` understands (- reads standard input); several run directories, or a folder of them:
    /// the fleet; the folder of a watch: its series
    #[arg(required = true, value_name = "RUN|FILE")]
    pub run: Vec<PathBuf>,
    /// What to write
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten, next_help_heading = "With another tool's file")]
    pub told: ToldArgs,
    /// Judge these claims instead of the run's own
    #[arg(short = 'c', long = "claim", value_name = "CLAIM")]
    pub claims: Vec<Claim>,
    /// Write to this new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Same as --format json
    #[arg(long)]
    pub json: bool,
    /// Text as LinuxCNC's latency-test shows it: max interval and max jitter, with its documentation's words for them
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub linuxcnc: bool,
    /// With cyclictest's formats: only this load, instead of all together
    #[arg(long, value_name = "LOAD")]
    pub load: Option<String>,
    /// With kcidb: the CI system that submits
    #[arg(long, value_name = "ORIGIN", default_value = "punctual")]
    pub kcidb_origin: String,
    /// With kcidb: the build that was tested [default: named after the kernel's release and version]
    #[arg(long, value_name = "ORIGIN:ID")]
    pub kcidb_build: Option<String>,
}
