//! Implements `selftest`, which checks that the measuring engine finds injected delays.

pub mod args;

use crate::exit;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use args::SelftestArgs;
use punctual_selftest::Tested;
use std::process::ExitCode;

/// Runs `punctual selftest`. Exits 0 if every injected delay was found, 1 if not, 4 if none could be injected.
pub fn selftest(args: &SelftestArgs) -> ExitCode {
    finish("selftest", args.output, tested(args))
}

fn tested(args: &SelftestArgs) -> Result<Answer, Refusal> {
    let tested = punctual_selftest::selftest(args.cpu.map(punctual_units::CpuId))
        .map_err(|error| Refusal::environment(format!("no delay could be injected: {error}")).documented(error))?;
    let code = if tested.passed() { 0 } else { exit::FAILED };
    Ok(Answer::new(args.output, code, || &tested, || text(&tested)))
}

fn text(tested: &Tested) -> String {
    let Tested { cpu, housekeeping, scheduling, checks, .. } = tested;
    let mut out = format!("self-test on CPU {cpu} ({scheduling}), CPU {housekeeping} undisturbed\n");
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
