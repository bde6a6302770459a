//! Formats the result of a check as a page.

use super::{amount, answer, missing, place, remarks, thread};
use crate::html::document;
use crate::html::verdict::class;
use crate::html::write::{details, esc, list, prose};
use crate::words;
use punctual_model::{Check, CheckFinding, State};

/// Formats the result as a self-contained HTML file: the verdict, each finding with its stack, the threads, what was
/// observed.
pub fn check_html(check: &Check) -> String {
    let unseen: Vec<String> = missing(check).map(|what| format!("Not observed: {what}")).collect();
    let front = format!(
        "<header><p class=\"what\">Check of <strong>{}</strong></p>\
         <div class=\"verdict {}\" role=\"region\" aria-label=\"Verdict\"><div><h1>{}</h1><p>{}</div></div>{}</header>\n",
        esc(&check.program),
        class(check.outcome),
        words::word(check.outcome),
        prose(&words::stopped(&answer(check))),
        list("warnings", &unseen),
    );
    let (open, quiet): (Vec<&CheckFinding>, Vec<&CheckFinding>) =
        check.findings.iter().partition(|one| one.finding.state != State::Info && !one.is_known);
    let threads: Vec<String> = check.threads.iter().map(|one| thread(check, one)).collect();
    let seen: Vec<String> = check.sources.iter().filter(|s| s.missing.is_none()).map(|s| s.name.clone()).collect();
    let mut observed = remarks(check);
    observed.push(format!("Sources: {}.", seen.join(", ")));
    let sections = [
        ("findings", "Findings", open.iter().map(|one| row(check, one)).collect::<String>()),
        ("other", "Known or informative", quiet.iter().map(|one| row(check, one)).collect()),
        ("threads", "Threads", list("", &threads)),
        ("observed", "Observed", list("", &observed)),
    ];
    let sections = sections.map(|(id, title, content)| (id, title.to_owned(), content));
    document(&format!("punctual check: {}", check.program), &front, &sections, "")
}

fn row(check: &Check, one: &CheckFinding) -> String {
    let (class, mark) = match one.finding.state {
        State::Fail if !one.is_known => ("fail", "✖ FAIL"),
        State::Warn if !one.is_known => ("open", "! WARN"),
        _ => ("info", "i INFO"),
    };
    let severity = format!("{:?}", one.finding.severity).to_lowercase();
    let frames: Vec<String> =
        one.stack.iter().map(|frame| format!("<li><code>{}</code>", esc(&place(frame)))).collect();
    let stack = match frames.is_empty() {
        true => String::new(),
        false => details("Stack, innermost first", &format!("<ol>{}</ol>", frames.concat())),
    };
    let fix =
        one.finding.fix.as_ref().map(|fix| format!("<p>Instead: {}", prose(&words::stopped(fix)))).unwrap_or_default();
    format!(
        "<h3><span class=\"chip {class}\">{mark}</span> {}</h3><p>{}<p class=\"quiet\"><code>{}</code>, {severity}. {}{fix}{stack}",
        prose(&one.finding.summary),
        prose(&words::stopped(&words::capital(&amount(check, one)))),
        esc(&one.finding.id),
        prose(&one.finding.why),
    )
}
