//! The audit for a terminal: what fails first, then what could not be read, then the rest.

use super::args::AuditArgs;
use super::audited::Audited;
use crate::terminal;
use punctual_model::{Finding, State};
use punctual_report::{Listing, SUMMARY_LINES, TextStyle, audit_list};

/// The order of states.
const ORDER: [State; 7] =
    [State::Fail, State::Warn, State::Blocked, State::Unknown, State::Info, State::Pass, State::Skip];

/// Lines beside the list: what could not be judged, blank lines, next steps, and the counts.
const BESIDE: usize = 10;

/// Findings by state, each by severity, then what to do next and how many came out how.
pub fn text(audited: &Audited, args: &AuditArgs) -> String {
    // Neither wrapped nor cut where another program reads it: a finding is one line for grep(1).
    let shown = terminal::is_shown();
    let width = if shown { terminal::width() } else { usize::MAX };
    let style = TextStyle { color: terminal::colour(), width };
    let listing = match (args.all, args.full) {
        (true, _) => Listing::All,
        (false, true) => Listing::Full,
        (false, false) => Listing::Brief(if shown { SUMMARY_LINES - BESIDE } else { usize::MAX }),
    };
    let next = if matches!(listing, Listing::Brief(_)) { next(audited, args) } else { String::new() };
    format!("{}\n{next}{}\n", audit_list(&audited.findings, listing, style), terminal::harmless(&summary(audited)))
}

/// Numbered steps with the command to type, and a blank line; empty if nothing is found.
fn next(audited: &Audited, args: &AuditArgs) -> String {
    let open = |finding: &&Finding| matches!(finding.state, State::Fail | State::Warn);
    let Some(worst) = audited.findings.iter().filter(open).max_by_key(|f| (f.state == State::Fail, f.severity)) else {
        return String::new();
    };
    let mut steps = vec![
        (format!("punctual audit --explain {}", worst.id), "what a rule reads, and why it matters"),
        ("punctual audit --full".to_owned(), "all of them, each with why and fix"),
    ];
    if args.subject.is_this_machine() {
        steps.push(("sudo punctual audit --dry-run".to_owned(), "what --fix would change"));
    }
    let wide = steps.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let line = |(n, (command, what)): (usize, &(String, &str))| {
        let head = if n == 0 { "Next   " } else { "       " };
        format!("{head}{}. {command:<wide$}  {what}\n", n + 1)
    };
    steps.iter().enumerate().map(line).collect::<String>() + "\n"
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
