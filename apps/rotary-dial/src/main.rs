//! The program `rotary-dial`, documented by `rotary-dial --help` and docs/apps/rotary-dial.md.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_uapi::one_heap();
    ExitCode::from(rotary_dial::run(std::env::args_os()))
}
