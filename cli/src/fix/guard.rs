//! The child process that undoes a fix unless it is confirmed, and the recovery when the program next starts.

use super::journal::folder;
use crate::exit;
use punctual_fix::{Outcome, Real, Undone};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// First argument of the child process.
pub const GUARD_ARG: &str = "--punctual-fix-guard";

/// Starts the child process in a session of its own, so that it outlives the terminal.
pub(super) fn start(folder: &Path, set: u64) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("cannot start the timer: {e}");
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.arg(GUARD_ARG).arg(folder).arg(set.to_string()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(failed)
}

/// Runs the child process and returns its exit code.
pub fn guard_main(words: impl Iterator<Item = OsString>) -> i32 {
    // The child does not lead a process group, so this cannot fail; SIGHUP of the old terminal no longer reaches it.
    let _ = rustix::process::setsid();
    let words: Vec<OsString> = words.collect();
    let [folder, set] = words.as_slice() else { return exit::USAGE.into() };
    let Some(set) = set.to_str().and_then(|set| set.parse().ok()) else { return exit::USAGE.into() };
    match punctual_fix::guard(&Real::new(), Path::new(folder), set) {
        Ok(_) => 0,
        Err(_) => exit::ENVIRONMENT.into(),
    }
}

/// Undoes a fix that was interrupted, or was not confirmed in time.
pub fn recover() {
    // A running measurement must not be disturbed; it reports that a fix is pending.
    if !rustix::process::geteuid().is_root() || crate::at_work::is_measured() {
        return;
    }
    match punctual_fix::recover(&Real::new(), &folder()) {
        Ok(Some(undone)) => show(&undone),
        Ok(None) => {}
        Err(e) => message!("{e}"),
    }
}

fn show(undone: &Undone) {
    message!("a fix was interrupted or not confirmed and has been undone:");
    for taken in &undone.changes {
        let how = match &taken.outcome {
            Outcome::Refused { .. } => "left",
            Outcome::Failed(_) => "FAILED",
            _ => "undone",
        };
        message!("  {how}: {}: {}", taken.rule, taken.outcome.sentence());
    }
}
