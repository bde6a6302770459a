//! `cargo trials side-by-side`: runs rt-tests' cyclictest and `punctual cyclictest` with the same injected delays, and
//! checks whether each finds and counts them.

mod guest;
mod score;

use crate::guests;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Options of both programs. With `--spike`, both report the time at which each delay was found. Both programs hold
/// /dev/cpu_dma_latency at 0.
const OPTIONS: &str = "-q -m -p 80 -i 1000 -t 1 -h 2000 --spike 500 --secaligned -D 4";
/// Order of the runs in a group, chosen so that drift affects both programs alike.
const ORDER: [&str; 4] = ["ours", "theirs", "theirs", "ours"];

/// Run cyclictest and `punctual cyclictest` in turn with injected delays, and count what each finds
/// (docs/cyclictest.md)
///
/// Build first: cargo build --release; cargo build --release -p punctual-inject. cyclictest of rt-tests must be
/// installed.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Number of groups of four runs: ours, theirs, theirs, ours
    #[arg(value_name = "GROUPS", default_value_t = 10)]
    groups: u32,
    /// Kernel of the guest, such as rt@6.12
    #[arg(long = "kernel", value_name = "K")]
    kernels: Vec<String>,
    /// Run on this machine, as root; also the default if no kernel is given
    #[arg(long)]
    host: bool,
    /// CPU to measure
    #[arg(long, value_name = "N", default_value_t = 1)]
    cpu: u32,
    /// Directory for the recordings
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-side-by-side"))]
    out: PathBuf,
    /// Run nothing; score the recordings in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    score: Option<PathBuf>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    if wanted.score.is_none() {
        for kernel in &wanted.kernels {
            guest::run(kernel, wanted, &wanted.out.join(kernel.replace([':', '/'], "-")))?;
        }
        if wanted.host || wanted.kernels.is_empty() {
            here(wanted)?;
        }
    }
    for folder in guests::folders(wanted.score.as_ref().unwrap_or(&wanted.out))? {
        print!("{}", score::table(&folder)?);
    }
    Ok(())
}

fn words(which: &str, program: &str, cpu: u32) -> Vec<String> {
    let ours = if which == "ours" { "cyclictest " } else { "" };
    let line = format!("{program} {ours}{OPTIONS} -a {cpu}");
    line.split(' ').map(str::to_owned).collect()
}

fn here(wanted: &Wanted) -> Result<(), String> {
    let folder = wanted.out.join("host");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let inject = inject()?;
    let punctual = punctual()?.display().to_string();
    for group in 0..wanted.groups {
        for (turn, which) in ORDER.into_iter().enumerate() {
            let program = if which == "ours" { punctual.as_str() } else { "cyclictest" };
            let file = folder.join(format!("{group:03}-{turn}-{which}.json"));
            let mut command = Command::new(&inject);
            command.arg("beside").arg(file).arg(format!("cpu={}", wanted.cpu)).arg("--");
            let status = command.args(words(which, program, wanted.cpu)).status();
            let status = status.map_err(|e| format!("{}: {e}", inject.display()))?;
            if !status.success() {
                return Err(format!(
                    "{} ended with {status}; run it as root, with cyclictest installed",
                    inject.display()
                ));
            }
        }
    }
    Ok(())
}

fn inject() -> Result<PathBuf, String> {
    crate::injected::program(punctual_vm::Arch::Amd64)
}

fn punctual() -> Result<PathBuf, String> {
    crate::built::program("release/punctual", "cargo build --release")
}
