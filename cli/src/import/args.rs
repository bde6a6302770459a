//! Options of `import`.

use crate::args::common::{GivenArgs, ImportFormat, OutputArgs};
use clap::Args;
use std::path::PathBuf;

/// Options of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Files, each with one or more phases of one run; - reads standard input. Or one run directory of this program, packed by tar(1)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Read the files in this format instead of detecting it
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub format: Option<ImportFormat>,
    #[command(flatten)]
    pub told: GivenArgs,
    /// Run directory to create
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}
