//! Formats the result of an audit for other programs: SARIF 2.1.0, JUnit, Markdown.

use super::audited::Audited;
use super::text;
use crate::terminal::harmless;
use punctual_formats::{About, Cases};
use punctual_model::{Finding, State};

/// Formats SARIF. Each rule becomes a `rule`, each finding a `result`; a finding whose values could not be read has
/// kind `open`, which is not a pass.
pub fn sarif(audited: &Audited) -> String {
    punctual_formats::sarif(&audited.findings, Some(env!("CARGO_PKG_VERSION")))
}

/// Returns one test case per rule.
pub fn cases(audited: &Audited) -> Cases {
    let tool = concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned();
    Cases::of_findings(About { tool, host: Some(audited.machine.clone()), ..About::default() }, &audited.findings)
}

/// Formats a table of the findings that need attention, or of all findings.
pub fn markdown(audited: &Audited, all: bool) -> String {
    let cell =
        |text: &str| harmless(text).replace('&', "&amp;").replace('|', "\\|").replace('\n', " ").replace('<', "&lt;");
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
