//! Formats an audit as text: failures first, then unknown results, then the rest.

use super::args::AuditArgs;
use super::audited::Audited;
use crate::terminal;
use punctual_model::{Finding, State};
use punctual_report::{Listing, SUMMARY_LINES, TextStyle, audit_list};

/// Order in which states are listed.
const ORDER: [State; 7] =
    [State::Fail, State::Warn, State::Blocked, State::Unknown, State::Info, State::Pass, State::Skip];

/// Screen lines that are needed for everything except the list of findings: unknown results, blank lines, next steps
/// and counts.
const BESIDE: usize = 11;

/// Screen lines for the number of rules that need more than the given files.
const NOT_JUDGED: usize = 2;

/// Returns the findings by state and severity, followed by next steps and counts.
pub fn text(audited: &Audited, args: &AuditArgs) -> String {
    // Neither wrapped nor truncated when piped: one finding per line, for grep(1).
    let shown = terminal::is_shown();
    let width = if shown { terminal::width() } else { usize::MAX };
    let style = TextStyle { color: terminal::colour(), width };
    let listing = match (args.all, args.full) {
        (true, _) => Listing::All,
        (false, true) => Listing::Full,
        (false, false) if !shown => Listing::Brief(usize::MAX),
        (false, false) if audited.findings.iter().any(Finding::is_not_given) => {
            Listing::Brief(SUMMARY_LINES - BESIDE - NOT_JUDGED)
        }
        (false, false) => Listing::Brief(SUMMARY_LINES - BESIDE),
    };
    let next = if matches!(listing, Listing::Brief(_)) { next(audited, args) } else { String::new() };
    let list = audit_list(&audited.findings, listing, style);
    format!("{list}\n{next}{}\n{}", terminal::harmless(&summary(audited)), board(audited))
}

/// Returns a line with the command that shows what others measured on the board; empty if there is none.
fn board(audited: &Audited) -> String {
    let Some(board) = audited.board else { return String::new() };
    format!("{}: punctual references {}\n", board.name, board.key)
}

/// Returns numbered next steps with commands, followed by a blank line; empty if there are no findings.
fn next(audited: &Audited, args: &AuditArgs) -> String {
    let open = |finding: &&Finding| matches!(finding.state, State::Fail | State::Warn);
    let Some(worst) = audited.findings.iter().filter(open).max_by_key(|f| (f.state == State::Fail, f.severity)) else {
        return String::new();
    };
    let mut steps = vec![
        (format!("punctual audit --explain {}", worst.id), "what the rule reads and why it matters"),
        (format!("punctual audit{} --full", args.subject.words()), "every finding with reason and fix"),
    ];
    if args.subject.is_this_machine() {
        steps.push((format!("sudo punctual audit{} --dry-run", args.subject.words()), "what --fix would change"));
    }
    let wide = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let line = |(n, (command, what)): (usize, &(String, &str))| {
        let head = if n == 0 { "Next   " } else { "       " };
        format!("{head}{}. {command:<wide$}  {what}\n", n + 1)
    };
    steps.iter().enumerate().map(line).collect::<String>() + "\n"
}

/// Returns the number of findings in each state.
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
