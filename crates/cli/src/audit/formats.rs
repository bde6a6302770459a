//! The audit for other programs: SARIF 2.1.0, JUnit, Markdown.

use super::{Audited, text};
use crate::terminal::harmless;
use punctual_model::{Finding, Severity, State};
use serde_json::{Value, json};

const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Each rule is a `rule`, each finding a `result`; what could not be read has kind `open`, which is no pass.
pub fn sarif(audited: &Audited) -> String {
    let rule = |finding: &Finding| {
        json!({
            "id": finding.id,
            "shortDescription": { "text": finding.id.replace('-', " ") },
            "fullDescription": { "text": finding.why },
            "properties": { "group": finding.group, "severity": finding.severity },
        })
    };
    let document = json!({
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "punctual",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": audited.findings.iter().map(rule).collect::<Vec<Value>>(),
            } },
            "results": audited.findings.iter().enumerate().map(result).collect::<Vec<Value>>(),
        }],
    });
    format!("{document:#}\n")
}

fn result((at, finding): (usize, &Finding)) -> Value {
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
    let location = |evidence: &punctual_model::Evidence| {
        let path = evidence.source.split([' ', ':', ',']).next().unwrap_or_default().replace('*', "%2A");
        json!({ "physicalLocation": { "artifactLocation": { "uri": path } }, "message": { "text": evidence.value } })
    };
    let files = finding.evidence.iter().filter(|evidence| evidence.source.starts_with('/'));
    json!({
        "ruleId": finding.id,
        "ruleIndex": at,
        "kind": kind,
        "level": level,
        "message": { "text": message(finding) },
        "locations": files.map(location).collect::<Vec<Value>>(),
        "properties": { "state": finding.state },
    })
}

fn message(finding: &Finding) -> String {
    match &finding.fix {
        Some(fix) => format!("{}. Fix: {fix}", finding.summary),
        None => finding.summary.clone(),
    }
}

/// One test case a rule: FAIL is a failure, what could not be read an error, SKIP skipped.
pub fn junit(audited: &Audited) -> String {
    let count = |states: &[State]| audited.findings.iter().filter(|f| states.contains(&f.state)).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"punctual audit\" tests=\"{}\" failures=\"{}\" \
         errors=\"{}\" skipped=\"{}\">\n",
        audited.findings.len(),
        count(&[State::Fail]),
        count(&[State::Blocked, State::Unknown]),
        count(&[State::Skip]),
    );
    for finding in &audited.findings {
        let said = xml(&message(finding));
        let inside = match finding.state {
            State::Fail => format!("<failure type=\"{:?}\" message=\"{said}\"/>", finding.severity),
            State::Blocked | State::Unknown => format!("<error type=\"{:?}\" message=\"{said}\"/>", finding.state),
            State::Skip => format!("<skipped message=\"{said}\"/>"),
            _ => format!("<system-out>{:?}: {said}</system-out>", finding.state),
        };
        let (id, group) = (xml(&finding.id), xml(&finding.group));
        out.push_str(&format!("  <testcase classname=\"{group}\" name=\"{id}\">{inside}</testcase>\n"));
    }
    out + "</testsuite>\n"
}

/// XML 1.0 knows no control characters, not even escaped.
fn xml(text: &str) -> String {
    let clean = harmless(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    clean.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\n', " ")
}

/// A table of what is not in order, or of all.
pub fn markdown(audited: &Audited, all: bool) -> String {
    let cell = |text: &str| harmless(text).replace('|', "\\|").replace('\n', " ").replace('<', "&lt;");
    let mut out = "| state | severity | rule | found | fix |\n|---|---|---|---|---|\n".to_owned();
    let is_shown = |finding: &&Finding| all || !matches!(finding.state, State::Pass | State::Skip | State::Info);
    for finding in audited.findings.iter().filter(is_shown) {
        let fix = finding.fix.as_deref().map(cell).unwrap_or_default();
        let (state, severity) = (format!("{:?}", finding.state), format!("{:?}", finding.severity));
        let found = cell(&finding.summary);
        out.push_str(&format!("| {} | {} | {} | {found} | {fix} |\n", state.to_uppercase(), severity, finding.id));
    }
    format!("{out}\n{}\n", cell(&text::summary(audited)))
}
