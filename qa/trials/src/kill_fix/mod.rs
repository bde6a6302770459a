//! `cargo trials kill-fix`: kills a fix with SIGKILL at random moments, then undoes it: every value must be as before.

use crate::built::missing;
use crate::random::random;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FILES: &[&str] = &[
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/compact_unevictable_allowed",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/watchdog",
    "/proc/sys/kernel/soft_watchdog",
    "/proc/sys/kernel/printk",
];
const RULES: &[&str] =
    &["sched-autogroup", "mem-dirty-limits", "mem-compaction", "timer-migration", "watchdog-soft", "log-console-level"];

fn values() -> Vec<String> {
    FILES.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}

fn punctual((program, changes): (&Path, &str), words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.env("PUNCTUAL_CHANGES", changes).args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Kill `audit --fix` at random moments with SIGKILL, and check that undo restores every value; needs root
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Number of kills
    #[arg(value_name = "RUNS", default_value_t = 200)]
    runs: u32,
    /// Program to kill
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let Wanted { runs, punctual: program } = wanted;
    let changes = format!("/tmp/punctual-kill-fix-{}/changes", std::process::id());
    fs::create_dir_all(&changes).map_err(|e| e.to_string())?;
    let before = values();
    let fix: Vec<&str> =
        ["audit", "--for", "dedicated-core", "--look-again", "0s", "--fix"].iter().chain(RULES).copied().collect();
    let failed = |e: std::io::Error| missing(program, &e);
    let begun = Instant::now();
    punctual((program.as_path(), &changes), &fix).status().map_err(failed)?;
    let whole = begun.elapsed();
    punctual((program.as_path(), &changes), &["undo"]).status().map_err(failed)?;
    let mut meanwhile = 0;
    for i in 0..*runs {
        let after = whole.mul_f64(random());
        let mut child = punctual((program.as_path(), &changes), &fix).spawn().map_err(failed)?;
        // Most of a run is the audit, so half of the kills wait for the first record.
        if i % 2 == 0 {
            std::thread::sleep(after);
        } else {
            wait_for_record(&changes, whole);
        }
        let _ = child.kill();
        child.wait().map_err(failed)?;
        let differs = values() != before;
        let status = punctual((program.as_path(), &changes), &["undo"]).status().map_err(failed)?;
        let now = values();
        if !status.success() || now != before {
            return Err(format!(
                "kill {i} after {after:?}: undo ended with {status}; {before:?} became {now:?}; see {changes}"
            ));
        }
        meanwhile += u32::from(differs);
    }
    fs::remove_dir_all(&changes).map_err(|e| e.to_string())?;
    println!("{runs} kills over {:.0} ms, {meanwhile} after a change: every value as before", ms(whole));
    Ok(())
}

fn wait_for_record(changes: &str, whole: Duration) {
    let length = || fs::metadata(format!("{changes}/journal")).map_or(0, |meta| meta.len());
    let (first, begun) = (length(), Instant::now());
    while length() == first && begun.elapsed() < whole * 2 {
        std::thread::sleep(Duration::from_micros(100));
    }
    std::thread::sleep(Duration::from_millis(20).mul_f64(random()));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
