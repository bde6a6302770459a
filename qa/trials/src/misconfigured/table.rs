//! `plants.toml`: what is injected, and what it must flip.

use punctual_model::State;
use serde::Deserialize;
use std::collections::BTreeMap;

/// States of rules before and after, by rule.
pub type Flips = BTreeMap<String, (State, State)>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    #[serde(rename = "ground")]
    pub grounds: Vec<Ground>,
    #[serde(rename = "plant")]
    pub plants: Vec<Plant>,
}

/// Shared setup of plants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ground {
    pub name: String,
    pub about: String,
    #[serde(default)]
    pub append: Vec<String>,
    /// Options of the audit.
    #[serde(default)]
    pub audit: String,
    /// Audit as nobody, with the limits $R and $L.
    #[serde(default)]
    pub as_user: bool,
    /// The ground whose preparation comes first.
    pub on: Option<String>,
    #[serde(default)]
    pub prepare: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plant {
    pub name: String,
    pub ground: String,
    #[serde(default)]
    pub plant: String,
    #[serde(default)]
    pub undo: String,
    /// Kernel parameters it adds, in a boot of its own.
    #[serde(default)]
    pub boot: Vec<String>,
    /// Only on these; empty: all.
    #[serde(default)]
    pub kernels: Vec<String>,
    flips: Vec<String>,
    /// Rules whose fix is applied with `audit --fix`, which restores them, and taken back with `undo`.
    #[serde(default)]
    pub mends: Vec<String>,
    /// Shell patterns of the files that the fix writes.
    #[serde(default)]
    pub files: String,
    /// Rules that no undoing restores.
    #[serde(default)]
    pub stays: Vec<String>,
    #[serde(default)]
    pub why: String,
}

impl Table {
    pub fn embedded() -> Result<Table, String> {
        let table: Table =
            toml::from_str(include_str!("plants.toml")).map_err(|error| format!("plants.toml: {error}"))?;
        for plant in &table.plants {
            table.ground(plant)?;
            plant.flips_on("rt@6.12").map_err(|why| format!("{}: {why}", plant.name))?;
        }
        Ok(table)
    }

    pub fn ground(&self, plant: &Plant) -> Result<&Ground, String> {
        let found = self.grounds.iter().find(|ground| ground.name == plant.ground);
        found.ok_or_else(|| format!("{}: no ground `{}`", plant.name, plant.ground))
    }

    pub fn preparation(&self, ground: &Ground) -> String {
        let below = self.grounds.iter().find(|other| Some(&other.name) == ground.on.as_ref());
        format!("{}\n{}", below.map_or("", |below| below.prepare.as_str()), ground.prepare)
    }

    /// A ground's plants in groups, one boot each, small enough to be cheap to lose.
    pub fn parts(&self, ground: &Ground) -> Vec<(String, Vec<&Plant>)> {
        let own: Vec<&Plant> = self.plants.iter().filter(|p| p.ground == ground.name && p.boot.is_empty()).collect();
        own.chunks(PART).zip(1..).map(|(part, number)| (format!("{}-{number}", ground.name), part.to_vec())).collect()
    }
}

/// Plants per boot.
const PART: usize = 10;

impl Plant {
    pub fn is_for(&self, kernel: &str) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|word| fits(word, kernel))
    }

    pub fn flips_on(&self, kernel: &str) -> Result<Flips, String> {
        let mut flips = Flips::new();
        for line in &self.flips {
            let (on, rest) = line.split_once(": ").map_or((None, line.as_str()), |(on, rest)| (Some(on), rest));
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [rule, from, to] = words.as_slice() else { return Err(format!("`{line}` is not RULE FROM TO")) };
            let (from, to) = (state(from)?, state(to)?);
            if on.is_none_or(|on| fits(on, kernel)) {
                flips.insert((*rule).to_owned(), (from, to));
            }
        }
        Ok(flips)
    }
}

/// `rt`, `@6.12` and `rt@6.12` match `rt@6.12`.
fn fits(word: &str, kernel: &str) -> bool {
    word == kernel || kernel.strip_prefix(word).is_some_and(|rest| rest.starts_with('@')) || {
        word.starts_with('@') && kernel.ends_with(word)
    }
}

/// A state by its name in capitals.
pub fn state(word: &str) -> Result<State, String> {
    serde_json::from_str(&format!("\"{word}\"")).map_err(|_| format!("`{word}` is no state"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let table = Table::embedded().unwrap();
        let mut names: Vec<&str> = table.plants.iter().map(|plant| plant.name.as_str()).collect();
        assert!(names.len() >= 40);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.plants.len());
        for plant in &table.plants {
            let several = super::super::KERNELS.iter().any(|kernel| plant.flips_on(kernel).unwrap().len() > 1);
            assert!(!several || !plant.why.is_empty(), "{} flips several rules and does not say why", plant.name);
            assert!(plant.boot.is_empty() != plant.undo.is_empty(), "{} cannot be undone", plant.name);
            assert!(plant.mends.is_empty() == plant.files.is_empty(), "{} mends no file", plant.name);
            assert!(plant.mends.is_empty() || plant.boot.is_empty(), "{} is mended at the next boot", plant.name);
        }
    }

    #[test]
    fn kernels_are_chosen_by_kind_series_or_both() {
        assert!(fits("rt", "rt@6.12") && fits("@6.12", "rt@6.12") && fits("rt@6.12", "rt@6.12"));
        assert!(!fits("rt", "stock@6.12") && !fits("@6.1", "rt@6.12") && !fits("rt@6.1", "rt@6.12"));
    }
}
