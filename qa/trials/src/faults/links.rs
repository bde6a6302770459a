//! Puts links and FIFOs at the paths of results.

use crate::built::punctual;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Commands that write the file whose path is their last argument.
fn commands(run: &str) -> [(&'static str, Vec<String>); 5] {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    [
        ("a run directory", words(&["measure", "--quiet", "--duration", "100ms", "--out"])),
        ("a report", words(&["report", run, "--format", "html", "--out"])),
        ("a table", words(&["report", run, "--format", "csv", "--out"])),
        ("a harness's file", words(&["report", run, "--format", "junit", "--out"])),
        ("a comparison", words(&["compare", run, run, "--format", "html", "--out"])),
    ]
}

pub fn run(place: &Path) -> Result<String, String> {
    let run = place.join("run").display().to_string();
    punctual(&["measure", "--quiet", "--duration", "200ms", "--out", &run])?;
    let secret = place.join("secret");
    let failed = |e: std::io::Error| e.to_string();
    let mut refused = 0;
    for (what, words) in commands(&run) {
        for kind in ["symlink", "dangling symlink", "hard link", "FIFO"] {
            fs::write(&secret, "kept\n").map_err(failed)?;
            let target = place.join("injected");
            match kind {
                "symlink" => symlink(&secret, &target).map_err(failed)?,
                "dangling symlink" => symlink(place.join("made"), &target).map_err(failed)?,
                "hard link" => fs::hard_link(&secret, &target).map_err(failed)?,
                _ => {
                    Command::new("mkfifo").arg(&target).status().map_err(failed)?;
                }
            }
            let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
            let path = target.display().to_string();
            words.push(&path);
            let output = punctual(&words)?;
            let said = String::from_utf8_lossy(&output.stderr);
            if output.status.success() || said.trim().is_empty() {
                return Err(format!("{what} over a {kind}: {}, {said}", output.status));
            }
            let untouched = fs::read(&secret).is_ok_and(|text| text == b"kept\n") && !place.join("made").exists();
            if !untouched {
                return Err(format!("{what} over a {kind}: what it points to was changed"));
            }
            fs::remove_file(&target).map_err(failed)?;
            refused += 1;
        }
    }
    Ok(format!("{refused} of {refused} refused, nothing changed"))
}
