//! `cyclictest`: in place of rt-tests' program, with its exit codes.

pub mod args;

use args::CyclictestArgs;
use punctual_cyclictest::RunError;
use std::process::ExitCode;

/// What cyclictest ends with where it cannot run.
const REFUSED: u8 = 1;

/// `punctual cyclictest WORDS`.
pub fn cyclictest(args: &CyclictestArgs) -> ExitCode {
    match punctual_cyclictest::run(&args.words) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            tell!("punctual cyclictest: {error}\n");
            if matches!(error, RunError::Usage(_)) {
                tell!("  punctual cyclictest --help lists the options\n");
            }
            ExitCode::from(REFUSED)
        }
    }
}
