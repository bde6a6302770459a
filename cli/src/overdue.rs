//! Ends a program that has exceeded a time limit.

use crate::exit;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// First argument of the helper process that restores what its parent had changed, after the parent was ended.
pub const RESTORE_ARG: &str = "__restore";
/// Time limit for writing the message, in case no process reads standard error.
const FOR_MESSAGE: Duration = Duration::from_secs(1);
/// Maximum time for the parent to exit.
const FOR_PARENT: Duration = Duration::from_secs(10);

/// Installs the handler for exceeded time limits ([`punctual_watchdog`]).
pub fn end_in_time() {
    punctual_watchdog::end_with(end, |why| message!("{why}"));
}

fn end(why: &str) {
    let text = why.to_owned();
    if let Ok(printer) = thread::Builder::new().name("message".into()).spawn(move || message!("{text}")) {
        let mut left = FOR_MESSAGE;
        while !printer.is_finished() && !left.is_zero() {
            let step = Duration::from_millis(10);
            thread::sleep(step);
            left = left.saturating_sub(step);
        }
    }
    let mut restore = Command::new("/proc/self/exe");
    restore.arg(RESTORE_ARG).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // If it cannot be started, the next start of any command restores the changes.
    let _ = restore.spawn();
    std::process::exit(exit::ENVIRONMENT.into());
}

/// Restores the parent's changes after the parent has ended.
pub fn restore_main(_: impl Iterator<Item = std::ffi::OsString>) -> i32 {
    let parent = rustix::process::getppid();
    let mut left = FOR_PARENT;
    while rustix::process::getppid() == parent && !left.is_zero() {
        let step = Duration::from_millis(20);
        thread::sleep(step);
        left = left.saturating_sub(step);
    }
    punctual_proof::recover();
    crate::fix::recover();
    0
}
