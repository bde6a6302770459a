//! `cargo xtask side-by-side`: the same planted delays before rt-tests' cyclictest and `punctual cyclictest`, and whether each
//! finds and counts them.

mod guest;
mod score;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do.
struct Wanted {
    /// Groups of four runs: ours, theirs, theirs, ours.
    groups: u32,
    kernels: Vec<String>,
    host: bool,
    cpu: u32,
    out: PathBuf,
    /// Run nothing, score what is there.
    score: bool,
}

/// The same words for both. The spikes carry the time at which each delay was found; both hold /dev/cpu_dma_latency at 0.
const OPTIONS: &str = "-q -m -p 80 -i 1000 -t 1 -h 2000 --spike 500 --secaligned -D 4";
/// The order within a group: what drifts meets both alike.
const ORDER: [&str; 4] = ["ours", "theirs", "theirs", "ours"];

/// `side-by-side [GROUPS] [--kernel K]… [--host] [--cpu N] [--out DIR] | --score DIR`.
pub fn run(words: &[String]) -> Result<(), String> {
    let wanted = parse(words)?;
    if !wanted.score {
        for kernel in &wanted.kernels {
            guest::run(kernel, &wanted, &wanted.out.join(kernel.replace([':', '/'], "-")))?;
        }
        if wanted.host {
            here(&wanted)?;
        }
    }
    for folder in folders(&wanted.out)? {
        print!("{}", score::table(&folder)?);
    }
    Ok(())
}

fn parse(words: &[String]) -> Result<Wanted, String> {
    let out = std::env::temp_dir().join("punctual-side-by-side");
    let mut wanted = Wanted { groups: 10, kernels: Vec::new(), host: false, cpu: 1, out, score: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or(format!("{word} needs a value"));
        let number = |text: &str| text.parse::<u32>().map_err(|e| format!("side-by-side: {text}: {e}"));
        match word.as_str() {
            "--kernel" => wanted.kernels.push(value()?),
            "--out" => wanted.out = value()?.into(),
            "--cpu" => wanted.cpu = number(&value()?)?,
            "--score" => (wanted.out, wanted.score) = (value()?.into(), true),
            "--host" => wanted.host = true,
            groups => wanted.groups = number(groups)?,
        }
    }
    wanted.host |= wanted.kernels.is_empty();
    Ok(wanted)
}

/// The words of one program.
fn words(which: &str, program: &str, cpu: u32) -> Vec<String> {
    let ours = if which == "ours" { "cyclictest " } else { "" };
    let line = format!("{program} {ours}{OPTIONS} -a {cpu}");
    line.split(' ').map(str::to_owned).collect()
}

/// On this machine.
fn here(wanted: &Wanted) -> Result<(), String> {
    let folder = wanted.out.join("host");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let plant = crate::injected::program("amd64")?;
    let punctual = built("punctual")?.display().to_string();
    for group in 0..wanted.groups {
        for (turn, which) in ORDER.into_iter().enumerate() {
            let program = if which == "ours" { punctual.as_str() } else { "cyclictest" };
            let file = folder.join(format!("{group:03}-{turn}-{which}.json"));
            let mut command = Command::new(&plant);
            command.arg("beside").arg(file).arg(format!("cpu={}", wanted.cpu)).arg("--");
            let status = command.args(words(which, program, wanted.cpu)).status();
            let status = status.map_err(|e| format!("{}: {e}", plant.display()))?;
            if !status.success() {
                return Err(format!("{} ended with {status}: as root, and with cyclictest installed", plant.display()));
            }
        }
    }
    Ok(())
}

/// A release build of this workspace.
fn built(name: &str) -> Result<PathBuf, String> {
    let path = crate::injected::program("amd64")?.with_file_name(name);
    if path.is_file() { Ok(path) } else { Err(format!("{} is missing: cargo build --release", path.display())) }
}

/// The folders with results: one a kernel.
fn folders(out: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}
