//! `compare`: compares groups of runs.

pub mod args;
mod experiment;
mod groups;
mod runs;

use args::CompareArgs;
use std::process::ExitCode;

pub fn compare(args: &CompareArgs) -> ExitCode {
    match &args.experiment {
        Some(folder) => experiment::run(args, folder),
        None => runs::run(args),
    }
}
