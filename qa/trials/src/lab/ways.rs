//! Every wakeup source, for one second in a guest, including a UART that sends to itself.

use super::expect;
use serde_json::Value;
use std::fs;
use std::path::Path;

const WAYS: [&str; 9] =
    ["nanosleep", "relative", "timerfd", "posix-timer", "futex", "signal", "eventfd", "udp", "serial:/dev/ttyS1"];

/// One measured CPU of two, so that senders have one of their own.
pub fn ways(place: &Path) -> Result<String, String> {
    let out = place.join("out");
    let out_text = out.display().to_string();
    let script = format!(
        "ip link set lo up; mkdir -p /tmp/ways; for way in {}; do \
         punctual measure --via $way -a 1 -i 2ms -D 1s -q -o /tmp/ways/${{way%%:*}} || echo \"$way: exit code $?\"; done; exit 0",
        WAYS.join(" ")
    );
    let words = ["boot", "-k", "rt@6.12", "--cpus", "2", "--timeout", "240s", "--get", "/tmp/ways", "--out", &out_text];
    let said = expect(&[&words[..], &["--", &script]].concat(), 0, "")?;
    let mut figures = Vec::new();
    for way in WAYS.iter().map(|way| way.split(':').next().unwrap_or(way)) {
        let path = out.join("tmp/ways").join(way).join("run.json");
        let text =
            fs::read_to_string(&path).map_err(|e| format!("{way}: {}: {e}; it said:\n{said}", path.display()))?;
        let run: Value = serde_json::from_str(&text).map_err(|e| format!("{way}: {e}"))?;
        figures.push(account(way, &run["phases"][0]["cpus"][0])?);
    }
    Ok(format!("; released = ran + skipped: {}", figures.join(", ")))
}

fn account(way: &str, cpu: &Value) -> Result<String, String> {
    let number = |name: &str| cpu[name].as_u64();
    match (number("released"), number("ran"), number("skipped")) {
        (Some(released), Some(ran), Some(skipped)) if ran > 0 && released == ran + skipped => {
            Ok(format!("{way} {released} = {ran} + {skipped}"))
        }
        _ => Err(format!("{way}: released, ran and skipped do not add up: {cpu}")),
    }
}
