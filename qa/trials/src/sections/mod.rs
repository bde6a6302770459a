//! `cargo trials sections`: disables interrupts or preemption in functions with known names, and checks what `explain`
//! reports about them.

use crate::{built, guests};
use punctual_vm::{Arch, Clock, Guest, shift_of_mips};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = include_str!("hold.c");
const SCRIPT: &str = include_str!("guest.sh");

/// Kind of section, class of its cause, and the name that the cause must have.
const KINDS: [(&str, &str, &str); 8] = [
    ("alpha", "irqs_disabled", "hold_irqs_alpha"),
    ("beta", "irqs_disabled", "hold_irqs_beta"),
    ("gamma", "irqs_disabled", "hold_irqs_gamma"),
    ("delta", "preemption_disabled", "hold_preempt_delta"),
    ("epsilon", "preemption_disabled", "hold_preempt_epsilon"),
    ("ipi", "irq", "call_function"),
    ("work", "irq", "irq_work"),
    ("stop", "higher_priority", "migration/"),
];
const RUNS: u32 = 3;

/// Disable interrupts or preemption in functions with known names, in guests in virtual time, and score what `explain`
/// names (docs/sections.md)
///
/// Requires: cargo build --release; gcc, make, and the headers of each kernel below /usr/src (linux-headers-…)
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Kernel of the guest; rt@6.12 and stock@6.12 by default
    #[arg(long = "kernel", value_name = "K")]
    kernels: Vec<String>,
    /// Directory for the recordings
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-sections"))]
    out: PathBuf,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let kernels = match wanted.kernels.as_slice() {
        [] => vec!["rt@6.12".to_owned(), "stock@6.12".to_owned()],
        named => named.to_vec(),
    };
    let mut wrong = 0;
    for name in &kernels {
        let place = wanted.out.join(name.replace([':', '/'], "-"));
        record(name, &place)?;
        wrong += score(name, &place.join("res"))?;
    }
    if wrong > 0 { Err(format!("{wrong} wrong with \"high\", or named where nothing was held")) } else { Ok(()) }
}

fn record(name: &str, place: &Path) -> Result<(), String> {
    let (kernel, cache) = guests::kernel(name, Arch::Amd64)?;
    let release = kernel.release.clone().ok_or_else(|| format!("{name}: its release is unknown"))?;
    let module = module(&release, place)?;
    let mut guest = Guest::new(punctual_vm::Machine::Pc, kernel, SCRIPT);
    (guest.cpus, guest.memory_mib) = (2, 1024);
    guest.clock = Clock::Virtual { shift: shift_of_mips(500.0).map_err(|e| e.to_string())? };
    guest.limit = std::time::Duration::from_secs(900);
    guest.files.push(guests::program(&module, "/hold.ko")?);
    guest.files.push(guests::program(&built::program("release/punctual", "cargo build --release")?, "/bin/punctual")?);
    guest.fetch.push("/res".into());
    guests::try_boot(&guest, &cache, &place.join("boot"))?;
    let _ = fs::remove_dir_all(place.join("res"));
    fs::rename(place.join("boot/res"), place.join("res")).map_err(|e| format!("{}: {e}", place.display()))
}

/// Builds the module for a kernel whose headers are installed.
pub fn module(release: &str, place: &Path) -> Result<PathBuf, String> {
    let headers = PathBuf::from(format!("/usr/src/linux-headers-{release}"));
    if !headers.is_dir() {
        return Err(format!("{} is missing: apt-get install linux-headers-{release}", headers.display()));
    }
    module_of(&headers, place)
}

/// Builds the module in a directory for the kernel of these headers, or of this build.
pub fn module_of(headers: &Path, place: &Path) -> Result<PathBuf, String> {
    let folder = place.join("module");
    let error = |e: std::io::Error| format!("{}: {e}", folder.display());
    fs::create_dir_all(&folder).map_err(error)?;
    fs::write(folder.join("hold.c"), MODULE).map_err(error)?;
    fs::write(folder.join("Makefile"), "obj-m := hold.o\n").map_err(error)?;
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(headers)
        .arg(format!("M={}", folder.display()))
        .args(["CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]);
    let output = make.output().map_err(|e| format!("make: {e}"))?;
    match output.status.success() {
        true => Ok(folder.join("hold.ko")),
        false => Err(guests::tail_of(&String::from_utf8_lossy(&output.stderr))),
    }
}

/// Prints a line for each kind. Returns how many answers are worse than no answer.
fn score(kernel: &str, folder: &Path) -> Result<u64, String> {
    let mut bad = 0;
    println!("| kernel | kind | late | class right | name right | wrong with \"high\" |\n|---|---|---|---|---|---|");
    for (kind, class, name) in KINDS {
        let (mut late, mut classes, mut names, mut high) = (0, 0, 0, 0);
        for run in 1..=RUNS {
            let held = held(&folder.join(format!("{kind}-{run}.log")))?;
            for victim in victims(&folder.join(format!("{kind}-{run}.json")))? {
                let Some(delay) = delay(&victim).filter(|delay| mostly(*delay, &held)) else { continue };
                let cause = &victim["causes"][0];
                let right = cause["class"] == class;
                let named = ["place", "what", "comm"]
                    .iter()
                    .any(|key| cause[*key].as_str().is_some_and(|text| text.contains(name)));
                late += 1;
                classes += u64::from(right);
                names += u64::from(right && named);
                let wrong = !right && cause["confidence"] == "high";
                high += u64::from(wrong);
                if wrong {
                    println!("WRONG {kind}-{run}: {} ns, {}", delay.1 - delay.0, victim["verdict"]);
                }
            }
        }
        println!("| {kernel} | {kind} | {late} | {classes} | {names} | {high} |");
        bad += high;
    }
    let control = victims(&folder.join("control.json"))?;
    let named = control
        .iter()
        .filter(|victim| victim["causes"][0]["place"].as_str().is_some_and(|place| place.starts_with("in ")));
    let named = named.count() as u64;
    println!("{kernel}: {named} of {} named in the control", control.len());
    Ok(bad + named)
}

fn victims(path: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let document: Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(document["result"]["victims"].as_array().cloned().unwrap_or_default())
}

/// Returns start and end of the delay, ns.
fn delay(victim: &Value) -> Option<(u64, u64)> {
    let moments = &victim["moments"];
    let end = moments["t4_ns"].as_u64().or_else(|| moments["t3_ns"].as_u64())?;
    Some((moments["t0_ns"].as_u64()?, end))
}

/// Returns start and end of each section in which the module disabled interrupts or preemption, ns.
fn held(path: &Path) -> Result<Vec<(u64, u64)>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(text.lines().filter_map(pair).collect())
}

/// Parses the second pair of times. The first pair belongs to the write, which lasts until the writer has the CPU
/// again.
fn pair(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split(' ').skip(3);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// Returns `true` if the delay is at least 60 µs and at least three fifths of it are within these sections.
fn mostly((from, to): (u64, u64), held: &[(u64, u64)]) -> bool {
    let inside = held.iter().map(|(start, end)| to.min(*end).saturating_sub(from.max(*start))).max().unwrap_or(0);
    to.saturating_sub(from) >= 60_000 && inside * 5 >= (to - from) * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_held_counts() {
        let held = [pair("0 999000 900 1000 901000 5 6").unwrap()];
        assert!(mostly((501_000, 901_000), &held) && mostly((301_000, 1_001_000), &held));
        assert!(!mostly((801_000, 1_301_000), &held) && !mostly((2_000_000, 2_500_000), &held));
        assert!(!mostly((851_000, 901_000), &held));
        assert_eq!(pair("1000 901000 900"), None);
    }
}
