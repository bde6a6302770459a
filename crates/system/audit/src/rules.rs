//! The table of rules: files under `rules/`, in the order of `rules.txt`, which is also the order of findings.

use crate::judge::judge;
use crate::memo::Memo;
use crate::owner::READS as OVER_TIME;
use crate::probes::CONFIG_READS;
use crate::profile::{Adjustments, Own, ProfileFileError, Today};
use crate::rule::{Commons, Fix, Rule, RuleError, Source, Sources, parse, parse_commons, parse_sources};
use crate::sight::Sight;
use crate::{Context, Offers, Profile};
use punctual_machine::Machine;
use punctual_model::{Finding, Severity, State};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Rules, sources and shared conditions as deflated JSON, made by build.rs from this crate's files.
const EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rules.json.deflate"));

/// Length of the inflated text in bytes.
const LENGTH: usize = include!(concat!(env!("OUT_DIR"), "/rules.length"));

#[derive(Clone, Debug, Deserialize)]
pub struct Rules {
    pub(crate) rules: Vec<Rule>,
    pub(crate) sources: Sources,
    #[serde(rename = "gates")]
    pub(crate) commons: Commons,
    #[serde(default)]
    pub(crate) profiles: BTreeMap<Profile, Adjustments>,
    #[serde(skip)]
    pub(crate) own: Option<(Adjustments, Today)>,
    /// Ids of the rules from a user's profile.
    #[serde(skip)]
    pub(crate) own_ids: BTreeSet<String>,
}

impl Rules {
    /// Returns the built-in rules, which are shared and never changed.
    pub fn embedded() -> &'static Rules {
        static RULES: LazyLock<Rules> = LazyLock::new(Rules::load);
        &RULES
    }

    /// Loads a copy of the built-in rules that the caller can extend; takes a few milliseconds.
    pub fn load() -> Rules {
        // Allocated in one piece, because a growing vector would become twice as long. A test reads the same bytes, so
        // this cannot fail.
        let mut json = vec![0; LENGTH];
        let parts = std::iter::once(EMBEDDED);
        miniz_oxide::inflate::decompress_slice_iter_to_slice(&mut json, parts, false, true)
            .expect("the embedded rules are checked by tests");
        serde_json::from_slice(&json).expect("the embedded rules are checked by tests")
    }

    /// Parses rules from the names and texts of their files, and of sources.toml and gates.toml.
    ///
    /// # Errors
    /// The first error, with its file and line.
    pub fn parse(files: &[(&str, &str)], sources: (&str, &str), gates: (&str, &str)) -> Result<Rules, RuleError> {
        let sources = parse_sources(sources.0, sources.1)?;
        let commons = parse_commons(gates.0, gates.1)?;
        let rules = files.iter().map(|(file, text)| parse(file, text, &sources, &commons)).collect::<Result<_, _>>()?;
        Ok(Rules { rules, sources, commons, profiles: BTreeMap::new(), own: None, own_ids: BTreeSet::new() })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    pub fn get(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// Returns the document, commit or repository of a source key.
    pub fn source(&self, key: &str) -> Option<&str> {
        self.sources.get(key).map(String::as_str)
    }

    /// Returns every path that a rule may read, including those of its probes and shared conditions. `*` represents a
    /// name or a part of one; a final `**` represents the folder and everything below it. Control groups may be mounted
    /// at unusual places.
    pub fn paths(&self, rule: &Rule) -> Vec<String> {
        let commons = rule.only_if.iter().filter_map(|name| self.commons.get(name));
        let reads = rule.reads.values().chain(commons.flat_map(|common| common.reads.values()));
        let changes = rule.fixes().flat_map(Fix::first).any(|action| rule.changes_line(action));
        let mut paths: Vec<String> = reads.flat_map(|read| read.source.paths()).collect();
        // These files show whether the kernel supports a parameter.
        if changes || paths.iter().any(|path| path == "/proc/cmdline") {
            let all = CONFIG_READS.iter().chain(&["/proc/cmdline", "/proc/sys/kernel/arch", "/dev/kmsg"]);
            paths.extend(all.map(|path| (*path).to_owned()));
        }
        paths
    }

    pub fn log_texts(&self) -> Vec<String> {
        let of = |rule: &Rule| {
            let texts = rule.reads.values().filter_map(|read| match &read.source {
                Source::Log(texts) => Some(texts.clone()),
                _ => None,
            });
            texts.flatten().collect::<Vec<_>>()
        };
        let unknown = crate::cmdline::UNKNOWN.map(str::to_owned);
        self.rules.iter().flat_map(of).chain(unknown).collect()
    }

    /// Returns the paths to read at the beginning of a window: every path of rules with `change`, and the paths of
    /// their probes.
    pub fn window_paths(&self) -> Vec<String> {
        let changing = self.rules.iter().filter(|rule| rule.reads.values().any(|read| read.change));
        changing.flat_map(|rule| self.paths(rule)).chain(OVER_TIME.iter().map(|path| (*path).to_owned())).collect()
    }

    pub fn audit(&self, machine: &dyn Machine, context: &Context) -> Vec<Finding> {
        self.audit_with(machine, context, Offers::default())
    }

    /// Like [`Rules::audit`], with further inputs from the caller.
    pub fn audit_with(&self, machine: &dyn Machine, context: &Context, offers: Offers) -> Vec<Finding> {
        let memo = Memo::new(machine);
        let sight = self.sight(&memo, context, offers);
        let mut findings: Vec<Finding> = self.rules.iter().map(|rule| self.judge(rule, &sight)).collect();
        if findings.iter().any(|finding| finding.id == "virt-container" && finding.state == State::Warn) {
            self.rules.iter().zip(&mut findings).for_each(|(rule, finding)| rule.refer_to_host(finding));
        }
        findings
    }

    pub(crate) fn sight<'m>(&'m self, machine: &'m dyn Machine, context: &'m Context, offers: Offers<'m>) -> Sight<'m> {
        Sight::new(machine, context, (&self.sources, &self.commons), offers)
    }

    /// Loads a user's profile; `name` is for messages. Returns the built-in profile it extends, with which the caller
    /// then runs the audit.
    ///
    /// # Errors
    /// The first error, with line and column: unknown keys, rules or states, invalid dates or rules.
    pub fn extend(&mut self, name: &str, text: &str, today: Today) -> Result<Profile, ProfileFileError> {
        let Own { base, requests, rules } = Own::parse(name, text, self)?;
        for rule in rules {
            self.own_ids.insert(rule.id.clone());
            match self.rules.iter_mut().find(|other| other.id == rule.id) {
                Some(other) => *other = rule,
                None => self.rules.push(rule),
            }
        }
        self.own = Some((requests, today));
        Ok(base)
    }

    /// Returns true for a rule of the user's profile.
    pub fn is_own(&self, id: &str) -> bool {
        self.own_ids.contains(id)
    }

    /// Sets the description of an imported profile, whose requests have already been added as rules.
    pub(crate) fn describe_own(&mut self, description: String, today: Today) {
        self.own = Some((Adjustments { description, ..Adjustments::default() }, today));
    }

    pub fn describe(&self, profile: Profile) -> &str {
        self.profiles.get(&profile).map_or("", |requests| requests.description.as_str())
    }

    /// Returns the severity of a FAIL: from the user's profile, else from the built-in profile, else from the rule.
    pub fn severity(&self, rule: &Rule, profile: Profile) -> Severity {
        let own = self.own.as_ref().map(|(requests, _)| requests);
        let built_in = self.profiles.get(&profile);
        let said = own.into_iter().chain(built_in).find_map(|requests| requests.severity.get(&rule.id).copied());
        let severity = said.unwrap_or_else(|| rule.severity_for(profile));
        let caps = own.into_iter().chain(built_in).filter_map(|requests| requests.at_most);
        caps.fold(severity, |severity, cap| severity.min(cap))
    }

    fn judge(&self, rule: &Rule, sight: &Sight) -> Finding {
        let mut finding = judge(rule, self.severity(rule, sight.context.profile), sight);
        let suppression = self.own.as_ref().and_then(|(requests, today)| requests.suppression(&rule.id, *today));
        if let Some(suppression) = suppression.filter(|_| matches!(finding.state, State::Fail | State::Warn)) {
            finding.summary = suppression.sentence(&finding);
            if suppression.is_in_force {
                finding.state = State::Skip;
                finding.fix = None;
            }
        }
        finding
    }

    pub fn audit_one(&self, id: &str, machine: &dyn Machine, context: &Context, offers: Offers) -> Option<Finding> {
        let sight = Sight::new(machine, context, (&self.sources, &self.commons), offers);
        self.get(id).map(|rule| self.judge(rule, &sight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn text(file: &str) -> String {
        fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn every_file_is_listed_and_reads() {
        let listed: Vec<String> = text("rules.txt").lines().map(str::to_owned).collect();
        let files: Vec<(String, String)> =
            listed.iter().map(|id| (format!("rules/{id}.toml"), text(&format!("rules/{id}.toml")))).collect();
        let (sources, gates) = (text("sources.toml"), text("gates.toml"));
        let read = |file: &[(&str, &str)]| Rules::parse(file, ("sources.toml", &sources), ("gates.toml", &gates));
        let wrong: Vec<String> =
            files.iter().filter_map(|(name, text)| read(&[(name, text)]).err()).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let rules = Rules::embedded();
        assert_eq!(rules.iter().count(), files.len());
        let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/rules")).unwrap();
        let mut there: Vec<String> =
            folder.map(|entry| entry.unwrap().file_name().to_string_lossy().replace(".toml", "")).collect();
        let mut listed = listed;
        there.sort();
        listed.sort();
        assert_eq!(there, listed);
    }

    #[test]
    fn every_fault_says_what_to_do() {
        for rule in Rules::embedded().iter() {
            let faults = rule.cases.iter().filter(|case| case.state == punctual_model::State::Fail);
            for case in faults {
                assert!(case.fix.as_ref().unwrap_or(&rule.fix).line().is_some(), "{}: {}", rule.id, case.say);
            }
        }
    }
}
