//! `cargo trials misconfigured`: misconfigurations injected in guests, and whether each flips its rules and no other.

mod guests;
mod score;
mod script;
mod table;

use std::path::PathBuf;
use table::{Plant, Table};

/// The kernels of docs/misconfigured.md.
const KERNELS: [&str; 4] = ["rt@6.12", "rt@6.1", "stock@6.12", "stock@6.1"];

/// Make misconfigurations in guests, and check that each flips exactly its rules (docs/misconfigured.md)
///
/// Before: cargo build --release; cargo build --release -p punctual-plant
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Kernel of a guest
    #[arg(long = "kernel", value_name = "K", default_values = KERNELS)]
    kernels: Vec<String>,
    /// Misconfiguration, by its name in plants.toml; by default all
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Folder for what is recorded
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-misconfigured"))]
    out: PathBuf,
    /// Write the table of docs/misconfigured.md
    #[arg(long)]
    markdown: bool,
    /// Boot nothing; judge again what is in a folder
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    score: Option<PathBuf>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let table = Table::embedded()?;
    if let Some(name) = wanted.only.iter().find(|name| !table.plants.iter().any(|plant| plant.name == **name)) {
        return Err(format!("no plant is called `{name}`"));
    }
    let mut failed = Vec::new();
    if wanted.score.is_none() {
        for kernel in &wanted.kernels {
            failed.extend(guests::record(kernel, wanted, &table)?);
        }
    }
    let kernels: Vec<&str> = wanted.kernels.iter().map(String::as_str).collect();
    let scores = score::all(&table, &kernels, wanted)?;
    print!("{}", if wanted.markdown { score::markdown(&table, &kernels, &scores) } else { score::text(&scores) });
    let wrong = scores.iter().filter(|score| !score.is_right()).count();
    match (failed.as_slice(), wrong) {
        ([], 0) => Ok(()),
        ([], wrong) => Err(format!("{wrong} of {} plants did not flip exactly their rules", scores.len())),
        (failed, _) => Err(format!("not booted: {}", failed.join(", "))),
    }
}

impl Wanted {
    fn has(&self, plant: &Plant, kernel: &str) -> bool {
        plant.is_for(kernel) && (self.only.is_empty() || self.only.contains(&plant.name))
    }
}
