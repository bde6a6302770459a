//! Findings of an audit for a terminal: subject and state, why it matters, what to do.

use super::page::{Page, TextStyle, Tint};
use crate::number::count;
use crate::words;
use punctual_model::{Finding, Severity, State};
use punctual_units::Arrange;

/// In a report of a run.
const SHOWN: usize = 5;

/// The order of states.
const ORDER: [State; 7] =
    [State::Fail, State::Warn, State::Blocked, State::Unknown, State::Info, State::Pass, State::Skip];

fn of(findings: &[Finding], state: State) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(move |finding| finding.state == state)
}

fn tint(state: State) -> Tint {
    match state {
        State::Fail => Tint::Bad,
        State::Warn | State::Blocked | State::Unknown => Tint::Warn,
        State::Pass => Tint::Good,
        State::Info | State::Skip => Tint::Plain,
    }
}

/// Findings by state, each by severity; `all` shows what is in order, too. Ends in a newline.
pub fn list(findings: &[Finding], all: bool, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let shown = if all { &ORDER[..] } else { &ORDER[..2] };
    for state in shown {
        let mut findings: Vec<&Finding> = of(findings, *state).collect();
        findings.arrange_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings.iter().for_each(|finding| one(&mut page, finding));
    }
    if !all {
        unread(&mut page, findings);
    }
    page.finish()
}

fn one(page: &mut Page, finding: &Finding) {
    let state = format!("{:?}", finding.state).to_uppercase();
    let severity = format!("{:?}", finding.severity).to_lowercase();
    let tag = format!("{state:<7} {severity:<6} ");
    page.tagged(&tag, tint(finding.state), &format!("{}: {}", finding.id, finding.summary));
    let is_open = matches!(finding.state, State::Fail | State::Warn);
    // Who disagrees is told by --explain.
    let why = finding.why.split(" Authorities differ: ").next().unwrap_or_default();
    if is_open && !why.is_empty() {
        page.tagged("               why: ", Tint::Plain, why);
    }
    if let Some(fix) = &finding.fix {
        page.tagged("               fix: ", Tint::Plain, fix);
    }
}

/// One line of what could not be judged.
fn unread(page: &mut Page, findings: &[Finding]) {
    for (state, why) in [(State::Blocked, "BLOCKED (permission or lockdown)"), (State::Unknown, "UNKNOWN")] {
        let ids: Vec<&str> = of(findings, state).map(|finding| finding.id.as_str()).collect();
        if !ids.is_empty() {
            page.tagged(&format!("{why}: "), tint(state), &ids.join(", "));
        }
    }
}

/// The worst findings of a run, and how many others there are.
pub(super) fn section(page: &mut Page, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    let mut grave: Vec<&Finding> = of(findings, State::Fail).filter(|f| f.severity >= Severity::High).collect();
    grave.arrange_by_key(|f| std::cmp::Reverse(f.severity));
    grave.truncate(SHOWN);
    let number = |state: State| of(findings, state).count();
    let (fail, warn) = (number(State::Fail), number(State::Warn));
    page.heading("Audit");
    let counts = [
        (number(State::Pass), "pass"),
        (fail, "fail"),
        (warn, "warn"),
        (number(State::Blocked) + number(State::Unknown), "not read"),
        (number(State::Info), "for information"),
        (number(State::Skip), "do not apply"),
    ];
    let counts: Vec<String> = counts.iter().map(|(n, what)| format!("{n} {what}")).collect();
    page.tagged("  ", Tint::Plain, &format!("{} rules: {}.", count(findings.len() as u64), counts.join(", ")));
    for finding in &grave {
        let tag = if finding.severity == Severity::Fatal { "  FAIL fatal  " } else { "  FAIL high   " };
        page.tagged(tag, Tint::Bad, &format!("{}: {}", finding.id, words::stopped(&finding.summary)));
        if let Some(fix) = &finding.fix {
            page.tagged("              fix: ", Tint::Plain, fix);
        }
    }
    rest(page, fail - grave.len(), warn);
}

/// Where the findings are that are counted and not listed.
fn rest(page: &mut Page, fail: usize, warn: usize) {
    let parts = [(fail, "more FAIL"), (warn, "WARN")];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !parts.is_empty() {
        let text = format!("Not listed here: {}; `punctual report RUN --format html` has all.", parts.join(", "));
        page.tagged("  ", Tint::Plain, &text);
    }
}
