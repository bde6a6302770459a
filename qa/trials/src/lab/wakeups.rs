//! Runs every wakeup source for one second in a guest, including a UART in loopback mode.

use super::expect;
use serde_json::Value;
use std::fs;
use std::path::Path;

const SOURCES: [&str; 9] =
    ["nanosleep", "relative", "timerfd", "posix-timer", "futex", "signal", "eventfd", "udp", "serial:/dev/ttyS1"];

/// Measures one of two CPUs, so that the sending threads can run on the other CPU.
pub fn wakeups(place: &Path) -> Result<String, String> {
    let out = place.join("out");
    let out_text = out.display().to_string();
    let script = format!(
        "ip link set lo up; mkdir -p /tmp/wakeups; for source in {}; do \
         punctual measure --via $source -a 1 -i 2ms -D 1s -q -o /tmp/wakeups/${{source%%:*}} || echo \"$source: exit code $?\"; done; exit 0",
        SOURCES.join(" ")
    );
    let words =
        ["boot", "-k", "rt@6.12", "--cpus", "2", "--timeout", "240s", "--get", "/tmp/wakeups", "--out", &out_text];
    let said = expect(&[&words[..], &["--", &script]].concat(), 0, "")?;
    let mut figures = Vec::new();
    for source in SOURCES.iter().map(|source| source.split(':').next().unwrap_or(source)) {
        let path = out.join("tmp/wakeups").join(source).join("run.json");
        let text =
            fs::read_to_string(&path).map_err(|e| format!("{source}: {}: {e}; its output:\n{said}", path.display()))?;
        let run: Value = serde_json::from_str(&text).map_err(|e| format!("{source}: {e}"))?;
        figures.push(account(source, &run["phases"][0]["cpus"][0])?);
    }
    Ok(format!("; released = ran + skipped: {}", figures.join(", ")))
}

fn account(source: &str, cpu: &Value) -> Result<String, String> {
    let number = |name: &str| cpu[name].as_u64();
    match (number("released"), number("ran"), number("skipped")) {
        (Some(released), Some(ran), Some(skipped)) if ran > 0 && released == ran + skipped => {
            Ok(format!("{source} {released} = {ran} + {skipped}"))
        }
        _ => Err(format!("{source}: released, ran and skipped do not add up: {cpu}")),
    }
}
