//! Reads a folder of `watch`: while it is written, after its end, after a kill.

use crate::error::WatchError;
use crate::keep::{self, RUNS};
use crate::lines::{OLD, SERIES};
use crate::state::{self, STATE};
use punctual_model::{WatchLine, Watched};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Twice the maximum size of such a file, bytes.
const LARGEST: u64 = 16 << 20;

pub fn is_watch(folder: &Path) -> bool {
    folder.join(STATE).symlink_metadata().is_ok()
}

/// Damaged parts are left out and named.
///
/// # Errors
/// [`WatchError`]: there is none, or it is of a future format, or its state cannot be read.
pub fn read(folder: &Path) -> Result<Watched, WatchError> {
    let watch = state::read(folder)?.ok_or_else(|| WatchError::NoWatch(folder.to_owned()))?;
    let (mut lines, mut damage) = (Vec::new(), Vec::new());
    for name in [OLD, SERIES] {
        read_lines(folder, name, &mut lines, &mut damage);
    }
    let segments = keep::segments(folder).into_iter().map(|name| format!("{RUNS}/{name}")).collect();
    Ok(Watched { watch, lines, segments, bytes: keep::bytes_below(folder), running: is_running(folder), damage })
}

fn read_lines(folder: &Path, name: &str, lines: &mut Vec<WatchLine>, damage: &mut Vec<String>) {
    let path = folder.join(name);
    if path.symlink_metadata().is_err() {
        return;
    }
    let mut content = Vec::new();
    let read = punctual_rundir::open_regular(&path, LARGEST)
        .map_err(|e| e.to_string())
        .and_then(|file| file.take(LARGEST).read_to_end(&mut content).map_err(|e| format!("{}: {e}", path.display())));
    if let Err(why) = read {
        damage.push(why);
        return;
    }
    let mut bad = 0;
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(line) => lines.push(line),
            // Being written at this instant, or torn by a kill.
            Err(_) if !line.ends_with(b"\n") => {}
            Err(_) => bad += 1,
        }
    }
    if bad > 0 {
        damage.push(format!("{name}: {bad} lines cannot be read; left out"));
    }
}

fn is_running(folder: &Path) -> bool {
    let Ok(file) = File::open(folder) else { return false };
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}
