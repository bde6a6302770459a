//! Profiles. Built-in ones are files under `profiles/`; a user's own extends one of them.
//!
//! ```toml
//! extends = "dedicated-core"      # a built-in profile
//! description = "the arm's joint controller"
//! at_most = "medium"              # optional: caps the severity of every FAIL
//!
//! [severity]                      # optional: fatal, high, medium, low, info, off
//! cpu-smt = "off"
//!
//! [[suppress]]                    # optional, several
//! rule = "mem-swap"
//! reason = "the loop locks all its memory"
//! until = "2027-01-31"            # the last day on which it is effective
//!
//! [[rule]]                        # optional, several: additional rules, or replacements of rules with the same id
//! ```

use crate::rule::{Mistake, Rule, check};
use crate::{Profile, Rules};
use punctual_model::{Finding, Severity};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Today's date, used to find expired suppressions. The caller supplies it, because this crate does not read the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Today {
    year: u16,
    month: u8,
    day: u8,
}

impl TryFrom<String> for Today {
    type Error = String;

    fn try_from(text: String) -> Result<Today, String> {
        let wrong = || format!("`{text}` is not a date such as 2027-01-31");
        let parts: Vec<&str> = text.split('-').collect();
        let [year, month, day] = parts.as_slice() else { return Err(wrong()) };
        let digits = |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
        if !(digits(year, 4) && digits(month, 2) && digits(day, 2)) {
            return Err(wrong());
        }
        match (year.parse(), month.parse(), day.parse()) {
            (Ok(year), Ok(month @ 1..=12), Ok(day @ 1..=31)) => Ok(Today { year, month, day }),
            _ => Err(wrong()),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adjustments {
    #[serde(default)]
    pub description: String,
    pub at_most: Option<Severity>,
    #[serde(default)]
    pub severity: BTreeMap<String, Severity>,
    #[serde(default)]
    pub suppress: Vec<Suppress>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suppress {
    rule: String,
    reason: String,
    until: Today,
}

pub(crate) struct Suppression<'a> {
    suppress: &'a Suppress,
    pub is_in_force: bool,
}

impl Suppression<'_> {
    pub fn sentence(&self, finding: &Finding) -> String {
        let Suppress { reason, until, .. } = self.suppress;
        let Today { year, month, day } = until;
        let state = format!("{:?}", finding.state).to_uppercase();
        if self.is_in_force {
            format!("suppressed until {year}-{month:02}-{day:02} ({reason}); otherwise {state}: {}", finding.summary)
        } else {
            format!("{} (suppressed until {year}-{month:02}-{day:02}, which has passed: {reason})", finding.summary)
        }
    }
}

impl Adjustments {
    pub fn suppression(&self, rule: &str, today: Today) -> Option<Suppression<'_>> {
        let suppress = self.suppress.iter().find(|suppress| suppress.rule == rule)?;
        Some(Suppression { suppress, is_in_force: today <= suppress.until })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ProfileFileError {
    pub file: String,
    pub line: usize,
    /// Column of the error, in characters; line and column count from 1.
    pub column: usize,
    pub message: String,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    extends: Profile,
    #[serde(default)]
    description: String,
    at_most: Option<Severity>,
    #[serde(default)]
    severity: BTreeMap<String, Severity>,
    #[serde(default)]
    suppress: Vec<Suppress>,
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
}

pub(crate) struct Own {
    pub base: Profile,
    pub requests: Adjustments,
    pub rules: Vec<Rule>,
}

impl Own {
    pub fn parse(file: &str, text: &str, known: &Rules) -> Result<Own, ProfileFileError> {
        let at = |offset: usize, message: String| {
            let before = text.get(..offset).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            ProfileFileError { file: file.to_owned(), line, column, message }
        };
        let near = |word: &str, message| at(text.find(word).unwrap_or(0), message);
        let Written { extends, description, at_most, severity, suppress, rules } = toml::from_str(text)
            .map_err(|error| at(error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
        for rule in &rules {
            check(rule, &known.sources, &known.commons)
                .map_err(|Mistake { near: word, message }| near(&word, format!("rule {}: {message}", rule.id)))?;
        }
        let named = severity.keys().chain(suppress.iter().map(|suppress| &suppress.rule));
        let is_known = |id: &String| known.get(id).is_some() || rules.iter().any(|rule| rule.id == *id);
        if let Some(id) = named.into_iter().find(|id| !is_known(id)) {
            return Err(near(id, format!("no rule is named `{id}`")));
        }
        if let Some(blank) = suppress.iter().find(|suppress| suppress.reason.trim().is_empty()) {
            return Err(near(&blank.rule, "a suppression needs a reason".to_owned()));
        }
        Ok(Own { base: extends, requests: Adjustments { description, at_most, severity, suppress }, rules })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn today() -> Today {
        Today::try_from("2026-11-21".to_owned()).unwrap()
    }

    fn error(text: &str) -> String {
        Rules::load().extend("my.toml", text, today()).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_named_with_line_and_column() {
        for (text, at, part) in [
            ("extends = \"nothing\"\n", "my.toml:1:11", "nothing"),
            ("extends = \"busy-poll\"\nsevere = 1\n", "my.toml:2:1", "severe"),
            ("extends = \"busy-poll\"\n[severity]\ncpu-smt = \"bad\"\n", "my.toml:3:11", "bad"),
            ("extends = \"busy-poll\"\n[severity]\nno-rule = \"low\"\n", "my.toml:3:1", "no rule is named `no-rule`"),
            (
                "extends = \"busy-poll\"\n[[suppress]]\nrule = \"mem-swap\"\nreason = \"x\"\nuntil = \"soon\"\n",
                "",
                "soon",
            ),
            ("", "my.toml:1:1", "extends"),
        ] {
            let error = error(text);
            assert!(error.starts_with(at) && error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn severities_and_suppressions_hold() {
        let mut rules = Rules::load();
        let text = "extends = \"busy-poll\"\nat_most = \"medium\"\n[severity]\ncpu-smt = \"off\"\n[[suppress]]\nrule = \
                    \"mem-swap\"\nreason = \"locked\"\nuntil = \"2026-11-21\"\n";
        assert_eq!(rules.extend("my.toml", text, today()), Ok(Profile::BusyPoll));
        let severity = |id: &str| rules.severity(rules.get(id).unwrap(), Profile::BusyPoll);
        assert_eq!((severity("cpu-smt"), severity("kernel-preempt-rt")), (Severity::Off, Severity::Medium));
        let (requests, day) = rules.own.as_ref().unwrap();
        assert!(requests.suppression("mem-swap", *day).unwrap().is_in_force);
        let later = Today::try_from("2026-11-22".to_owned()).unwrap();
        assert!(!requests.suppression("mem-swap", later).unwrap().is_in_force);
    }

    #[test]
    fn every_built_in_profile_has_a_file_that_names_rules() {
        let rules = Rules::embedded();
        for (profile, name) in Profile::ALL {
            assert!(!rules.describe(profile).is_empty(), "{name}");
            let ids = rules.profiles[&profile].severity.keys();
            assert!(ids.into_iter().all(|id| rules.get(id).is_some()), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,200}") {
            let _ = Own::parse("x", &text, Rules::embedded());
        }
    }
}
