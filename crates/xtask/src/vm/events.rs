//! The event suite in guests: what must not be lost is not lost, whatever the emulator's timing.

use crate::gpio_kernel;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A kernel to boot, and what the suite gets in it.
struct In {
    name: &'static str,
    kernel: String,
    words: &'static str,
}

/// Runs the suite in a PREEMPT_RT, a stock, and the gpio-sim kernel.
pub fn events(place: &Path) -> Result<String, String> {
    let built = gpio_kernel::build(&gpio_kernel::Wanted::default())?;
    let kernels = [
        In { name: "rt", kernel: "rt@6.12".into(), words: "" },
        In { name: "stock", kernel: "stock@6.12".into(), words: "" },
        In { name: "gpio-sim", kernel: built.folder.display().to_string(), words: "--gpio sim" },
    ];
    let mut figures = String::new();
    for one in kernels {
        let told = suite(&one, &place.join(one.name))?;
        figures.push_str(&format!("\n        {:9}{told}", one.name));
    }
    Ok(figures)
}

/// One boot. Exit code 0: all promises kept; 3: kept, and some tests could not run there, which it names.
fn suite(one: &In, place: &Path) -> Result<String, String> {
    let put = format!("{}:/bin/punctual", super::PUNCTUAL);
    let out = place.display().to_string();
    let script = format!("punctual events -D 20s {} -o /tmp/run; code=$?; [ $code = 0 ] || [ $code = 3 ]", one.words);
    let words =
        ["boot", "-k", &one.kernel, "--timeout", "600s", "--put", &put, "--get", "/tmp/run", "--out", &out, "--"];
    let output = Command::new(super::PUNCTUAL)
        .arg("lab")
        .args(words)
        .arg(&script)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{}: {e}; build it first: cargo build --release", super::PUNCTUAL))?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("{}: {}:\n{said}", one.name, output.status));
    }
    fs::metadata(place.join("tmp/run/suite.json")).map_err(|e| format!("{}: suite.json: {e}", one.name))?;
    let last = said.lines().rev().find(|line| line.contains("promise") || line.contains("lost"));
    Ok(last.unwrap_or_default().trim().to_owned())
}
