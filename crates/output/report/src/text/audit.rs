//! Formats the findings of an audit for a terminal: subject and state, why it matters, what to do.

use super::page::{Page, TextStyle, Tint};
use crate::number::count;
use crate::words;
use punctual_model::{Finding, Severity, State};
use punctual_units::Arrange;

/// Maximum number of findings in the report of a run.
const SHOWN: usize = 5;

/// Order in which the states of findings are listed.
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

/// Selects how much of the findings is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Failures and warnings, one line each, at most this many.
    Brief(usize),
    /// Failures and warnings with reason and fix.
    Full,
    /// All findings, including those that pass.
    All,
}

/// Formats findings ordered by state, and within a state by severity. The text ends in a newline.
pub fn list(findings: &[Finding], listing: Listing, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let shown = if listing == Listing::All { &ORDER[..] } else { &ORDER[..2] };
    let mut sorted: Vec<&Finding> = Vec::new();
    for state in shown {
        let from = sorted.len();
        sorted.extend(of(findings, *state));
        sorted[from..].arrange_by_key(|finding| std::cmp::Reverse(finding.severity));
    }
    match listing {
        Listing::Brief(most) => {
            sorted.iter().take(most).for_each(|f| page.beside(&tag(f), tint(f.state), &subject(f)));
            rest(&mut page, &sorted[most.min(sorted.len())..]);
        }
        Listing::Full | Listing::All => sorted.iter().for_each(|finding| one(&mut page, finding)),
    }
    if listing != Listing::All {
        unread(&mut page, findings, listing != Listing::Full);
    }
    not_given(&mut page, findings, listing);
    page.finish()
}

fn tag(finding: &Finding) -> String {
    let state = format!("{:?}", finding.state).to_uppercase();
    let severity = format!("{:?}", finding.severity).to_lowercase();
    format!("{state:<7} {severity:<6} ")
}

fn subject(finding: &Finding) -> String {
    format!("{}: {}", finding.id, finding.summary)
}

/// Prints how many findings are not listed.
fn rest(page: &mut Page, findings: &[&Finding]) {
    let number = |state: State| findings.iter().filter(|finding| finding.state == state).count();
    let parts = [(number(State::Fail), "FAIL"), (number(State::Warn), "WARN")];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} more {what}")).collect();
    if !parts.is_empty() {
        page.row(Tint::Plain, &format!("and {}", parts.join(", ")));
    }
}

fn one(page: &mut Page, finding: &Finding) {
    page.tagged(&tag(finding), tint(finding.state), &subject(finding));
    let is_open = matches!(finding.state, State::Fail | State::Warn);
    // The authorities that disagree are only named with `--explain`.
    let why = finding.why.split(" Authorities differ: ").next().unwrap_or_default();
    if is_open && !why.is_empty() {
        page.tagged("               why: ", Tint::Plain, why);
    }
    if let Some(fix) = &finding.fix {
        page.tagged("               fix: ", Tint::Plain, fix);
    }
}

/// Prints what could not be judged: one line per state, or, if `brief` is set, only what fits on one line.
fn unread(page: &mut Page, findings: &[Finding], brief: bool) {
    for (state, why) in [(State::Blocked, "BLOCKED (permission or lockdown)"), (State::Unknown, "UNKNOWN")] {
        let ids: Vec<&str> = of(findings, state).map(|finding| finding.id.as_str()).collect();
        match (ids.is_empty(), brief) {
            (true, _) => {}
            (false, true) => page.row(tint(state), &format!("{} {why}: {}", ids.len(), ids.join(", "))),
            (false, false) => page.tagged(&format!("{why}: "), tint(state), &ids.join(", ")),
        }
    }
}

/// Prints the number of rules that need more than the given files, which a reader may take for passed, and the gravest of
/// them.
fn not_given(page: &mut Page, findings: &[Finding], listing: Listing) {
    let mut rules: Vec<&Finding> = findings.iter().filter(|finding| finding.is_not_given()).collect();
    rules.arrange_by_key(|finding| std::cmp::Reverse(finding.severity));
    if rules.is_empty() {
        return;
    }
    let some: Vec<String> = rules.iter().take(3).map(|finding| finding.id.clone()).collect();
    let all = if listing == Listing::All { "" } else { "; --all names what each needs" };
    let text = format!(
        "{} of {} rules need more than these files, for example {}{all}",
        rules.len(),
        count(findings.len() as u64),
        words::and(&some)
    );
    page.tagged("NOT JUDGED  ", Tint::Warn, &text);
}

/// Prints the worst findings of a run, and the number of others.
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
        (number(State::Info), "informative"),
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
    counted(page, fail - grave.len(), warn);
}

/// Prints where to find the findings that are counted here but not listed.
fn counted(page: &mut Page, fail: usize, warn: usize) {
    let parts = [(fail, "more FAIL"), (warn, "WARN")];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !parts.is_empty() {
        let text = format!("Not listed here: {}; `--format html` lists all.", parts.join(", "));
        page.tagged("  ", Tint::Plain, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(state: State, severity: Severity) -> Finding {
        Finding {
            id: "watchdog-soft".into(),
            group: "Watchdogs".into(),
            severity,
            state,
            summary: "Soft lockup detector: on, on the measured CPUs 0-1 too".into(),
            evidence: Vec::new(),
            why: "A timer every few seconds. Authorities differ: off (A); on (B)".into(),
            fix: Some("sudo sysctl -w kernel.soft_watchdog=0".into()),
        }
    }

    #[test]
    fn a_finding_has_subject_state_why_and_fix() {
        let findings = [finding(State::Fail, Severity::Medium), finding(State::Pass, Severity::Medium)];
        let one_line = list(&findings, Listing::Full, TextStyle { color: false, width: usize::MAX });
        assert_eq!(
            one_line,
            "FAIL    medium watchdog-soft: Soft lockup detector: on, on the measured CPUs 0-1 too\n               why: A \
             timer every few seconds.\n               fix: sudo sysctl -w kernel.soft_watchdog=0\n"
        );
        let narrow = list(&findings, Listing::Full, TextStyle { color: true, width: 60 });
        assert!(narrow.starts_with("\u{1b}[1;31mFAIL"), "{narrow:?}");
        let shown = |line: &str| line.replace("\u{1b}[1;31m", "").replace("\u{1b}[0m", "").chars().count();
        assert!(narrow.lines().all(|line| shown(line) <= 60), "{narrow}");
    }

    #[test]
    fn a_brief_list_has_a_line_each_and_counts_the_rest() {
        let mut findings: Vec<Finding> = (0..6).map(|_| finding(State::Fail, Severity::Low)).collect();
        findings.extend([State::Warn, State::Warn, State::Pass, State::Unknown].map(|s| finding(s, Severity::High)));
        let brief = list(&findings, Listing::Brief(7), TextStyle { color: false, width: 60 });
        let lines: Vec<&str> = brief.lines().collect();
        assert_eq!(lines.len(), 9, "{brief}");
        assert!(
            lines[6].starts_with("WARN    high   watchdog-soft: Soft lockup") && lines[6].ends_with('…'),
            "{brief}"
        );
        assert_eq!(lines[7..], ["and 1 more WARN", "1 UNKNOWN: watchdog-soft"]);
    }

    #[test]
    fn counts_add_up_and_point_to_the_rest() {
        let mut findings: Vec<Finding> = (0..6).map(|_| finding(State::Fail, Severity::Low)).collect();
        findings.extend(
            [State::Warn, State::Pass, State::Info, State::Skip, State::Unknown].map(|s| finding(s, Severity::Low)),
        );
        findings.push(finding(State::Fail, Severity::High));
        let mut page = Page::new(TextStyle { color: false, width: 200 });
        section(&mut page, &findings);
        let text = page.finish();
        assert!(
            text.contains("12 rules: 1 pass, 7 fail, 1 warn, 1 not read, 1 informative, 1 do not apply."),
            "{text}"
        );
        assert!(text.contains("Not listed here: 6 more FAIL, 1 WARN;"), "{text}");
    }
}
