//! The audit for a terminal: what fails first, then what could not be read, then the rest.

use super::audited::Audited;
use crate::terminal;
use punctual_model::{Finding, State};
use punctual_units::Arrange;

/// The order of states.
const ORDER: [State; 7] =
    [State::Fail, State::Warn, State::Blocked, State::Unknown, State::Info, State::Pass, State::Skip];

/// Findings by state, each by severity; `all` shows what is in order, too.
pub fn text(audited: &Audited, all: bool) -> String {
    let shown = if all { &ORDER[..] } else { &ORDER[..2] };
    let mut out = String::new();
    for state in shown {
        let mut findings: Vec<&Finding> = audited.findings.iter().filter(|f| f.state == *state).collect();
        findings.arrange_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings.iter().for_each(|finding| out.push_str(&line(finding)));
    }
    if !all {
        out.push_str(&unread(&audited.findings));
    }
    out.push_str(&format!("\n{}\n", summary(audited)));
    terminal::harmless(&out)
}

fn line(finding: &Finding) -> String {
    let state = format!("{:?}", finding.state).to_uppercase();
    let severity = format!("{:?}", finding.severity).to_lowercase();
    let mut line = format!("{state:<7} {severity:<6} {}: {}\n", finding.id, finding.summary);
    if let Some(fix) = &finding.fix {
        line.push_str(&format!("               fix: {fix}\n"));
    }
    line
}

/// One line of what could not be judged.
fn unread(findings: &[Finding]) -> String {
    let of = |state: State| findings.iter().filter(|f| f.state == state).map(|f| f.id.as_str()).collect::<Vec<_>>();
    let mut out = String::new();
    for (state, why) in [(State::Blocked, "BLOCKED (permission or lockdown)"), (State::Unknown, "UNKNOWN")] {
        let ids = of(state);
        if !ids.is_empty() {
            out.push_str(&format!("{why}: {}\n", ids.join(", ")));
        }
    }
    out
}

/// How many came out how.
pub fn summary(audited: &Audited) -> String {
    let count = |state: State| audited.findings.iter().filter(|f| f.state == state).count();
    let counts: Vec<String> =
        ORDER.iter().map(|state| format!("{} {}", count(*state), format!("{state:?}").to_uppercase())).collect();
    let context = &audited.context;
    let cpus = if context.cpus.is_empty() { String::new() } else { format!(" on CPU {}", context.cpus) };
    format!(
        "{} rules on {} for {}, {}{cpus}: {}",
        audited.findings.len(),
        audited.machine,
        context.profile,
        context.scheduling,
        counts.join(", ")
    )
}
