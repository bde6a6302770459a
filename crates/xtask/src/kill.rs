//! kill -9 at random instants: every run is readable, at most 10 s are lost, nothing runs on.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PUNCTUAL: &str = "target/release/punctual";
const MOST_LOST: f64 = 10.0;
const LONGEST: Duration = Duration::from_secs(16);

pub fn run(runs: u32) -> Result<(), String> {
    let mut worst_lost: f64 = 0.0;
    let (mut too_early, mut finished) = (0, 0);
    for i in 0..runs {
        let instant = LONGEST.mul_f64(random());
        match one(i, instant)? {
            Ending::BeforeItBegan => too_early += 1,
            Ending::Finished => finished += 1,
            Ending::Lost(seconds) => worst_lost = worst_lost.max(seconds),
        }
    }
    println!(
        "{runs} kills: all readable; {too_early} before the run was made, {finished} after it had ended; \
         at most {worst_lost:.1} s of samples lost; nothing left running"
    );
    Ok(())
}

enum Ending {
    BeforeItBegan,
    Finished,
    Lost(f64),
}

fn one(i: u32, after: Duration) -> Result<Ending, String> {
    let out = format!("/tmp/punctual-soak-{}-{i}", std::process::id());
    let begun = Instant::now();
    let mut child = Command::new(PUNCTUAL)
        .args(["prove", "--quiet", "--duration", "14s", "--load", "cpu,scheduler", "--out", &out])
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{PUNCTUAL}: {e}; build it first: cargo build --release"))?;
    let pid = child.id();
    sleep(after);
    // SIGKILL; where it has ended already there is nothing to kill.
    let _ = child.kill();
    let lived = begun.elapsed().as_secs_f64();
    child.wait().map_err(|e| e.to_string())?;
    sleep(Duration::from_millis(1_000));
    let fail = |why: String| Err(format!("run {i}, killed after {lived:.3} s: {why} (kept in {out})"));
    if let Some(name) = left_running(pid) {
        return fail(format!("{name} runs on"));
    }
    if !Path::new(&out).join("run.json").exists() && !Path::new(&out).join("segments").exists() {
        // The folder may be there, empty.
        let _ = fs::remove_dir_all(&out);
        return Ok(Ending::BeforeItBegan);
    }
    let shown = Command::new(PUNCTUAL).args(["report", &out, "--json"]).output().map_err(|e| e.to_string())?;
    let Ok(document) = serde_json::from_slice::<Value>(&shown.stdout) else {
        return fail(format!("unreadable: {}", String::from_utf8_lossy(&shown.stderr)));
    };
    let ending = ending(&document, lived);
    match ending {
        Ok(Ending::Lost(seconds)) if seconds > MOST_LOST => return fail(format!("{seconds:.1} s of samples lost")),
        Err(why) => return fail(why),
        _ => {}
    }
    fs::remove_dir_all(&out).map_err(|e| e.to_string())?;
    ending
}

/// Samples lost: from the start of measuring to the kill, less what is on record, at 1 ms a sample.
fn ending(document: &Value, lived: f64) -> Result<Ending, String> {
    let result = &document["result"];
    let phases = result["phases"].as_array().ok_or("no phases in the document")?;
    let complete = result["run"]["complete"].as_bool().or_else(|| result["complete"].as_bool());
    if complete == Some(true) {
        return Ok(Ending::Finished);
    }
    let mut recorded = 0.0;
    for phase in phases {
        let cpus = phase["cpus"].as_array().ok_or("a phase without CPUs")?;
        let released = cpus.iter().filter_map(|c| c["released"].as_u64()).max().unwrap_or(0);
        recorded += released as f64 / 1e3;
    }
    // Starting a load and the warm-up (0.2 s a phase) are no samples; counted here they make the bar stricter.
    Ok(Ending::Lost((lived - recorded).max(0.0)))
}

/// A process of ours that outlived its parent.
fn left_running(parent: u32) -> Option<String> {
    let exe = fs::canonicalize(PUNCTUAL).ok()?;
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let theirs = fs::read_link(entry.path().join("exe")).ok()?;
        (pid != parent && theirs == exe).then(|| format!("process {pid}"))
    })
}

/// A number in [0, 1) from the kernel.
pub(crate) fn random() -> f64 {
    let mut bytes = [0u8; 4];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(_) => f64::from(u32::from_ne_bytes(bytes)) / 4_294_967_296.0,
        Err(_) => 0.5,
    }
}
