//! Reads `injections.toml`: what is injected, and which rules must change their state.

use punctual_model::State;
use serde::Deserialize;
use std::collections::BTreeMap;

/// States before and after an injection, by rule.
pub type Flips = BTreeMap<String, (State, State)>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    #[serde(rename = "ground")]
    pub grounds: Vec<Ground>,
    #[serde(rename = "injection")]
    pub injections: Vec<Injection>,
}

/// A setup that several injections share.
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
    /// True to run the audit as nobody, with the limits $R and $L.
    #[serde(default)]
    pub as_user: bool,
    /// Another setup whose preparation runs first.
    pub on: Option<String>,
    #[serde(default)]
    pub prepare: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    pub name: String,
    pub ground: String,
    #[serde(default)]
    pub inject: String,
    #[serde(default)]
    pub undo: String,
    /// Kernel parameters that the injection adds, in a boot of its own.
    #[serde(default)]
    pub boot: Vec<String>,
    /// Kernels to which the injection applies; empty for all.
    #[serde(default)]
    pub kernels: Vec<String>,
    flips: Vec<String>,
    /// Rules that `audit --fix` must fix and `undo` restore; empty if the fix is not tried.
    #[serde(default)]
    pub fixes: Vec<String>,
    /// Shell patterns of the files that the fix writes.
    #[serde(default)]
    pub files: String,
    /// Rules whose state undoing does not restore.
    #[serde(default)]
    pub stays: Vec<String>,
    #[serde(default)]
    pub why: String,
}

impl Table {
    pub fn embedded() -> Result<Table, String> {
        let table: Table =
            toml::from_str(include_str!("injections.toml")).map_err(|error| format!("injections.toml: {error}"))?;
        for injection in &table.injections {
            table.ground(injection)?;
            injection.flips_on("rt@6.12").map_err(|why| format!("{}: {why}", injection.name))?;
        }
        Ok(table)
    }

    pub fn ground(&self, injection: &Injection) -> Result<&Ground, String> {
        let found = self.grounds.iter().find(|ground| ground.name == injection.ground);
        found.ok_or_else(|| format!("{}: no ground `{}`", injection.name, injection.ground))
    }

    pub fn preparation(&self, ground: &Ground) -> String {
        let below = self.grounds.iter().find(|other| Some(&other.name) == ground.on.as_ref());
        format!("{}\n{}", below.map_or("", |below| below.prepare.as_str()), ground.prepare)
    }

    /// Divides the injections of a setup into groups with one boot each, which are so small that losing a boot costs
    /// little.
    pub fn parts(&self, ground: &Ground) -> Vec<(String, Vec<&Injection>)> {
        let own: Vec<&Injection> =
            self.injections.iter().filter(|p| p.ground == ground.name && p.boot.is_empty()).collect();
        own.chunks(PART).zip(1..).map(|(part, number)| (format!("{}-{number}", ground.name), part.to_vec())).collect()
    }
}

const PART: usize = 10;

impl Injection {
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

/// Returns true if the word selects the kernel: `rt`, `@6.12` and `rt@6.12` select `rt@6.12`.
fn fits(word: &str, kernel: &str) -> bool {
    word == kernel || kernel.strip_prefix(word).is_some_and(|rest| rest.starts_with('@')) || {
        word.starts_with('@') && kernel.ends_with(word)
    }
}

/// Parses a state from its name in capitals.
pub fn state(word: &str) -> Result<State, String> {
    serde_json::from_str(&format!("\"{word}\"")).map_err(|_| format!("`{word}` is not a state"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let table = Table::embedded().unwrap();
        let mut names: Vec<&str> = table.injections.iter().map(|injection| injection.name.as_str()).collect();
        assert!(names.len() >= 40);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.injections.len());
        for injection in &table.injections {
            let several = super::super::KERNELS.iter().any(|kernel| injection.flips_on(kernel).unwrap().len() > 1);
            assert!(
                !several || !injection.why.is_empty(),
                "{} flips several rules and does not say why",
                injection.name
            );
            assert!(injection.boot.is_empty() != injection.undo.is_empty(), "{} cannot be undone", injection.name);
            assert!(injection.fixes.is_empty() == injection.files.is_empty(), "{} fixes no file", injection.name);
            assert!(
                injection.fixes.is_empty() || injection.boot.is_empty(),
                "{} is fixed at the next boot",
                injection.name
            );
        }
    }

    #[test]
    fn kernels_are_chosen_by_kind_series_or_both() {
        assert!(fits("rt", "rt@6.12") && fits("@6.12", "rt@6.12") && fits("rt@6.12", "rt@6.12"));
        assert!(!fits("rt", "stock@6.12") && !fits("@6.1", "rt@6.12") && !fits("rt@6.1", "rt@6.12"));
    }
}
