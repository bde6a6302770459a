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
    /// The histograms, one line per bin
    Csv,
    /// For many runs: one line per run, phase and CPU, for DuckDB (docs/fleet.md)
    Jsonl,
    /// As `cyclictest -q -h` prints
    Cyclictest,
    /// As `cyclictest --json` writes
    #[value(alias = "rt-tests")]
    CyclictestJson,
    /// JUnit XML: a test case for each claim, CPU and load, with figures as properties
    Junit,
    /// Test Anything Protocol, valid as version 13, 14 and KTAP
    Tap,
    /// Signals for a LAVA dispatcher
    Lava,
    /// For the textfile collector of Prometheus' node exporter; --out replaces the file
    Prometheus,
    /// KCIDB report, schema 5.3
    Kcidb,
    /// SQUAD test results
    SquadTests,
    /// SQUAD metrics
    #[value(alias = "squad")]
    SquadMetrics,
    /// Bencher Metric Format
    Bencher,
    /// The audit's findings as SARIF 2.1.0
    Sarif,
    /// The trace of the worst wakeup with its verdicts, for ui.perfetto.dev (binary)
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
    /// A run directory, or files that `import` reads (- reads standard input); several run directories or a directory
    /// of them, for the fleet; the directory of a watch, for its series
    #[arg(required = true, value_name = "RUN|FILE")]
    pub run: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Judge these claims instead of the run's own
    #[arg(short = 'c', long = "claim", value_name = "CLAIM")]
    pub claims: Vec<Claim>,
    /// Write to this new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Same as --format json
    #[arg(long)]
    pub json: bool,
    /// Text as LinuxCNC's latency-test shows it: max interval and max jitter, in the words of its documentation
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub linuxcnc: bool,
    /// With cyclictest's formats: only this load [default: all together]
    #[arg(long, value_name = "LOAD")]
    pub load: Option<String>,
    /// With kcidb: the CI system that submits
    #[arg(long, value_name = "ORIGIN", default_value = "punctual")]
    pub kcidb_origin: String,
    /// With kcidb: the tested build [default: named after the kernel's release and version]
    #[arg(long, value_name = "ORIGIN:ID")]
    pub kcidb_build: Option<String>,
    #[command(flatten, next_help_heading = "With another tool's file")]
    pub told: ToldArgs,
}
