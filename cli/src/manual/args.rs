//! Options of `completions` and `man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Shell for which to print completions
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Args, Debug)]
pub struct ManArgs {
    /// Directory for the pages, created if it is missing; existing pages are not replaced
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
