//! Runs the applications in the kernel of `cargo trials gpio-kernel`, in virtual time. rtl_433 decodes what is sent.

use crate::built::{self, punctual};
use crate::gpio_kernel;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Script that sends all codes under each load; the kernel's tracepoint records the edges.
const CODES: &str = include_str!("../../../../apps/rf-switch/tests/guest.sh");
/// Script that runs the telephone dial and the metronome on simulated lines.
const LINES: &str = include_str!("../../../../docs/apps/gpio-sim.sh");
const CHAIN: &str = include_str!("chain.sh");
const PROGRAMS: [&str; 3] = ["rf-switch", "rotary-dial", "metronome"];
/// Number of codes: all houses and units, on and off.
const ALL: usize = 512;

/// Boots three times: telephone dial to radio, dial and metronome, all codes under load.
pub fn apps(place: &Path) -> Result<String, String> {
    let kernel = gpio_kernel::build(&gpio_kernel::Wanted::default())?.folder;
    let chain = chain(&kernel, &place.join("chain")).map_err(|why| format!("dial to radio: {why}"))?;
    let lines = lines(&kernel, &place.join("lines")).map_err(|why| format!("dial and metronome: {why}"))?;
    let codes = codes(&kernel, &place.join("codes")).map_err(|why| format!("all codes: {why}"))?;
    Ok(format!("\n        {chain}\n        {lines}\n        {codes}"))
}

/// Checks that dialling `421` switches on, and `420` off.
fn chain(kernel: &Path, place: &Path) -> Result<String, String> {
    let out = in_guest(kernel, place, "120s", CHAIN, "/tmp/run")?;
    for (number, state) in [("421", "on"), ("420", "off")] {
        let decoded = decoded(&place.join("tmp/run").join(format!("{number}.ook")))?;
        let right = |code: &Value| code["id"] == "D" && code["button"] == 2 && code["state"] == state;
        if decoded.is_empty() || !decoded.iter().all(right) {
            return Err(format!("{number} was decoded as {decoded:?}\n{out}"));
        }
    }
    Ok("421 dialled is decoded as D 2 on, 420 as D 2 off".into())
}

/// Decodes a file of pulse text with rtl_433.
fn decoded(file: &Path) -> Result<Vec<Value>, String> {
    let words = ["-R", "4", "-F", "json", "-r"];
    let output = Command::new("rtl_433").args(words).arg(file).output();
    let output = output.map_err(|e| format!("rtl_433: {e}; install it: apt-get install rtl-433"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let parsed = text.lines().filter(|line| line.starts_with('{')).map(serde_json::from_str).collect::<Result<_, _>>();
    parsed.map_err(|e| format!("rtl_433 on {}: {e}", file.display()))
}

/// Runs the script, which prints `ok` or `FAILED` per check, and the metronome's table.
fn lines(kernel: &Path, place: &Path) -> Result<String, String> {
    let said = in_guest(kernel, place, "1200s", LINES, "/tmp/runs")?;
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("Terminated")).collect();
    Ok(lines.join("\n        "))
}

fn codes(kernel: &Path, place: &Path) -> Result<String, String> {
    in_guest(kernel, place, "2400s", CODES, "/tmp/run")?;
    let mut lines = Vec::new();
    for load in ["idle", "cpu", "loopback"] {
        let file = place.join("tmp/run").join(format!("{load}.ook"));
        let output = Command::new(program("rf-switch")?).arg("--decode").arg(&file).output();
        let output = output.map_err(|e| format!("rf-switch --decode: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let last = said.lines().last().unwrap_or_default().to_owned();
        if !last.starts_with(&format!("{ALL} codes ")) {
            return Err(format!("{load}: {last}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        lines.push(format!("{load}: {last}"));
    }
    Ok(lines.join("; "))
}

fn in_guest(kernel: &Path, place: &Path, limit: &str, script: &str, folder: &str) -> Result<String, String> {
    fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
    let file = place.join("script.sh");
    fs::write(&file, script).map_err(|e| format!("{}: {e}", file.display()))?;
    let [kernel, out, script] = [kernel, place, &file].map(|path| path.display().to_string());
    let boot = ["lab", "boot", "--virtual", "--timeout", limit, "--get", folder, "-k", &kernel, "--out", &out];
    let mut words = [&boot[..], &["--script", &script]].concat();
    let put = |name: &str| Ok(format!("{}:/bin/{name}", program(name)?.display()));
    let puts = PROGRAMS.into_iter().map(put).collect::<Result<Vec<String>, String>>()?;
    words.extend(puts.iter().flat_map(|put| ["--put", put]));
    let output = punctual(&words)?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(said) } else { Err(format!("{}:\n{said}", output.status)) }
}

fn program(name: &str) -> Result<PathBuf, String> {
    let build = "cargo build --release -p punctual-rf-switch -p punctual-rotary-dial -p punctual-metronome";
    built::program(&format!("release/{name}"), build)
}
