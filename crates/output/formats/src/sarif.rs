//! SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format): audit findings for code scanning.

use punctual_clean as clean;
use punctual_model::{Check, CheckFinding, Evidence, Finding, Severity, State};
use punctual_report::json_text;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Writes each rule as a `rule` and each finding as a `result`. Unreadable data has the kind `open`, which is not a
/// pass. `version` is the version of the auditing program.
pub fn sarif(findings: &[Finding], version: Option<&str>) -> String {
    // Rules must be unique (§3.19.23), but an external recording may contain one twice.
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rules: Vec<Value> = Vec::new();
    for finding in findings {
        at.entry(&finding.id).or_insert_with(|| {
            rules.push(rule(finding));
            rules.len() - 1
        });
    }
    let mut driver = json!({"name": "punctual", "rules": rules});
    if let Some(version) = version {
        driver["version"] = clean::line(version).into();
    }
    let results: Vec<Value> = findings.iter().map(|f| result(at.get(f.id.as_str()).copied().unwrap_or(0), f)).collect();
    json_text(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }))
}

fn rule(finding: &Finding) -> Value {
    let id = clean::line(&finding.id);
    json!({
        "id": id,
        "shortDescription": { "text": said(&id.replace('-', " ")) },
        "fullDescription": { "text": said(&finding.why) },
        "properties": { "group": clean::line(&finding.group), "severity": finding.severity },
    })
}

fn result(at: usize, finding: &Finding) -> Value {
    let (kind, level) = match (finding.state, finding.severity) {
        (State::Fail, Severity::Fatal | Severity::High) => ("fail", "error"),
        (State::Fail, Severity::Medium) => ("fail", "warning"),
        (State::Fail, _) => ("fail", "note"),
        (State::Warn, _) => ("review", "none"),
        (State::Info, _) => ("informational", "none"),
        (State::Pass, _) => ("pass", "none"),
        (State::Skip, _) => ("notApplicable", "none"),
        (State::Blocked | State::Unknown, _) => ("open", "none"),
    };
    let text = match &finding.fix {
        Some(fix) => format!("{}. Fix: {fix}", finding.summary),
        None => finding.summary.clone(),
    };
    json!({
        "ruleId": clean::line(&finding.id),
        "ruleIndex": at,
        "kind": kind,
        "level": level,
        "message": { "text": said(&text) },
        "locations": finding.evidence.iter().filter_map(location).collect::<Vec<Value>>(),
        "properties": { "state": finding.state },
    })
}

/// Returns the text of a message, which must not be empty and in which `{0}`, `[…](…)` and `\` are special (§3.11.5,
/// §3.11.6).
fn said(text: &str) -> String {
    let clean = clean::line(text);
    let mut out = String::with_capacity(clean.len());
    for c in clean.chars() {
        match c {
            '\\' | '[' | ']' => out.extend(['\\', c]),
            '{' | '}' => out.extend([c, c]),
            c => out.push(c),
        }
    }
    if out.trim().is_empty() { "(no message)".into() } else { out }
}

/// Returns a file of the machine, or a line of a source file (`path:42`); `None` for other evidence.
fn location(evidence: &Evidence) -> Option<Value> {
    let is_line = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let line = evidence
        .source
        .rsplit_once(':')
        .map(|(_, line)| line)
        .filter(is_line)
        .and_then(|line| line.parse::<u32>().ok());
    let path = match line {
        Some(_) => evidence.source.rsplit_once(':').map(|(path, _)| path),
        None => evidence.source.split([' ', ':', ',']).next().filter(|path| path.starts_with('/')),
    }?;
    let mut physical = json!({ "artifactLocation": { "uri": uri(path) } });
    // Lines are counted from 1 (§3.30.5).
    if let Some(line) = line.filter(|line| *line > 0) {
        physical["region"] = json!({ "startLine": line });
    }
    Some(json!({ "physicalLocation": physical, "message": { "text": said(&evidence.value) } }))
}

/// Writes the findings of a check, with the source lines of the program. Paths below `here`, the top of a checkout, are
/// relative to it, as code scanning requires. Findings in the baseline are suppressed.
pub fn check_sarif(check: &Check, here: &Path, version: &str) -> String {
    let relative = |one: &CheckFinding| {
        let mut finding = one.finding.clone();
        for evidence in &mut finding.evidence {
            if let Ok(path) = Path::new(&evidence.source).strip_prefix(here) {
                evidence.source = path.to_string_lossy().into_owned();
            }
        }
        if one.is_known {
            finding.state = State::Info;
        }
        finding
    };
    let unseen = check.sources.iter().filter_map(|source| {
        Some(Finding {
            id: "not-observed".into(),
            group: "Sources".into(),
            severity: Severity::Medium,
            state: State::Unknown,
            summary: format!("{}: {}", source.name, source.missing.as_ref()?),
            evidence: Vec::new(),
            why: "What was not observed cannot pass.".into(),
            fix: None,
        })
    });
    let findings: Vec<Finding> = check.findings.iter().map(relative).chain(unseen).collect();
    sarif(&findings, Some(version))
}

/// Converts a path to a URI reference (RFC 3986), percent-encoded. It never starts with `//`, which would introduce a
/// host.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' if out == "/" => {}
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            b if b.is_ascii_alphanumeric() => out.push(char::from(b)),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_references_that_name_no_host() {
        assert_eq!(uri("/sys/devices/cpu*/x y"), "/sys/devices/cpu%2A/x%20y");
        assert_eq!(uri("//evil.example/x"), "/evil.example/x");
        assert_eq!(uri("/a\n\"µ"), "/a%0A%22%C2%B5");
    }

    #[test]
    fn a_line_of_a_source_is_a_region() {
        let at = |source: &str| location(&Evidence { source: source.into(), value: "step".into() });
        let found = at("src/loop.c:42").unwrap();
        assert_eq!(found["physicalLocation"]["region"]["startLine"], 42);
        assert_eq!(found["physicalLocation"]["artifactLocation"]["uri"], "src/loop.c");
        assert!(at("/proc/cmdline").unwrap()["physicalLocation"].get("region").is_none());
        assert_eq!(at("sched_getattr(2)"), None);
    }

    #[test]
    fn nothing_in_a_message_is_a_placeholder_or_a_link() {
        assert_eq!(said("{0} [x](y) \\"), "{{0}} \\[x\\](y) \\\\");
        assert_eq!(said(" "), "(no message)");
    }
}
