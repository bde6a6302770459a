//! Options of `compare`.

use crate::args::{OutputArgs, ToldArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of `compare`.
#[derive(Args, Debug)]
#[command(
    after_help = "Each argument is a group: a run directory, a folder with several (the boots of one kernel), or a file that \
                        `import` understands. With --vs there are two groups, of several arguments each. Every group is \
                        compared with the first.\n\n\
                        Exit codes: 0 compared, 1 worse (with --fail-if-worse), 2 not comparable or wrong usage, 3 something \
                        stands against reading anything from it."
)]
pub struct CompareArgs {
    /// Groups; with --vs the runs of the first
    #[arg(required = true, value_name = "RUN|DIR|FILE")]
    pub groups: Vec<PathBuf>,
    /// The runs of the second group
    #[arg(long, num_args = 1.., value_name = "RUN|DIR|FILE")]
    pub vs: Vec<PathBuf>,
    /// Names of the groups, in their order [default: the kernels' releases where they differ, else names of folders and files]
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// Exit with 1 if any figure of a later group is worse than that of the first, as far as chance can be excluded
    #[arg(long)]
    pub fail_if_worse: bool,
    #[command(flatten, next_help_heading = "With other tools' files")]
    pub told: ToldArgs,
    /// What to write
    #[arg(short, long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
    /// Write to this new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `compare` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// For a terminal
    Text,
    /// One self-contained page with drawings
    Html,
    /// One document with every figure
    Json,
}
