//! kill -9 at random instants of a fix, then undo: every value as before.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PUNCTUAL: &str = "target/release/punctual";
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

fn punctual(changes: &str, words: &[&str]) -> Command {
    let mut command = Command::new(PUNCTUAL);
    command.env("PUNCTUAL_CHANGES", changes).args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

pub fn run(runs: u32) -> Result<(), String> {
    let changes = format!("/tmp/punctual-kill-fix-{}/changes", std::process::id());
    fs::create_dir_all(&changes).map_err(|e| e.to_string())?;
    let before = values();
    let fix: Vec<&str> =
        ["audit", "--for", "dedicated-core", "--look-again", "0s", "--fix"].iter().chain(RULES).copied().collect();
    let failed = |e: std::io::Error| format!("{PUNCTUAL}: {e}; build it first: cargo build --release");
    let begun = Instant::now();
    punctual(&changes, &fix).status().map_err(failed)?;
    let whole = begun.elapsed();
    punctual(&changes, &["undo"]).status().map_err(failed)?;
    let mut meanwhile = 0;
    for i in 0..runs {
        let after = whole.mul_f64(super::kill::random());
        let mut child = punctual(&changes, &fix).spawn().map_err(failed)?;
        std::thread::sleep(after);
        // SIGKILL; where it has ended already there is nothing to kill.
        let _ = child.kill();
        child.wait().map_err(failed)?;
        let differs = values() != before;
        let status = punctual(&changes, &["undo"]).status().map_err(failed)?;
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

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
