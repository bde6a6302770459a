#![forbid(unsafe_code)]

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::exit_code(xtask::Arguments::parse().run())
}
