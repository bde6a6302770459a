//! Options of `completions` and `man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Options of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The folder, made where it is missing; pages that are in it already are not replaced
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
