//! The table of rules. A rule is one file under `rules/` and one line here.

use crate::Context;
use crate::judge::judge;
use crate::rule::{Rule, RuleError, Sources, parse, parse_sources};
use crate::sight::Sight;
use punctual_machine::Machine;
use punctual_model::Finding;

macro_rules! rules {
    ($($id:literal)*) => {
        &[$((concat!("rules/", $id, ".toml"), include_str!(concat!("../rules/", $id, ".toml")))),*]
    };
}

/// Every rule, in the order findings come.
const FILES: &[(&str, &str)] = rules! {
    "kernel-preempt-rt"
    "kernel-config-readable"
    "kconfig-high-res-timers"
    "kconfig-rt-group-sched"
    "cpu-smt"
    "cpu-governor"
    "cpu-idle-latency"
    "sched-rt-throttle"
    "sched-fair-server"
    "rogue-rt-task"
    "clk-source"
    "virt-guest"
    "perm-rtprio"
    "perm-memlock"
};

const SOURCES: (&str, &str) = ("sources.toml", include_str!("../sources.toml"));

/// A set of rules.
#[derive(Debug)]
pub struct Rules {
    rules: Vec<Rule>,
    sources: Sources,
}

impl Rules {
    /// The rules this program was built with.
    pub fn embedded() -> Rules {
        // A test parses the same constants, so this cannot fail in a program that was tested.
        Rules::parse(FILES, SOURCES).expect("the embedded rules are checked by tests")
    }

    /// Reads rules from name and text of each file, and of the file that says what their source keys mean.
    ///
    /// # Errors
    /// The first mistake, with its file and line.
    pub fn parse(files: &[(&str, &str)], sources: (&str, &str)) -> Result<Rules, RuleError> {
        let sources = parse_sources(sources.0, sources.1)?;
        let rules = files.iter().map(|(file, text)| parse(file, text, &sources)).collect::<Result<_, _>>()?;
        Ok(Rules { rules, sources })
    }

    /// In the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// The rule of that id.
    pub fn get(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// What a source key stands for: a document, a commit, a repository.
    pub fn source(&self, key: &str) -> Option<&str> {
        self.sources.get(key).map(String::as_str)
    }

    /// Judges every rule on a machine; one finding a rule.
    pub fn audit(&self, machine: &dyn Machine, context: &Context) -> Vec<Finding> {
        let sight = Sight::new(machine, context, &self.sources);
        self.rules.iter().map(|rule| judge(rule, &sight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_listed_and_reads() {
        let rules = Rules::parse(FILES, SOURCES).unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        files.sort();
        let mut listed: Vec<String> = rules.iter().map(|rule| format!("{}.toml", rule.id)).collect();
        listed.sort();
        assert_eq!(files, listed);
    }
}
