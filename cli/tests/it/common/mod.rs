//! Functions that run the binary. Not every test uses all of them.

#![allow(dead_code)]

pub mod alone;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

pub fn punctual() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    // Uses neither the journal of this machine nor the installed program with capabilities.
    command.env("PUNCTUAL_CHANGES", concat!(env!("CARGO_TARGET_TMPDIR"), "/no-changes"));
    command
}

/// Runs the binary. Returns exit code, standard output and standard error.
pub fn run(args: &[&str]) -> (i32, String, String) {
    answer(punctual().args(args).output().unwrap())
}

/// Returns exit code, standard output and standard error.
pub fn answer(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

pub fn shown(run: &Path) -> Value {
    let (code, out, err) = answer(punctual().arg("report").arg(run).arg("--json").output().unwrap());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// Returns true if the program runs under qemu-user for another architecture. /proc/cpuinfo then describes the host,
/// and the emulator answers system calls and causes page faults itself, so measurements are correctly inconclusive.
pub fn is_emulated() -> bool {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let is_x86 = cpuinfo.lines().any(|line| line.starts_with("vendor_id"));
    is_x86 != cfg!(any(target_arch = "x86_64", target_arch = "x86"))
}

/// Returns true under emulation, after printing why the test is skipped.
pub fn is_not_tested(why: &str) -> bool {
    let emulated = is_emulated();
    if emulated {
        eprintln!("NOT TESTED by an emulator: {why}");
    }
    emulated
}

/// Returns true if this process may use real-time scheduling on a real kernel.
pub fn may_be_real_time() -> bool {
    if is_emulated() {
        return false;
    }
    let attributes = punctual_rt::Attributes {
        scheduling: punctual_units::Scheduling::Fifo { priority: punctual_units::Priority::try_from(99).unwrap() },
        cpu: None,
        lock_stack: false,
    };
    std::thread::spawn(move || attributes.apply().is_ok()).join().unwrap()
}
