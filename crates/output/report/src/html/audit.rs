use super::write::{details, esc, prose};
use crate::clean;
use crate::number::plural;
use crate::words;
use punctual_model::{Evidence, Finding, Severity, State};
use punctual_units::Arrange;

/// Formats the most important failures first; collapsed parts contain the other findings that need attention and, in
/// brief, all remaining findings.
pub fn findings(all: &[Finding]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&Finding> = all.iter().collect();
    sorted.arrange_by_key(|f| (rank(f.state), std::cmp::Reverse(f.severity)));
    let (open, quiet): (Vec<&Finding>, Vec<&Finding>) = sorted.into_iter().partition(|f| rank(f.state) < 4);
    let is_grave = |f: &&Finding| f.state == State::Fail && f.severity >= Severity::High;
    let (grave, open): (Vec<&Finding>, Vec<&Finding>) = open.into_iter().partition(is_grave);
    let part = |found: &[&Finding], what: &str, content: fn(&[&Finding]) -> String| match found {
        [] => String::new(),
        some => details(&format!("{} {what}", plural(some.len() as u64, "rule", "rules")), &content(some)),
    };
    let shown = if grave.is_empty() { String::new() } else { table(&grave) };
    format!(
        "<p>{}{shown}{}{}",
        counts(all),
        part(&open, "that fail at lower severity, warn or could not be judged", table),
        part(&quiet, "that pass, inform or do not apply", names)
    )
}

/// Ranks the states of findings: failures first, and unreadable data before passed rules.
fn rank(state: State) -> u8 {
    match state {
        State::Fail => 0,
        State::Warn => 1,
        State::Blocked => 2,
        State::Unknown => 3,
        State::Info => 4,
        State::Pass => 5,
        State::Skip => 6,
    }
}

fn counts(all: &[Finding]) -> String {
    let states = [State::Fail, State::Warn, State::Blocked, State::Unknown, State::Info, State::Pass, State::Skip];
    let one = |state: State| {
        let n = all.iter().filter(|f| f.state == state).count();
        (n > 0).then(|| format!("{} {n}", chip(state)))
    };
    states.into_iter().filter_map(one).collect::<Vec<_>>().join(" ")
}

fn chip(state: State) -> String {
    let (class, mark, word) = match state {
        State::Fail => ("fail", "✖", "FAIL"),
        State::Warn => ("open", "!", "WARN"),
        State::Blocked => ("open", "?", "BLOCKED"),
        State::Unknown => ("open", "?", "UNKNOWN"),
        State::Info => ("info", "i", "INFO"),
        State::Pass => ("pass", "✔", "PASS"),
        State::Skip => ("info", "–", "SKIP"),
    };
    format!("<span class=\"chip {class}\">{mark} {word}</span>")
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Off => "off",
        Severity::Info => "info",
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Fatal => "fatal",
    }
}

/// Lists rules by state; `punctual audit --full` shows their findings.
fn names(findings: &[&Finding]) -> String {
    let one = |state: State| {
        let named = findings.iter().filter(|f| f.state == state).map(|f| format!("<code>{}</code>", esc(&f.id)));
        let named: Vec<String> = named.collect();
        if named.is_empty() { String::new() } else { format!("<p>{} {}", chip(state), named.join(" ")) }
    };
    [State::Info, State::Pass, State::Skip].map(one).concat()
}

fn table(findings: &[&Finding]) -> String {
    let rows: String = findings.iter().map(|f| row(f)).collect();
    format!(
        "<div class=\"scroll\"><table class=\"texts cards audit\"><thead><tr><th>state<th>severity<th>rule<th>found, why it matters, what to \
         do<tbody>{rows}</table></div>"
    )
}

fn row(finding: &Finding) -> String {
    let fix = finding.fix.as_ref().map(|f| format!("<pre>{}</pre>", esc(f))).unwrap_or_default();
    let why = match finding.why.is_empty() {
        true => String::new(),
        false => format!("<p class=\"quiet\">{}", prose(&words::stopped(&finding.why))),
    };
    format!(
        "<tr><td>{}<td>{}<td><code>{}</code><small>{}</small><td><p>{}{why}{fix}{}",
        chip(finding.state),
        severity(finding.severity),
        esc(&finding.id),
        esc(&finding.group),
        prose(&words::stopped(&finding.summary)),
        finding.evidence.iter().map(evidence).collect::<String>()
    )
}

fn evidence(evidence: &Evidence) -> String {
    format!("<small>{}: {}</small>", esc(&evidence.source), esc(&clean::clip(&evidence.value, 300)))
}
