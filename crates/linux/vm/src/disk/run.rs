//! Runs a guest's boots and ends them: normally, at the time limit, or at a chosen moment.

use super::said::DiskBoot;
use crate::boot::{LOOK, Log, Running, read_all};
use crate::error::VmError;
use crate::tools;
use std::fs::File;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The moment at which the emulator is killed, as in a power failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// Word that a step passes to `mark`; the kill follows it.
    pub mark: String,
    /// Delay between reading the mark and the kill.
    pub after: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The guest powered off after its last step.
    Off,
    /// The guest was killed at the requested moment.
    Killed,
    /// A boot exceeded its limit; the emulator was killed.
    Hung,
    /// The guest kept restarting without reaching its next step.
    Looping,
}

/// Waits for the end of one boot; `None` if the guest has reset the machine.
pub(super) fn watch(
    child: &mut Running,
    log: &Log,
    limit: Duration,
    kill: Option<&Kill>,
    complaints: &File,
) -> Result<(DiskBoot, Option<Ending>), VmError> {
    let begun = Instant::now();
    let mut seen = 0;
    let mut boot = DiskBoot::default();
    let mut due: Option<Instant> = None;
    loop {
        let gone = child.has_ended()?;
        let length = log.length();
        if length != seen {
            seen = length;
            boot = DiskBoot::of(log.text());
        }
        if due.is_none() {
            due = kill.filter(|kill| boot.marks.contains(&kill.mark)).map(|kill| Instant::now() + kill.after);
        }
        if due.is_some_and(|due| Instant::now() >= due) {
            return Ok((boot, Some(Ending::Killed)));
        }
        if let Some(status) = gone {
            return ended(boot, status, complaints);
        }
        if begun.elapsed() > limit {
            return Ok((boot, Some(Ending::Hung)));
        }
        sleep(due.map_or(LOOK, |due| LOOK.min(due.saturating_duration_since(Instant::now()))));
    }
}

pub(super) fn ended(
    boot: DiskBoot,
    status: ExitStatus,
    complaints: &File,
) -> Result<(DiskBoot, Option<Ending>), VmError> {
    if boot.ended {
        return Ok((boot, Some(Ending::Off)));
    }
    if status.success() {
        return Ok((boot, None));
    }
    let said = tools::last_lines(&read_all(complaints), 3);
    Err(VmError::Stopped {
        what: "its script had ended",
        status: format!("{status}: {said}"),
        tail: crate::console::tail(&boot.raw),
    })
}
