//! `cargo trials integrations`: runs the examples of integrations/ with their programs: podman, lava-run, labgrid,
//! systemd in a guest, act; and `punctual new` in a root file system with only a compiler. (Ansible:
//! `cargo trials fleet`.) A missing program is reported and counts as a failure, so that nothing passes silently.

use crate::built::{missing, program};
use crate::guests;
use clap::builder::PossibleValuesParser;
use punctual_vm::{Arch, busybox};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name and script. The script's arguments are the binary, integrations/, a folder, and the arguments that [`more`]
/// returns.
const ALL: &[(&str, &str)] = &[
    ("oci", include_str!("oci.sh")),
    ("lava", include_str!("lava.sh")),
    ("labgrid", include_str!("labgrid.sh")),
    ("systemd", include_str!("systemd.sh")),
    ("github", include_str!("github.sh")),
    ("new", include_str!("new.sh")),
    ("python", include_str!("python.sh")),
];

/// Exit code of a script whose program is not installed.
const MISSING: i32 = 77;

/// Run the examples of integrations/ with the programs they are written for; needs root
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Program to test
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
    /// Folder of programs that are not installed in the system
    #[arg(long, value_name = "DIR", default_value_os_t = xtask::tools_dir())]
    tools: PathBuf,
    /// Examples to run; by default all
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(ALL.iter().map(|(name, _)| *name)))]
    only: Vec<String>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let Wanted { punctual, tools, only } = wanted;
    let punctual = punctual.canonicalize().map_err(|e| missing(punctual, &e))?;
    let mut bad = Vec::new();
    for (name, script) in ALL.iter().filter(|(n, _)| only.is_empty() || only.iter().any(|o| o == n)) {
        if !checked(name, script, &punctual, tools)? {
            bad.push(*name);
        }
    }
    if bad.is_empty() { Ok(()) } else { Err(format!("not run or not passed: {}", bad.join(", "))) }
}

/// Runs an example and prints its result. Returns false if it failed or its program is not installed.
fn checked(name: &str, script: &str, punctual: &Path, tools: &Path) -> Result<bool, String> {
    let folder = tempfile::Builder::new().prefix("punctual-integration-").tempdir().map_err(|e| e.to_string())?;
    let file = folder.path().join("script.sh");
    fs::write(&file, script).map_err(|e| format!("{}: {e}", file.display()))?;
    let integrations = xtask::root().join("integrations");
    let work = folder.path().join("work");
    fs::create_dir(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let mut command = Command::new("bash");
    command.arg(&file).arg(punctual).arg(&integrations).arg(&work).args(more(name, tools)?);
    let output = command.output().map_err(|e| format!("bash: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.trim().replace('\n', "\n         ");
    match output.status.code() {
        Some(0) => println!("{name:<8} {said}"),
        Some(MISSING) => println!("{name:<8} NOT INSTALLED: {said}"),
        _ => println!("{name:<8} FAILED: {said} {}", String::from_utf8_lossy(&output.stderr).trim()),
    }
    Ok(output.status.success())
}

/// Returns further arguments of a script: for `lava` and `systemd` a kernel and a BusyBox from the lab's cache, for some
/// the folder of tools, and for `systemd` also the script that its guest runs, and the applications.
fn more(name: &str, tools: &Path) -> Result<Vec<OsString>, String> {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/integrations/systemd-guest.sh");
    let mut words = Vec::new();
    if ["lava", "systemd"].contains(&name) {
        let (kernel, cache) = guests::kernel("rt@6.12", Arch::Amd64)?;
        let busybox = busybox(Arch::Amd64, &cache).map_err(|e| e.to_string())?;
        words.extend([kernel.image.into(), busybox.into()]);
    }
    if ["labgrid", "systemd", "github", "new", "python"].contains(&name) {
        words.push(tools.into());
    }
    if name == "systemd" {
        words.push(guest.into());
        for name in ["metronome", "rf-switch", "rotary-dial"] {
            words.push(program(&format!("release/{name}"), "cargo build --release")?.into());
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    fn sources(folder: &Path, all: &mut String) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, all);
            } else if path.extension().is_some_and(|end| end == "rs") {
                all.push_str(&fs::read_to_string(&path).unwrap());
            }
        }
    }

    /// The texts in the journal and in the status of units for which the guest waits occur in the sources of this
    /// workspace.
    #[test]
    fn the_programs_still_say_what_the_guest_waits_for() {
        let mut all = String::new();
        ["cli/src", "crates", "apps"].iter().for_each(|folder| sources(&xtask::root().join(folder), &mut all));
        let script = include_str!("systemd-guest.sh");
        let waits = script.lines().filter(|line| line.trim_start().starts_with("within "));
        let texts: Vec<&str> = waits
            .filter(|line| line.contains("journal ") || line.contains("StatusText"))
            .map(|line| line.split_once("grep -q '").unwrap().1.split_once('\'').unwrap().0)
            .collect();
        assert!(texts.len() >= 5, "{texts:?}");
        for text in texts {
            let words = text.split(|c: char| !c.is_ascii_alphabetic() && c != ' ').map(str::trim);
            let longest = words.max_by_key(|words| words.len()).unwrap();
            assert!(all.contains(longest), "no program says `{longest}`: {text}");
        }
    }
}
