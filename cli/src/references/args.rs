//! Options of `references`.

use crate::args::common::OutputArgs;
use crate::args::help;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ReferencesArgs {
    #[command(subcommand)]
    pub command: Option<ReferencesCommand>,
    /// Board whose published latencies are shown: its key, name or device tree model [default: a list of all boards]
    #[arg(value_name = "BOARD")]
    pub board: Option<String>,
    /// List all boards; for one board, also show options, tuning, notes and quotes
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub full: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Subcommand, Debug)]
pub enum ReferencesCommand {
    /// Validate a file of published latencies and report what is missing, with line numbers; exits 2 if the file cannot
    /// be used
    #[command(after_help = help::REFERENCES_CHECK)]
    Check(CheckArgs),
}

#[derive(Args, Debug)]
pub struct CheckArgs {
    /// TOML file, for example from `snapshot --contribute`
    pub file: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl ReferencesArgs {
    /// Returns the files that the command reads.
    pub fn files(&self) -> Vec<PathBuf> {
        self.command.iter().map(|ReferencesCommand::Check(args)| args.file.clone()).collect()
    }
}
