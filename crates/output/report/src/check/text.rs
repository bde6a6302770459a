//! Formats the result of a check for a terminal.

use super::{amount, answer, missing, place, remarks, thread};
use crate::number::plural;
use crate::text::SUMMARY_LINES;
use crate::text::page::{Page, TextStyle, Tint, tagged};
use crate::words;
use punctual_model::{Check, CheckFinding, Outcome, Severity, State};

/// Selects how much of the result of a check is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckListing {
    /// The part that fits on a terminal of 80×24.
    Brief,
    /// All findings with stacks, reasons and fixes, and all threads.
    Full,
    /// The cycles of all threads.
    Cycles,
}

/// Number of lines printed in addition to the findings and to what is missing: the verdict, the number of other findings,
/// the next commands, blank lines.
const BESIDE: usize = 7;
/// Below the tag of a finding.
const TAGLESS: &str = "               ";
/// Maximum number of lines for what a finding is, and for its place.
const WRAPPED: usize = 2;

/// Formats the result for a terminal. The text ends in a newline.
pub fn check_text(check: &Check, listing: CheckListing, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let tint = match check.outcome {
        Outcome::Pass | Outcome::Held => Tint::Good,
        Outcome::Fail => Tint::Bad,
        Outcome::Inconclusive => Tint::Warn,
    };
    page.tagged(&format!("{} ", words::word(check.outcome)), tint, &format!("{}: {}", check.program, answer(check)));
    match listing {
        CheckListing::Brief => brief(&mut page, check, style),
        CheckListing::Full => full(&mut page, check),
        CheckListing::Cycles => {
            page.heading("Cycles");
            check.threads.iter().for_each(|one| page.tagged("  ", Tint::Plain, &thread(check, one)));
            unseen(&mut page, check);
        }
    }
    page.finish()
}

fn brief(page: &mut Page, check: &Check, style: TextStyle) {
    page.gap();
    let shown: Vec<&CheckFinding> = check.findings.iter().filter(|one| one.finding.state != State::Info).collect();
    let missing: Vec<String> =
        missing(check).take(2).flat_map(|what| tagged(style, "NOT OBSERVED   ", Tint::Warn, &what, WRAPPED)).collect();
    let most = SUMMARY_LINES.saturating_sub(BESIDE + missing.len());
    let (groups, mut count, mut used) = (grouped(&shown), 0, 0);
    for group in &groups {
        let Some(one) = group.first() else { continue };
        let others = group.len() - 1;
        // The place has its own lines.
        let (what, at) = parts(one);
        let mut lines = tagged(style, &tag(one), tint(one), what, WRAPPED);
        let also = if others > 0 {
            format!("; also at {}", plural(others as u64, "other place", "other places"))
        } else {
            String::new()
        };
        lines.extend(tagged(style, TAGLESS, Tint::Plain, &format!("{at}{}{also}", amount(check, one)), WRAPPED));
        if used + lines.len() > most {
            break;
        }
        count += group.len();
        used += lines.len();
        page.add(&lines);
    }
    if let Some(more) = shown.len().checked_sub(count).filter(|more| *more > 0) {
        page.row(Tint::Plain, &format!("and {}", plural(more as u64, "more finding", "more findings")));
    }
    if shown.is_empty() {
        let threads = check.threads.iter().filter(|one| one.is_real_time);
        let lines = threads.flat_map(|one| tagged(style, "  ", Tint::Plain, &thread(check, one), WRAPPED));
        page.add(&lines.take(most).collect::<Vec<_>>());
    }
    page.add(&missing);
    page.gap();
    if let Some(first) = shown.first() {
        page.row(Tint::Plain, &format!("Next   1. punctual check --explain {}", first.finding.id));
        page.row(Tint::Plain, "       2. the same command with --full: stacks, reasons, alternatives");
    } else {
        page.row(Tint::Plain, "Next   the same command with --show-cycles: the cycles found in each thread");
    }
}

/// Groups the violations of one rule by one thread outside of its cycles; of each group the most frequent is the first.
fn grouped<'a>(findings: &[&'a CheckFinding]) -> Vec<Vec<&'a CheckFinding>> {
    let mut groups: Vec<Vec<&CheckFinding>> = Vec::new();
    for one in findings {
        let is_alike = |other: &CheckFinding| {
            let key = |one: &CheckFinding| (one.finding.state, one.is_in_cycle, one.is_known, one.tids.clone());
            !one.is_in_cycle && key(one) == key(other) && one.finding.id == other.finding.id
        };
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| is_alike(first))) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// Splits a summary into what was found, and its place with a colon.
fn parts(one: &CheckFinding) -> (&str, String) {
    let summary = one.finding.summary.as_str();
    let found = [", in ", ", made real-time in ", ", created in "].iter().filter_map(|how| summary.rfind(how)).max();
    match found.filter(|_| one.place.is_some()) {
        Some(at) => (&summary[..at], format!("{}: ", &summary[at + 2..])),
        None => (summary, String::new()),
    }
}

fn full(page: &mut Page, check: &Check) {
    for one in &check.findings {
        page.gap();
        page.tagged(&tag(one), tint(one), &one.finding.summary);
        page.tagged(TAGLESS, Tint::Plain, &amount(check, one));
        let stack: Vec<String> = one.stack.iter().map(place).collect();
        for (n, frame) in stack.iter().enumerate() {
            page.tagged(if n == 0 { "        stack: " } else { TAGLESS }, Tint::Plain, frame);
        }
        if one.is_stack_cut {
            page.tagged(TAGLESS, Tint::Plain, "… (the copied stack is truncated here)");
        }
        page.tagged("          why: ", Tint::Plain, &one.finding.why);
        if let Some(fix) = &one.finding.fix {
            page.tagged("      instead: ", Tint::Plain, fix);
        }
    }
    page.heading("Threads");
    check.threads.iter().for_each(|one| page.tagged("  ", Tint::Plain, &thread(check, one)));
    unseen(page, check);
    page.heading("Observed");
    remarks(check).iter().for_each(|remark| page.tagged("  ", Tint::Plain, remark));
    let seen: Vec<&str> = check.sources.iter().filter(|s| s.missing.is_none()).map(|s| s.name.as_str()).collect();
    page.tagged("  ", Tint::Plain, &format!("Sources: {}.", seen.join(", ")));
}

fn unseen(page: &mut Page, check: &Check) {
    if missing(check).next().is_some() {
        page.heading("Not observed");
        missing(check).for_each(|what| page.tagged("  ", Tint::Warn, &what));
    }
}

fn tint(one: &CheckFinding) -> Tint {
    match one.finding.state {
        _ if one.is_known => Tint::Plain,
        State::Fail => Tint::Bad,
        State::Warn => Tint::Warn,
        _ => Tint::Plain,
    }
}

fn tag(one: &CheckFinding) -> String {
    let state = if one.is_known { "KNOWN".to_owned() } else { format!("{:?}", one.finding.state).to_uppercase() };
    let severity = match one.finding.severity {
        Severity::Off => "off",
        Severity::Info => "info",
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Fatal => "fatal",
    };
    format!("{state:<7} {severity:<6} ")
}
