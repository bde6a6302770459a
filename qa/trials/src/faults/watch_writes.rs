//! Makes every writing system call of `punctual watch` fail with strace(1)'s fault injection, either that call alone or
//! that call and all later ones: the measurement must continue.

use super::document;
use super::watching::Series;
use super::writes::{CALLS, most_calls};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const WATCH: [&str; 11] = ["watch", "--quiet", "-D", "4s", "-i", "10ms", "--block", "1s", "--segment", "2s", "--out"];
const LASTS: Duration = Duration::from_secs(4);
const ERRORS: [&str; 2] = ["EIO", "EROFS"];
/// Number of calls tried per thread, evenly distributed, because the calls of each checkpoint are alike.
const TRIED: u32 = 6;
/// Time after which a watch that has not ended counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);
/// Number of watches in parallel; they sleep most of the time.
const AT_ONCE: usize = 6;

struct Injected {
    call: &'static str,
    error: &'static str,
    nth: u32,
    /// True if every later call fails, too.
    for_good: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Taken {
    Refused,
    /// The watch measured until its end, and reported with exit code 4 what it could not write.
    Reported,
    /// The watch ended with exit code 0, and everything was written.
    Whole,
}

pub fn run(place: &Path) -> Result<String, String> {
    let all = injected(&counted(place)?);
    let (next, taken) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<Taken, usize>::new()));
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(one) = all.get(next.fetch_add(1, Relaxed)) {
            let out = place.join(format!("{}-{}-{}-{}", one.call, one.error, one.nth, one.for_good));
            match one.try_it(&out) {
                Ok(how) => *taken.lock().unwrap_or_else(PoisonError::into_inner).entry(how).or_default() += 1,
                Err(why) => {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{}: {why}", one.name()))
                }
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    let taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
    let of = |how| taken.get(&how).copied().unwrap_or(0);
    match failed.is_empty() {
        true => Ok(format!(
            "{} runs: {} continued measuring and ended with code 4, {} complete, {} did not start and said why",
            all.len(),
            of(Taken::Reported),
            of(Taken::Whole),
            of(Taken::Refused)
        )),
        false => Err(format!("{} of {}:\n{}", failed.len(), all.len(), failed.join("\n"))),
    }
}

/// Returns the maximum number of calls of each kind by one thread.
fn counted(place: &Path) -> Result<Vec<(&'static str, u32)>, String> {
    let (log, out) = (place.join("calls"), place.join("counted"));
    strace(&["-o", &log.display().to_string(), "-e", &format!("trace={}", CALLS.join(","))], &out)?;
    most_calls(&log)
}

fn injected(counts: &[(&'static str, u32)]) -> Vec<Injected> {
    let mut all = Vec::new();
    for &(call, most) in counts {
        let mut places: Vec<u32> = (0..TRIED).map(|n| 1 + n * most / TRIED).collect();
        places.dedup();
        for nth in places {
            let each = ERRORS.iter().flat_map(|error| [false, true].map(|for_good| (*error, for_good)));
            all.extend(each.map(|(error, for_good)| Injected { call, error, nth, for_good }));
        }
    }
    all
}

fn strace(words: &[&str], out: &Path) -> Result<Output, String> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(words).arg(xtask::punctual()).args(WATCH).arg(out).stdin(Stdio::null());
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("strace: {e}; apt-get install strace"))?;
    let (begun, mut hangs) = (Instant::now(), false);
    while child.try_wait().map_err(|e| e.to_string())?.is_none() {
        if begun.elapsed() > PATIENCE && !hangs {
            hangs = true;
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("a process without an ID")?;
            kill_process_group(group, Signal::KILL).map_err(|e| format!("kill(2): {e}"))?;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // The child's output fits into the pipe.
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    if hangs { Err(format!("it hangs: {}", String::from_utf8_lossy(&output.stderr))) } else { Ok(output) }
}

impl Injected {
    fn name(&self) -> String {
        let end = if self.for_good { " and all after" } else { "" };
        format!("{} number {}{end} failing with {}", self.call, self.nth, self.error)
    }

    fn try_it(&self, out: &Path) -> Result<Taken, String> {
        let end = if self.for_good { "+" } else { "" };
        let inject = format!("inject={}:error={}:when={}{end}", self.call, self.error, self.nth);
        let (begun, log) = (Instant::now(), out.with_extension("calls"));
        let words = ["-o", &log.display().to_string(), "-e", &format!("trace={}", self.call), "-e", &inject];
        let output = strace(&words, out)?;
        let took = begun.elapsed();
        let calls = fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let taken = judged(&output, is_mute(&calls), out, took)?;
        let _ = (fs::remove_file(&log), fs::remove_dir_all(out));
        Ok(taken)
    }
}

/// Returns true if strace's output shows that a write(2) to standard error failed, because then nothing can be
/// reported. Lines that another thread interrupted are not searched for the result.
fn is_mute(calls: &str) -> bool {
    let failed = |line: &str| line.ends_with("(INJECTED)") || line.ends_with("<unfinished ...>");
    calls.lines().any(|line| line.contains(" write(2, ") && failed(line))
}

/// Judges the outcome. A panic has exit code 101 or ends the program with a signal; with code 0 everything must have
/// been written.
fn judged(output: &Output, is_mute: bool, out: &Path, took: Duration) -> Result<Taken, String> {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let failed = |what: &str| Err(format!("{what} ({}, {took:.1?}): {said}", output.status));
    let code = match output.status.code() {
        Some(code @ (0 | 2 | 4)) if !said.contains("panicked") => code,
        _ => return failed("an unexpected exit code"),
    };
    if code != 0 && said.trim().is_empty() && !is_mute {
        return failed("no message");
    }
    if took < LASTS {
        // At the start, the watch may report that nothing can be written there.
        return if code == 0 { failed("it ended early") } else { Ok(Taken::Refused) };
    }
    readable(out).map_err(|why| format!("{why}: {said}"))?;
    if code != 0 {
        return Ok(Taken::Reported);
    }
    let series = Series::read(out).map_err(|why| format!("exit code 0, and {why}: {said}"))?;
    series.measured()?;
    match series.periods()?.0 {
        0 => failed("no period was recorded"),
        _ => Ok(Taken::Whole),
    }
}

/// Checks that every line and every existing run directory can be read.
fn readable(out: &Path) -> Result<(), String> {
    let text = fs::read_to_string(out.join("series.jsonl")).unwrap_or_default();
    if let Some(torn) = text.lines().find(|line| serde_json::from_str::<serde_json::Value>(line).is_err()) {
        return Err(format!("a torn line in series.jsonl: {torn}"));
    }
    let runs = fs::read_dir(out.join("runs")).into_iter().flatten().flatten().map(|entry| entry.path());
    // A folder in which nothing could be started is empty.
    let mut begun =
        runs.filter(|run: &PathBuf| run.join("run.json").exists() || run.join("segments/000001.log").exists());
    begun.try_for_each(|run| document(&run).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_write_to_standard_error_excuses_silence() {
        let to = |fd: u8| format!("77 write({fd}, \"no space\"..., 9) = -1 EIO (Input/output error) (INJECTED)\n");
        assert!(is_mute(&format!("{}{}", to(5), to(2))));
        assert!(!is_mute(&to(5)));
        assert!(!is_mute("77 write(2, \"(INJECTED)\", 10) = 10\n"));
    }

    #[test]
    fn failures_are_spread_over_the_calls_of_a_thread() {
        let all = injected(&[("write", 60), ("mkdir", 2)]);
        let places = |call| {
            let mut places: Vec<u32> = all.iter().filter(|one| one.call == call).map(|one| one.nth).collect();
            places.dedup();
            places
        };
        assert_eq!((places("write"), places("mkdir")), (vec![1, 11, 21, 31, 41, 51], vec![1, 2]));
        assert_eq!(all.len(), 8 * 4);
    }
}
