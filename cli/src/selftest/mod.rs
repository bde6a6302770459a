//! `selftest`: does this program find what is planted?

pub mod args;

use crate::{document, exit, terminal};
use args::SelftestArgs;
use punctual_selftest::Tested;
use std::process::ExitCode;

/// `punctual selftest`: 0 where everything planted was found, 1 where not, 4 where nothing could be planted.
pub fn selftest(args: &SelftestArgs) -> ExitCode {
    match punctual_selftest::selftest(args.cpu.map(punctual_units::CpuId)) {
        Ok(tested) => {
            let code = if tested.passed() { 0 } else { exit::FAILED };
            if args.output.json {
                terminal::print(&(document::document_of("selftest", code, &tested) + "\n"));
            } else if !args.output.quiet {
                terminal::print(&text(&tested));
            }
            ExitCode::from(code)
        }
        Err(error) => {
            eprintln!("punctual: nothing was planted: {error}");
            if args.output.json {
                let error = document::error(&error.to_string());
                terminal::print(&(document::document("selftest", exit::ENVIRONMENT, &error) + "\n"));
            }
            ExitCode::from(exit::ENVIRONMENT)
        }
    }
}

fn text(tested: &Tested) -> String {
    let Tested { cpu, housekeeping, scheduling, checks, .. } = tested;
    let mut out = format!("self-test on CPU {cpu} ({scheduling}), CPU {housekeeping} left alone\n");
    for check in checks {
        let word = if check.passed { "found" } else { "MISSED" };
        out.push_str(&format!("  {word:<6} {}: {}\n", check.name, check.said));
    }
    let missed = checks.iter().filter(|check| !check.passed).count();
    out.push_str(&match missed {
        0 => format!("PASS: all {} found\n", checks.len()),
        n => format!("FAIL: {n} of {} missed\n", checks.len()),
    });
    out
}
