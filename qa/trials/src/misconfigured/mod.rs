//! `cargo xtask misconfigured`: misconfigurations planted in guests, and whether each flips its rules and no other.

mod guests;
mod score;
mod script;
mod table;

use std::path::PathBuf;
use table::{Plant, Table};

/// What to do.
struct Wanted {
    kernels: Vec<String>,
    /// Names of plants; empty: all.
    only: Vec<String>,
    out: PathBuf,
    /// Boot nothing, judge again what is there.
    score: bool,
    /// Write the table in Markdown.
    markdown: bool,
}

/// The kernels of the bar.
const KERNELS: [&str; 4] = ["rt@6.12", "rt@6.1", "stock@6.12", "stock@6.1"];

/// `misconfigured [--kernel K]… [--only NAME]… [--out DIR] [--markdown] | --score DIR`.
pub fn run(words: &[String]) -> Result<(), String> {
    let wanted = parse(words)?;
    let table = Table::embedded()?;
    if let Some(name) = wanted.only.iter().find(|name| !table.plants.iter().any(|plant| plant.name == **name)) {
        return Err(format!("no plant is called `{name}`"));
    }
    let mut failed = Vec::new();
    if !wanted.score {
        for kernel in &wanted.kernels {
            failed.extend(guests::record(kernel, &wanted, &table)?);
        }
    }
    let kernels: Vec<&str> = wanted.kernels.iter().map(String::as_str).collect();
    let scores = score::all(&table, &kernels, &wanted)?;
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

fn parse(words: &[String]) -> Result<Wanted, String> {
    let out = std::env::temp_dir().join("punctual-misconfigured");
    let mut wanted = Wanted { kernels: Vec::new(), only: Vec::new(), out, score: false, markdown: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--kernel" => wanted.kernels.push(value()?),
            "--only" => wanted.only.push(value()?),
            "--out" => wanted.out = value()?.into(),
            "--score" => (wanted.out, wanted.score) = (value()?.into(), true),
            "--markdown" => wanted.markdown = true,
            _ => return Err(format!("misconfigured does not know `{word}`: see cargo xtask")),
        }
    }
    if wanted.kernels.is_empty() {
        wanted.kernels = KERNELS.map(String::from).to_vec();
    }
    Ok(wanted)
}
