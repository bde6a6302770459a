//! The audit for a terminal: what fails first, then what could not be read, then the rest.

use super::audited::Audited;
use crate::terminal;
use punctual_model::State;
use punctual_report::{TextStyle, audit_list};

/// The order of states.
const ORDER: [State; 7] =
    [State::Fail, State::Warn, State::Blocked, State::Unknown, State::Info, State::Pass, State::Skip];

/// Findings by state, each by severity; `all` shows what is in order, too.
pub fn text(audited: &Audited, all: bool) -> String {
    // Not wrapped where another program reads it: a finding is one line for grep(1).
    let width = if terminal::is_shown() { terminal::width() } else { usize::MAX };
    let style = TextStyle { color: terminal::colour(), width };
    format!("{}\n{}\n", audit_list(&audited.findings, all, style), terminal::harmless(&summary(audited)))
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
