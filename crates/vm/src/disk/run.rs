//! Running a guest's boots, and ending it: by itself, at its limit, or killed at an instant of the caller's.

use super::said::{DiskBoot, boots};
use crate::boot::{LOOK, Log, Running, read_all};
use crate::error::VmError;
use crate::tools;
use std::fs::File;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// When the emulator is killed, as if the power went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// After a step has said `mark WORD`.
    pub mark: String,
    /// And this long after the host has seen it.
    pub after: Duration,
}

/// How a run of boots ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The guest switched itself off after its last step.
    Off,
    /// It was killed at the instant that was asked for.
    Killed,
    /// A boot took longer than its limit; the emulator was killed, as if somebody had pulled the plug.
    Hung,
}

/// Waits for the end. A boot's time begins with its firmware.
pub(super) fn watch(
    child: &mut Running,
    log: &Log,
    limit: Duration,
    kill: Option<&Kill>,
    complaints: &File,
) -> Result<(Vec<DiskBoot>, Ending), VmError> {
    let mut seen = 0;
    let mut found: Vec<DiskBoot> = Vec::new();
    let mut begun = Instant::now();
    let mut due: Option<Instant> = None;
    loop {
        let gone = child.has_ended()?;
        let length = log.length();
        if length != seen {
            seen = length;
            let before = found.len();
            found = boots(&log.text());
            if found.len() > before {
                begun = Instant::now();
            }
        }
        if due.is_none() {
            let reached = |kill: &&Kill| found.iter().any(|boot| boot.marks.contains(&kill.mark));
            due = kill.filter(reached).map(|kill| Instant::now() + kill.after);
        }
        if due.is_some_and(|due| Instant::now() >= due) {
            return Ok((found, Ending::Killed));
        }
        if let Some(status) = gone {
            return ended(found, status, log, complaints);
        }
        if begun.elapsed() > limit {
            return Ok((found, Ending::Hung));
        }
        sleep(due.map_or(LOOK, |due| LOOK.min(due.saturating_duration_since(Instant::now()))));
    }
}

fn ended(
    found: Vec<DiskBoot>,
    status: String,
    log: &Log,
    complaints: &File,
) -> Result<(Vec<DiskBoot>, Ending), VmError> {
    if found.last().is_some_and(|boot| boot.ended) {
        return Ok((found, Ending::Off));
    }
    let said = tools::last_lines(&read_all(complaints), 3);
    let status = if said.is_empty() { status } else { format!("{status}: {said}") };
    Err(VmError::Stopped { status, tail: crate::console::tail(&log.text()) })
}
