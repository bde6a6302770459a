//! Options of `report`.

use crate::args::common::GivenArgs;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use punctual_formats::{FORMATS, Format};
use punctual_model::Claim;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A run directory, or files that `import` reads (- reads standard input); several run directories or a directory
    /// of them, for a report on all of them; the directory of a watch, for its series [default: the newest run of
    /// ./punctual-runs]
    #[arg(value_name = "RUN|FILE")]
    pub run: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_parser = format(), default_value = "text")]
    pub format: &'static Format,
    /// Judge these claims instead of the run's own
    #[arg(short = 'c', long = "claim", value_name = "CLAIM")]
    pub claims: Vec<Claim>,
    /// Write to this new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// With the text format: show every section instead of a summary for a terminal of 80×24. A file (--out) always has
    /// every section
    #[arg(long, conflicts_with_all = ["json", "linuxcnc"])]
    pub full: bool,
    /// Same as --format json
    #[arg(long)]
    pub json: bool,
    /// Text as LinuxCNC's latency-test shows it: max interval and max jitter, as LinuxCNC's documentation defines them
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub linuxcnc: bool,
    /// With cyclictest's formats: only this load [default: all loads together]
    #[arg(long, value_name = "LOAD")]
    pub load: Option<String>,
    /// With kcidb: the name of the CI system that submits the results
    #[arg(long, value_name = "ORIGIN", default_value = "punctual")]
    pub kcidb_origin: String,
    /// With kcidb: the tested build [default: named after the kernel's release and version]
    #[arg(long, value_name = "ORIGIN:ID")]
    pub kcidb_build: Option<String>,
    #[command(flatten, next_help_heading = "With another tool's file")]
    pub given: GivenArgs,
}

fn format() -> impl TypedValueParser<Value = &'static Format> {
    let value = |format: &Format| PossibleValue::new(format.name).aliases(format.alias).help(format.help);
    let named = |name: String| {
        let found = FORMATS.iter().find(|format| format.name == name || format.alias == Some(name.as_str()));
        found.ok_or("no such format")
    };
    PossibleValuesParser::new(FORMATS.iter().map(value)).try_map(named)
}
