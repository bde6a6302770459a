//! Makes every writing system call fail once, with strace(1)'s fault injection.

use super::document;
use crate::built::punctual;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub(super) const CALLS: [&str; 12] = [
    "write",
    "openat",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "fsync",
    "fdatasync",
    "ftruncate",
    "fallocate",
    "pwrite64",
];
const ERRORS: [&str; 3] = ["ENOSPC", "EIO", "EROFS"];
/// Maximum number of calls tried per kind and thread, for which strace counts separately. Later calls are similar.
const MAX: u32 = 40;
const RUN: [&str; 6] = ["measure", "--duration", "200ms", "--interval", "5ms", "--out"];

pub fn run(place: &Path) -> Result<String, String> {
    let earlier = place.join("earlier");
    let path = earlier.display().to_string();
    punctual(&[&RUN[..], &[path.as_str()]].concat())?;
    let before = bytes(&earlier)?;
    let counts = counted(place)?;
    let (mut runs, mut refused) = (0, 0);
    for (call, most) in &counts {
        for error in ERRORS {
            for nth in 1..=(*most).min(MAX) {
                let out = place.join("run");
                let output = injected(call, error, nth, &out)?;
                let why = judged(&output, &out);
                why.map_err(|why| format!("{call} number {nth} failing with {error}: {why}"))?;
                refused += u32::from(!output.status.success());
                runs += 1;
                let _ = fs::remove_dir_all(&out);
            }
        }
    }
    match bytes(&earlier)? == before {
        true => {
            Ok(format!("{runs} runs, {refused} of them ended with an error and reported it, the others were complete"))
        }
        false => Err("an earlier run directory was changed".into()),
    }
}

/// Judges the outcome. A panic has exit code 101 or ends the program with a signal; with code 0 the result must be
/// complete.
fn judged(output: &Output, out: &Path) -> Result<(), String> {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("panicked") || output.status.code().is_none_or(|code| code > 4) {
        return Err(format!("{}: {said}", output.status));
    }
    if !output.status.success() {
        return if said.trim().is_empty() { Err(format!("{}, without a message", output.status)) } else { Ok(()) };
    }
    let document = document(out)?;
    let damage = &document["result"]["damage"];
    match damage.as_array().is_none_or(Vec::is_empty) {
        true => Ok(()),
        false => Err(format!("exit code 0, and the result is damaged: {damage}")),
    }
}

fn strace(words: &[&str], out: &Path) -> Result<Output, String> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(words).arg(xtask::punctual()).args(RUN).arg(out).stdin(Stdio::null());
    command.output().map_err(|e| format!("strace: {e}; apt-get install strace"))
}

fn injected(call: &str, error: &str, nth: u32, out: &Path) -> Result<Output, String> {
    let inject = format!("inject={call}:error={error}:when={nth}");
    strace(&["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject], out)
}

/// Returns the maximum number of calls of each kind by one thread.
fn counted(place: &Path) -> Result<Vec<(&'static str, u32)>, String> {
    let (log, out) = (place.join("calls"), place.join("counted"));
    strace(&["-o", &log.display().to_string(), "-e", &format!("trace={}", CALLS.join(","))], &out)?;
    most_calls(&log)
}

/// Like [`counted`], but reads the output of strace.
pub(super) fn most_calls(log: &Path) -> Result<Vec<(&'static str, u32)>, String> {
    let text = fs::read_to_string(log).map_err(|e| format!("{}: {e}", log.display()))?;
    let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        if let Some(call) = CALLS.iter().find(|call| rest.trim_start().starts_with(&format!("{call}("))) {
            *counts.entry((thread, call)).or_default() += 1;
        }
    }
    let most = |call: &str| counts.iter().filter(|((_, c), _)| *c == call).map(|(_, n)| *n).max();
    let all: Vec<(&str, u32)> = CALLS.iter().filter_map(|call| Some((*call, most(call)?))).collect();
    if all.is_empty() { Err(format!("strace saw nothing: {text}")) } else { Ok(all) }
}

fn bytes(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let read = |name: &str| fs::read(folder.join(name)).map_err(|e| format!("{}/{name}: {e}", folder.display()));
    ["run.json", "manifest.json", "events.jsonl", "worst.jsonl"].map(read).into_iter().collect()
}
