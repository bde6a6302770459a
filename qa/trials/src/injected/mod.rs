//! `cargo xtask planted`: delays whose cause is known, planted in guests and on this machine, and what `explain` says of them.

mod guests;
mod score;
mod table;

pub use guests::{program, try_boot};

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do.
struct Wanted {
    kernels: Vec<String>,
    host: bool,
    /// Bursts of each kind.
    count: u32,
    plants: Vec<String>,
    out: PathBuf,
    /// Record nothing, explain again what is there.
    score: bool,
    /// Explain from the trace alone, without what is known about the machine.
    bare: bool,
}

/// The bar's kernels.
const KERNELS: [&str; 5] = ["rt@6.1", "rt@6.12", "stock@6.1", "stock@6.12", "arm64:rt@6.12"];
/// It runs in a boot of its own: the kernel patches all its functions.
const TRACER: &str = "tracer-left-on";

/// `planted [--kernel K]… [--host] [--count N] [--plant P]… [--out DIR] [--bare] | --score DIR`.
pub fn run(words: &[String]) -> Result<(), String> {
    let wanted = parse(words)?;
    let mut failed = Vec::new();
    if !wanted.score {
        for kernel in &wanted.kernels {
            let folder = wanted.out.join(kernel.replace([':', '/'], "-"));
            if let Err(why) = guests::record(kernel, &wanted, &folder) {
                println!("{kernel}: {why}");
                failed.push(kernel.clone());
            }
        }
        if wanted.host {
            here(&wanted)?;
        }
    }
    let rows = score::folder(&wanted.out, wanted.bare)?;
    print!("{}", table::text(&rows));
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("not recorded: {}", failed.join(", "))),
    }
}

fn parse(words: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted {
        kernels: Vec::new(),
        host: false,
        count: 8,
        plants: Vec::new(),
        out: std::env::temp_dir().join("punctual-planted"),
        score: false,
        bare: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--kernel" => wanted.kernels.push(value()?),
            "--plant" => wanted.plants.push(value()?),
            "--out" => wanted.out = value()?.into(),
            "--count" => wanted.count = value()?.parse().map_err(|e| format!("--count: {e}"))?,
            "--score" => (wanted.out, wanted.score) = (value()?.into(), true),
            "--host" => wanted.host = true,
            "--bare" => wanted.bare = true,
            _ => return Err(format!("planted does not know `{word}`: see cargo xtask")),
        }
    }
    if wanted.kernels.is_empty() && !wanted.host {
        wanted.kernels = KERNELS.map(String::from).to_vec();
    }
    Ok(wanted)
}

/// On this machine.
fn here(wanted: &Wanted) -> Result<(), String> {
    let program = guests::program("amd64")?;
    let folder = wanted.out.join("host");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut command = Command::new(&program);
    command.arg(&folder).arg(format!("bursts={}", wanted.count)).args(&wanted.plants);
    let status = command.status().map_err(|e| format!("{}: {e}", program.display()))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", program.display())) }
}

/// What a folder of plants is called in the table.
fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
