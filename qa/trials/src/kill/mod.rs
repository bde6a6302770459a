//! `cargo trials kill`: kills runs with SIGKILL at random moments, several at the same time. Every run must stay
//! readable, at most 10 s may be lost, no process may remain, and the next start must remove what was left in the
//! system. Each point is a line in a file, so that an interrupted series can be continued.

mod aim;
mod point;
mod stage;
mod tally;

use crate::built::missing;
use point::Point;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use tally::Tally;

/// Number of points between two printed tallies.
const TOLD: usize = 50;

/// Kill runs at random moments with SIGKILL, and check what is left of each; needs root
///
/// Each run must be readable, lose at most 10 s of samples and leave nothing in the system.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Total number of runs
    #[arg(value_name = "RUNS", default_value_t = 100)]
    runs: usize,
    /// Number of runs that are active at the same time
    #[arg(long, value_name = "N", default_value_t = 6)]
    at_once: usize,
    /// Program to kill
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
    /// File that records the runs; an interrupted series is continued from it
    #[arg(long, value_name = "FILE", default_value = "target/kill/points.jsonl")]
    state: PathBuf,
}

/// Runs until there are as many points for this program as requested.
pub fn run(wanted: Wanted) -> Result<(), String> {
    let build = build(&wanted.punctual)?;
    let done = Tally::new(known(&wanted.state, &build)?);
    let (first, missing) = (done.len() as u32, wanted.runs.saturating_sub(done.len()));
    println!("{first} of {} points exist; {} in parallel", wanted.runs, wanted.at_once);
    let state = State { wanted, build, done: Mutex::new(done), next: AtomicU32::new(first), error: Mutex::new(None) };
    let last = first + missing as u32;
    std::thread::scope(|scope| {
        for _ in 0..state.wanted.at_once.max(1).min(missing) {
            scope.spawn(|| state.work(last));
        }
    });
    let State { done, error, .. } = state;
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    print!("{done}");
    match (error.into_inner().unwrap_or_else(PoisonError::into_inner), done.failures()) {
        (Some(why), _) => Err(why),
        (None, 0) => Ok(()),
        (None, n) => Err(format!("{n} points failed")),
    }
}

struct State {
    wanted: Wanted,
    build: String,
    done: Mutex<Tally>,
    next: AtomicU32,
    error: Mutex<Option<String>>,
}

impl State {
    /// Tries one point after the other, until enough have been tried or one could not be tried.
    fn work(&self, last: u32) {
        loop {
            let number = self.next.fetch_add(1, Relaxed);
            let stop = self.error.lock().unwrap_or_else(PoisonError::into_inner).is_some();
            if number >= last || stop {
                return;
            }
            let tried = point::try_one(&self.wanted.punctual, &self.build, number).and_then(|point| self.keep(point));
            if let Err(why) = tried {
                self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
            }
        }
    }

    fn keep(&self, point: Point) -> Result<(), String> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let path = &self.wanted.state;
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let line = serde_json::to_string(&point).map_err(|e| e.to_string())? + "\n";
        let mut file = File::options().append(true).create(true).open(path).map_err(failed)?;
        file.write_all(line.as_bytes()).map_err(failed)?;
        if let Some(why) = &point.failed {
            println!("FAILED  point {}: {why}", point.number);
        }
        done.add(point);
        if done.len().is_multiple_of(TOLD) {
            println!("{}", done.short());
        }
        Ok(())
    }
}

/// Returns the points for this build in the file. Skips a line that a kill has truncated.
fn known(state: &std::path::Path, build: &str) -> Result<Vec<Point>, String> {
    let folder = state.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), fs::create_dir_all).map_err(|e| format!("{}: {e}", state.display()))?;
    let text = match fs::read_to_string(state) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|e| format!("{}: {e}", state.display()))?,
    };
    let points = text.lines().filter_map(|line| serde_json::from_str::<Point>(line).ok());
    Ok(points.filter(|point| point.build == build).collect())
}

/// Returns an identifier of the program, because points of another build do not count.
fn build(punctual: &std::path::Path) -> Result<String, String> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(punctual).map_err(|e| missing(punctual, &e))?;
    Ok(format!("{} bytes of {}", meta.len(), meta.mtime()))
}
