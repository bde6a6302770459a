//! Options of `import`.

use crate::args::common::{GivenArgs, ImportFormat, OutputArgs};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Files, each with one or more phases of one run; - reads standard input. Or one run directory of punctual, packed
    /// by tar(1)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Previous name of --input-format
    #[arg(short, long, value_enum, value_name = "FORMAT", hide = true, conflicts_with = "input_format")]
    pub format: Option<ImportFormat>,
    #[command(flatten)]
    pub given: GivenArgs,
    /// Run directory to create
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}
