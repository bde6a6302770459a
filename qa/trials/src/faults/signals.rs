//! Sends signals at random moments: there must be a result within a second, and an exit code that shows the signal.

use super::document;
use crate::built::missing;
use crate::random::random;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const RUNS: usize = 100;
const SIGNALS: [(Signal, i32); 4] = [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1), (Signal::QUIT, 3)];
const LONGEST: Duration = Duration::from_secs(1);
/// Minimum time from the start of the program to the signal. By then the program has blocked the signals.
const FIRST: Duration = Duration::from_millis(150);

pub fn run(place: &Path) -> Result<String, String> {
    let (program, mut longest) = (xtask::punctual(), Duration::ZERO);
    for n in 0..RUNS {
        let (signal, number) = SIGNALS[n % SIGNALS.len()];
        let out = place.join(n.to_string());
        let mut child = Command::new(&program)
            .args(["measure", "--quiet", "--duration", "60s", "--load", "cpu,scheduler,idle", "--out"])
            .arg(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| missing(&program, &e))?;
        sleep(FIRST + Duration::from_secs(3).mul_f64(random()));
        let begun = Instant::now();
        let pid = Pid::from_child(&child);
        kill_process(pid, signal).map_err(|e| e.to_string())?;
        let status = child.wait().map_err(|e| e.to_string())?;
        let took = begun.elapsed();
        longest = longest.max(took);
        let fail = |why: String| Err(format!("run {n}, signal {number}: {why} (kept in {})", out.display()));
        if status.code() != Some(128 + number) {
            return fail(format!("it ended with {status}"));
        }
        if took > LONGEST {
            return fail(format!("it took {took:?}"));
        }
        let document = document(&out)?;
        let run = &document["result"]["run"];
        if run["complete"].as_bool().or_else(|| document["result"]["complete"].as_bool()) != Some(false) {
            return fail("the result does not say that it is incomplete".into());
        }
        std::fs::remove_dir_all(&out).map_err(|e| e.to_string())?;
    }
    Ok(format!("{RUNS} of {RUNS}, the longest {} ms", longest.as_millis()))
}
