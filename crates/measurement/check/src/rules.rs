//! The rules: one file each under `rules/`.

use punctual_model::Severity;
use serde::Deserialize;
use std::sync::OnceLock;

/// The subject of a rule, why it matters, and the alternative.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub id: String,
    /// The event, for example `page fault`.
    pub title: String,
    /// Severity within a cycle.
    pub severity: Severity,
    /// Severity in a real-time thread outside of its cycles, or without cycles.
    pub outside: Severity,
    pub why: String,
    pub instead: String,
    /// References: manual pages, kernel documentation, web pages.
    pub sources: Vec<String>,
}

const FILES: [(&str, &str); 27] = [
    ("page-fault", include_str!("../rules/page-fault.toml")),
    ("major-fault", include_str!("../rules/major-fault.toml")),
    ("allocation", include_str!("../rules/allocation.toml")),
    ("memory-map", include_str!("../rules/memory-map.toml")),
    ("file-io", include_str!("../rules/file-io.toml")),
    ("socket-io", include_str!("../rules/socket-io.toml")),
    ("output", include_str!("../rules/output.toml")),
    ("relative-sleep", include_str!("../rules/relative-sleep.toml")),
    ("period-drifts", include_str!("../rules/period-drifts.toml")),
    ("sleep-until", include_str!("../rules/sleep-until.toml")),
    ("realtime-clock", include_str!("../rules/realtime-clock.toml")),
    ("sched-yield", include_str!("../rules/sched-yield.toml")),
    ("new-thread", include_str!("../rules/new-thread.toml")),
    ("lock-without-pi", include_str!("../rules/lock-without-pi.toml")),
    ("lock-shared", include_str!("../rules/lock-shared.toml")),
    ("waits-for-less-urgent", include_str!("../rules/waits-for-less-urgent.toml")),
    ("blocking-call", include_str!("../rules/blocking-call.toml")),
    ("woken-by-less-urgent", include_str!("../rules/woken-by-less-urgent.toml")),
    ("policy-inherited", include_str!("../rules/policy-inherited.toml")),
    ("affinity-missing", include_str!("../rules/affinity-missing.toml")),
    ("migration", include_str!("../rules/migration.toml")),
    ("timer-slack", include_str!("../rules/timer-slack.toml")),
    ("memory-not-locked", include_str!("../rules/memory-not-locked.toml")),
    ("overrun", include_str!("../rules/overrun.toml")),
    ("never-waits", include_str!("../rules/never-waits.toml")),
    ("order", include_str!("../rules/order.toml")),
    ("no-real-time-thread", include_str!("../rules/no-real-time-thread.toml")),
];

/// Returns all rules, in the order in which they are documented.
pub fn rules() -> &'static [Rule] {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    // A file that is not a valid rule fails the test below.
    RULES.get_or_init(|| FILES.iter().filter_map(|(_, text)| toml::from_str(text).ok()).collect())
}

pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().iter().find(|rule| rule.id == id)
}

/// Returns the text of `--explain ID`; `None` if there is no such rule.
pub fn explain(id: &str) -> Option<String> {
    let rule = rule(id)?;
    let severity = |severity: Severity| format!("{severity:?}").to_lowercase();
    Some(format!(
        "{}: {}\n\n  severity  {} within a cycle, {} otherwise\n  why       {}\n  instead   {}\n  sources   {}\n",
        rule.id,
        rule.title,
        severity(rule.severity),
        severity(rule.outside),
        rule.why,
        rule.instead,
        rule.sources.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_rule_of_its_name() {
        for (name, text) in FILES {
            let rule: Rule = toml::from_str(text).unwrap();
            assert_eq!(rule.id, name);
            assert!(!rule.sources.is_empty() && rule.severity >= rule.outside, "{name}");
            assert!(explain(name).unwrap().contains(&rule.instead));
        }
        assert_eq!(rules().len(), FILES.len());
        assert_eq!(std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/rules")).unwrap().count(), FILES.len());
        assert!(explain("none").is_none());
    }
}
