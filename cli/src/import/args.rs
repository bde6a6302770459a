//! Options of `import`.

use crate::args::common::{ImportFormat, OutputArgs, ToldArgs};
use clap::Args;
use std::path::PathBuf;

/// Options of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The files, each a phase or more of one run; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Read them as this, whatever they look like
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub format: Option<ImportFormat>,
    #[command(flatten)]
    pub told: ToldArgs,
    /// The run directory to make
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}
