//! `bench explain`: measures the time for reading and attributing a trace, compared with `trace-cmd report` of the same
//! file.
//!
//! Both write to /dev/null. A pair is one run of each, directly one after the other, in alternating order. The files
//! are in the page cache, because each is read once before.

use punctual_stats::paired_ratio;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Limit for the upper bound of the ratio of the time of `explain` to that of trace-cmd: `explain` must be four times
/// as fast.
const BAR: f64 = 0.25;
const CONFIDENCE: f64 = 0.95;
/// Events in a typical latency trace.
const EVENTS: [&str; 8] = [
    "sched",
    "irq",
    "irq_vectors:local_timer_entry",
    "irq_vectors:local_timer_exit",
    "timer:hrtimer_start",
    "timer:hrtimer_expire_entry",
    "timer:hrtimer_expire_exit",
    "timer:hrtimer_cancel",
];

/// Compare the time for reading and attributing traces with that of trace-cmd report
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Number of pairs of runs, one of each program, for each file
    #[arg(long, value_name = "N", default_value_t = 20)]
    pairs: u32,
    /// Traces to read; by default one of each version is recorded
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let (files, recorded) = match wanted.files.as_slice() {
        [] => (record()?, true),
        files => (files.to_vec(), false),
    };
    println!("wall time of reading and attribution / trace-cmd report, and {:.0} % interval:", CONFIDENCE * 100.0);
    let result = files.iter().try_for_each(|file| compare(file, wanted.pairs));
    if recorded {
        files.iter().for_each(|file| drop(fs::remove_file(file)));
    }
    result
}

fn compare(file: &PathBuf, pairs: u32) -> Result<(), String> {
    let bytes = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?.len();
    let mut measured = Vec::new();
    for n in 0..pairs {
        let pair = match n % 2 {
            0 => {
                let theirs = theirs(file)?;
                (theirs, ours(file)?)
            }
            _ => {
                let ours = ours(file)?;
                (theirs(file)?, ours)
            }
        };
        measured.push(pair);
    }
    let ratio = paired_ratio(&measured, CONFIDENCE).ok_or("no pairs")?;
    let interval = ratio.interval.ok_or("too few pairs for an interval: at least 6 are needed")?;
    let middle = |of: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = measured.iter().map(of).collect();
        punctual_stats::median(&values).unwrap_or(f64::NAN)
    };
    let judged = match (interval.low, interval.high) {
        (_, high) if high <= BAR => format!("holds: upper bound ≤ {BAR}"),
        (low, _) if low > BAR => format!("FAILS: above {BAR}"),
        _ => format!("not resolved against {BAR} here"),
    };
    println!(
        "{} ({:.1} MB): {:.4} [{:.4}, {:.4}] over {pairs} pairs, medians {:.0} ms and {:.0} ms: {judged}",
        file.display(),
        bytes as f64 / 1e6,
        ratio.value,
        interval.low,
        interval.high,
        middle(|pair| pair.1) * 1e3,
        middle(|pair| pair.0) * 1e3,
    );
    Ok(())
}

fn ours(file: &PathBuf) -> Result<f64, String> {
    let mut command = Command::new(xtask::punctual());
    command.arg("explain").arg(file);
    // Exit code 3: there is no late wakeup in the trace.
    seconds(command, &[0, 3])
}

fn theirs(file: &PathBuf) -> Result<f64, String> {
    let mut command = Command::new("trace-cmd");
    command.args(["report", "-i"]).arg(file);
    seconds(command, &[0])
}

fn seconds(mut command: Command, codes: &[i32]) -> Result<f64, String> {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let took = start.elapsed().as_secs_f64();
    match status {
        Ok(status) if status.code().is_some_and(|code| codes.contains(&code)) => Ok(took),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

/// Records two traces while cyclictest is running: one of version 6, and a compressed one of version 7.
fn record() -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for (version, compression) in [("6", "none"), ("7", "zstd")] {
        let file = PathBuf::from(format!("/dev/shm/punctual-bench-{}.v{version}.dat", std::process::id()));
        let mut command = Command::new("trace-cmd");
        command.args(["record", "-q", "-d", "-C", "mono", "--file-version", version, "--compression", compression]);
        command.args(EVENTS.iter().flat_map(|event| ["-e", event]));
        command.arg("-o").arg(&file).args(["cyclictest", "-q", "-m", "-p80", "-t4", "-i100", "-d0", "-D5"]);
        seconds(command, &[0]).map_err(|e| format!("{e}; give files instead: bench explain FILE"))?;
        files.push(file);
    }
    Ok(files)
}
