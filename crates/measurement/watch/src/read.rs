//! Reads the directory of a `watch` that is running, has ended or was killed.

use crate::budget::Kept;
use crate::error::WatchError;
use crate::keep::{self, RUNS};
use crate::lines::{OLD, SERIES};
use crate::state::{self, STATE};
use punctual_directory::Dir;
use punctual_measure::clocks;
use punctual_model::{Watch, WatchLate, WatchLine, WatchMaximum, Watched};
use punctual_units::Nanos;
use std::path::Path;

/// Age of the state above which it is said. It is written every 5 s.
const OLD_STATE: Nanos = Nanos::from_secs(30);

/// Maximum size of a file that is read, bytes. The files that `watch` writes are smaller.
const LARGEST: u64 = 16 << 20;

pub fn is_watch(folder: &Path) -> bool {
    folder.join(STATE).symlink_metadata().is_ok()
}

/// Reads the state and the lines of a series. Damaged parts are skipped and reported.
///
/// # Errors
/// The directory contains no watch, its format is newer than this program, or its state cannot be read.
pub fn read(folder: &Path) -> Result<Watched, WatchError> {
    let none = || WatchError::NoWatch(folder.to_owned());
    let dir = &Dir::open(folder).map_err(|_| none())?;
    let watch = state::read(dir)?.ok_or_else(none)?;
    let running = dir.lock(false).is_ok_and(|free| !free);
    let age = Nanos(clocks().mono_ns.saturating_sub(watch.updated.mono_ns));
    let mut watched = with_files(dir, watch, Vec::new());
    watched.running = running;
    if running && age > OLD_STATE {
        watched.damage.push(format!("{STATE} was last written {age} ago: what happened since is not shown"));
    }
    Ok(watched)
}

/// Returns the watch of this process at its end, with what it wrote and the lines that it could not write.
pub(crate) fn ended(dir: &Dir, watch: Watch, unwritten: Vec<WatchLine>) -> Watched {
    let lines = unwritten.len();
    let mut watched = with_files(dir, watch, unwritten);
    if lines > 0 {
        watched.damage.push(format!("{lines} lines of {SERIES} could not be written; they are shown here only"));
    }
    watched
}

fn with_files(dir: &Dir, mut watch: Watch, unwritten: Vec<WatchLine>) -> Watched {
    let (mut lines, mut damage) = (Vec::new(), Vec::new());
    for name in [OLD, SERIES] {
        read_lines(dir, name, &mut lines, &mut damage);
    }
    lines.extend(unwritten);
    let segments: Vec<String> = keep::segments(dir).into_iter().map(|name| format!("{RUNS}/{name}")).collect();
    let kept = Kept::found(dir);
    for line in &mut lines {
        if let WatchLine::Late(late) = line {
            late_still_there(late, &segments, &kept);
        }
    }
    let in_lines = lines.iter_mut().filter_map(|line| match line {
        WatchLine::Maximum(maximum) => Some(maximum),
        _ => None,
    });
    for maximum in in_lines.chain(watch.cpus.iter_mut().filter_map(|cpu| cpu.ever.as_mut())) {
        still_there(maximum, &segments, &kept);
    }
    Watched { watch, lines, segments, bytes: dir.bytes(), running: false, damage }
}

/// Removes the names of a maximum's run directory and trace if these no longer exist.
fn still_there(maximum: &mut WatchMaximum, segments: &[String], kept: &Kept) {
    maximum.segment = maximum.segment.take().filter(|name| segments.contains(name));
    let trace = maximum.segment.as_ref().and_then(|run| kept.of(run, maximum.cpu, maximum.mono_ns));
    maximum.trace = trace.map(|trace| trace.file.clone());
}

fn late_still_there(late: &mut WatchLate, segments: &[String], kept: &Kept) {
    late.segment = late.segment.take().filter(|name| segments.contains(name));
    let trace = late.segment.as_ref().and_then(|run| kept.of_moment(run, &late.late));
    late.trace = trace.map(|trace| trace.file.clone());
}

fn read_lines(dir: &Dir, name: &str, lines: &mut Vec<WatchLine>, damage: &mut Vec<String>) {
    let content = match dir.kind(name).and_then(|kind| kind.map(|_| dir.read(name, LARGEST)).transpose()) {
        Ok(Some(content)) => content,
        Ok(None) => return,
        Err(e) => return damage.push(e.to_string()),
    };
    let mut bad = 0;
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(line) => lines.push(line),
            // The line is being written now, or a kill truncated it.
            Err(_) if !line.ends_with(b"\n") => {}
            Err(_) => bad += 1,
        }
    }
    if bad > 0 {
        damage.push(format!("{name}: {bad} unreadable lines; skipped"));
    }
}
