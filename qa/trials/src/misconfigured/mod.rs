//! `cargo trials misconfigured`: injects misconfigurations in guests and checks that each changes the state of its
//! rules and of no others.

mod guests;
mod score;
mod script;
mod table;

use std::path::PathBuf;
use table::{Injection, Table};

/// The kernels listed in docs/misconfigured.md.
const KERNELS: [&str; 4] = ["rt@6.12", "rt@6.1", "stock@6.12", "stock@6.1"];

/// Inject misconfigurations in guests, and check that each changes the state of exactly its rules
/// (docs/misconfigured.md)
///
/// Build first: cargo build --release; cargo build --release -p punctual-inject
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Kernel of the guest
    #[arg(long = "kernel", value_name = "K", default_values = KERNELS)]
    kernels: Vec<String>,
    /// Name of a misconfiguration in injections.toml; all by default
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Directory for the recordings
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-misconfigured"))]
    out: PathBuf,
    /// Write the tables of docs/misconfigured.md
    #[arg(long)]
    markdown: bool,
    /// Boot nothing; score the recordings in this directory again
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    score: Option<PathBuf>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let table = Table::embedded()?;
    if let Some(name) =
        wanted.only.iter().find(|name| !table.injections.iter().any(|injection| injection.name == **name))
    {
        return Err(format!("no injection is named `{name}`"));
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
        ([], wrong) => Err(format!("{wrong} of {} injections did not flip exactly their rules", scores.len())),
        (failed, _) => Err(format!("not booted: {}", failed.join(", "))),
    }
}

impl Wanted {
    fn has(&self, injection: &Injection, kernel: &str) -> bool {
        injection.is_for(kernel) && (self.only.is_empty() || self.only.contains(&injection.name))
    }
}
