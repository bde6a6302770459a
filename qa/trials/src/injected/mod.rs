//! `cargo trials injected`: injects delays with a known cause in guests and on this machine, and checks what `explain`
//! says about them.

mod guests;
pub mod score;
mod table;

pub use guests::program;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The kernels of docs/injected.md.
const KERNELS: [&str; 5] = ["rt@6.1", "rt@6.12", "stock@6.1", "stock@6.12", "arm64:rt@6.12"];
/// The kind of delay that needs a boot of its own, because the kernel patches all its functions.
const TRACER: &str = "tracer-left-on";

/// Inject delays in guests, or on this machine, and score whether `explain` finds their causes (docs/injected.md)
///
/// Build first: cargo build --release -p punctual-inject. For the arm64 guest: cargo xtask cross arm64 -- build
/// --release -p punctual-inject
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Kernel of a guest, such as rt@6.12 or arm64:rt@6.12; by default the five of docs/injected.md, with --host none
    #[arg(long = "kernel", value_name = "K")]
    kernels: Vec<String>,
    /// Inject on this machine; needs root
    #[arg(long)]
    host: bool,
    /// Number of bursts of each kind
    #[arg(long, value_name = "N", default_value_t = 8)]
    count: u32,
    /// Kind of delay; by default all
    #[arg(long = "injection", value_name = "P")]
    injections: Vec<String>,
    /// Folder for the recordings
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-injected"))]
    out: PathBuf,
    /// Explain from the trace alone, without facts about the machine
    #[arg(long)]
    bare: bool,
    /// Record nothing; explain the recordings in this folder again
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    score: Option<PathBuf>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let kernels = match wanted.kernels.as_slice() {
        [] if !wanted.host => KERNELS.map(String::from).to_vec(),
        named => named.to_vec(),
    };
    let mut failed = Vec::new();
    if wanted.score.is_none() {
        for kernel in &kernels {
            let folder = wanted.out.join(kernel.replace([':', '/'], "-"));
            if let Err(why) = guests::record(kernel, wanted, &folder) {
                println!("{kernel}: {why}");
                failed.push(kernel.clone());
            }
        }
        if wanted.host {
            here(wanted)?;
        }
    }
    let rows = score::folder(wanted.score.as_ref().unwrap_or(&wanted.out), wanted.bare)?;
    print!("{}", table::text(&rows));
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("not recorded: {}", failed.join(", "))),
    }
}

fn here(wanted: &Wanted) -> Result<(), String> {
    let program = guests::program(punctual_vm::Arch::Amd64)?;
    let folder = wanted.out.join("host");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut command = Command::new(&program);
    command.arg(&folder).arg(format!("bursts={}", wanted.count)).args(&wanted.injections);
    let status = command.status().map_err(|e| format!("{}: {e}", program.display()))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", program.display())) }
}
