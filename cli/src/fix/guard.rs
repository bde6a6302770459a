//! The child that takes a fix back unless it is confirmed, and what is taken back at the next start.

use super::journal::folder;
use crate::exit;
use punctual_fix::{Outcome, Real, Undone};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// First word of the child's command line; not for people.
pub const GUARD_ARG: &str = "--punctual-fix-guard";

/// Starts it: in a session of its own, so that it outlives the terminal it was started from.
pub(super) fn start(folder: &Path, set: u64) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("cannot start the timer: {e}");
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.arg(GUARD_ARG).arg(folder).arg(set.to_string()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(failed)
}

/// Its main function; the result is the exit code.
pub fn guard_main(words: impl Iterator<Item = OsString>) -> i32 {
    // Not a leader of a group, so this cannot fail; SIGHUP of the old terminal no longer reaches it.
    let _ = rustix::process::setsid();
    let words: Vec<OsString> = words.collect();
    let [folder, set] = words.as_slice() else { return exit::USAGE.into() };
    let Some(set) = set.to_str().and_then(|set| set.parse().ok()) else { return exit::USAGE.into() };
    match punctual_fix::guard(&Real::new(), Path::new(folder), set) {
        Ok(_) => 0,
        Err(_) => exit::ENVIRONMENT.into(),
    }
}

/// Takes back a fix that was cut off, or not confirmed in time.
pub fn recover() {
    // One that measures must not be changed under; it is told that a fix waits.
    if !rustix::process::geteuid().is_root() || crate::at_work::is_measured() {
        return;
    }
    match punctual_fix::recover(&Real::new(), &folder()) {
        Ok(Some(undone)) => tell(&undone),
        Ok(None) => {}
        Err(e) => say!("{e}"),
    }
}

fn tell(undone: &Undone) {
    say!("a fix was interrupted or not confirmed; it is undone:");
    for taken in &undone.changes {
        let how = match &taken.outcome {
            Outcome::Refused { .. } => "left",
            Outcome::Failed(_) => "FAILED",
            _ => "back",
        };
        say!("  {how}: {}: {}", taken.rule, taken.outcome.sentence());
    }
}
