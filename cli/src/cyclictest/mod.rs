//! Implements `cyclictest`, which replaces the program of rt-tests and has the same exit codes.

pub mod args;

use args::CyclictestArgs;
use punctual_cyclictest::RunError;
use std::process::ExitCode;

/// Exit code of the original cyclictest if it cannot run.
const REFUSED: u8 = 1;

pub fn cyclictest(args: &CyclictestArgs) -> ExitCode {
    match punctual_cyclictest::run(&args.words) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            progress!("punctual cyclictest: {error}\n");
            if matches!(error, RunError::Usage(_)) {
                progress!("  punctual cyclictest --help lists the options\n");
            }
            ExitCode::from(REFUSED)
        }
    }
}
