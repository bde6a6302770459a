//! Runs the event suite in guests: no event that must not be lost may be lost, whatever the timing of the emulator.

use crate::built::punctual;
use crate::gpio_kernel;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A kernel, and how the suite is started on it.
struct In {
    name: &'static str,
    kernel: String,
    first: &'static str,
    words: &'static str,
}

/// Shell command that mounts configfs, where gpio-sim's chips are created.
const CONFIGFS: &str = "mount -t configfs none /sys/kernel/config; ";

pub fn events(place: &Path) -> Result<String, String> {
    let built = gpio_kernel::build(&gpio_kernel::Wanted::default())?;
    let kernels = [
        In { name: "rt", kernel: "rt@6.12".into(), first: "", words: "" },
        In { name: "stock", kernel: "stock@6.12".into(), first: "", words: "" },
        In { name: "gpio-sim", kernel: built.folder.display().to_string(), first: CONFIGFS, words: "--gpio sim" },
    ];
    let mut figures = String::new();
    for one in kernels {
        let figure = suite(&one, &place.join(one.name))?;
        figures.push_str(&format!("\n        {:9}{figure}", one.name));
    }
    Ok(figures)
}

/// Runs the suite in one boot. Exit code 0 means that all promises were kept; 3 that they were kept, but some tests,
/// which the output names, could not run in the guest.
fn suite(one: &In, place: &Path) -> Result<String, String> {
    let put = format!("{}:/bin/punctual", xtask::punctual().display());
    let out = place.display().to_string();
    let events = format!("punctual events -D 20s {} -o /tmp/run", one.words);
    let script = format!("{}{events}; code=$?; [ $code = 0 ] || [ $code = 3 ]", one.first);
    let boot = ["lab", "boot", "-k", &one.kernel, "--timeout", "600s", "--put", &put, "--get", "/tmp/run"];
    let output = punctual(&[&boot[..], &["--out", &out, "--", &script]].concat())?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("{}: {}:\n{said}", one.name, output.status));
    }
    let text =
        fs::read_to_string(place.join("tmp/run/suite.json")).map_err(|e| format!("{}: suite.json: {e}", one.name))?;
    let suite: Value = serde_json::from_str(&text).map_err(|e| format!("{}: suite.json: {e}", one.name))?;
    let results = suite["results"].as_array().ok_or_else(|| format!("{}: suite.json has no results", one.name))?;
    let ended = |result: &&Value, how: &str| result["ended"]["how"] == how;
    let gpio = results.iter().find(|result| result["test"] == "gpio");
    if one.words.contains("--gpio") && !gpio.is_some_and(|result| ended(&result, "ran")) {
        return Err(format!("{}: the gpio test did not run: {gpio:?}", one.name));
    }
    if let Some(gpio) = gpio.filter(|result| ended(result, "ran")) {
        edges(&gpio["ended"]["counts"]).map_err(|why| format!("{}: {why}", one.name))?;
    }
    let sum = |key: &str| results.iter().filter_map(|result| result["ended"]["counts"][key].as_u64()).sum::<u64>();
    let counts =
        ["sent", "received", "coalesced", "overflowed", "lost", "doubled"].map(|key| format!("{key} {}", sum(key)));
    let without =
        results.iter().filter(|result| ended(result, "unsupported")).filter_map(|result| result["test"].as_str());
    let without: Vec<&str> = without.collect();
    Ok(format!("{}; missing: {}", counts.join(", "), without.join(", ")))
}

/// Checks the counts of GPIO edges. Single edges are not promised (an interrupt's thread may be late), but most edges
/// that are 1 ms apart must arrive, and each must be accounted for.
fn edges(counts: &Value) -> Result<(), String> {
    let count = |key: &str| counts[key].as_u64().unwrap_or(u64::MAX);
    let (sent, received) = (count("sent"), count("received"));
    let missing = count("lost").saturating_add(count("overflowed"));
    match sent == received.saturating_add(missing) && missing.saturating_mul(20) <= sent && count("doubled") == 0 {
        true => Ok(()),
        false => Err(format!("gpio: {counts}")),
    }
}
