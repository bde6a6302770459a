//! Formats the verdict on one screen: verdict, cause, one row per load, bounds, next steps, and the verdict again.

use super::page::{Page, TextStyle, Tint, cut, tagged};
use super::{table, tint};
use crate::figures::Figures;
use crate::number::{at_most, confidence, plural};
use crate::why;
use crate::words;
use punctual_model::{Finding, Outcome, Recording, State, TailOutcome, Verdict};
use punctual_units::Nanos;

/// Number of lines that fit a terminal of 24 lines with the prompt.
pub const SUMMARY_LINES: usize = 22;

/// The parts in the order in which they are shortened, and their minimum lengths in lines.
const SHORTEST: [(Part, usize); 6] =
    [(Part::Table, 6), (Part::Measured, 1), (Part::Cause, 4), (Part::Warnings, 2), (Part::Table, 4), (Part::Cause, 2)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Verdict,
    Measured,
    Warnings,
    Cause,
    Table,
    Facts,
    Next,
}

/// The location of a run, as a user types it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The run's directory, or the imported file.
    pub run: &'a str,
    /// The run's HTML report, if it was written.
    pub page: Option<&'a str>,
}

/// Formats a run for a terminal of 80×24: at most [`SUMMARY_LINES`] lines from 80 columns on; [`super::text`] contains
/// everything, and is used for a file without latencies. The text ends in a newline.
pub fn summary(recording: &Recording, verdict: &Verdict, place: Place, style: TextStyle) -> String {
    let figures = Figures::new(recording, verdict);
    if figures.cells.is_empty() && recording.run.import.is_some() {
        return super::text(recording, verdict, style);
    }
    let mut parts: Vec<(Part, Vec<String>)> = [
        (Part::Verdict, headline(recording, verdict, style)),
        (Part::Measured, tagged(style, "", Tint::Plain, &words::measured(recording, verdict), usize::MAX)),
        (Part::Warnings, warnings(recording, verdict, style)),
        (Part::Cause, cause(recording, verdict, style)),
        (Part::Table, loads(&figures, usize::MAX, style)),
        (Part::Facts, facts(recording, verdict, style)),
        (Part::Next, next(recording, verdict, place, style)),
    ]
    .into();
    let ending = ending(verdict, style);
    let length = |parts: &[(Part, Vec<String>)]| parts.iter().map(|(_, lines)| lines.len()).sum::<usize>() + 1;
    for (part, least) in SHORTEST {
        let over = length(&parts).saturating_sub(SUMMARY_LINES);
        let Some((_, lines)) = parts.iter_mut().find(|(other, _)| *other == part) else { continue };
        let most = lines.len().saturating_sub(over).max(least);
        if over > 0 && lines.len() > most {
            *lines = if part == Part::Table { loads(&figures, most, style) } else { cut(lines, most, style.width) };
        }
    }
    // Blank lines are added if there is room.
    let mut room = SUMMARY_LINES.saturating_sub(length(&parts));
    let mut out = String::new();
    for (part, lines) in &parts {
        let apart = matches!(part, Part::Table | Part::Next | Part::Cause) && !lines.is_empty();
        if apart && room > 0 {
            room -= 1;
            out.push('\n');
        }
        lines.iter().for_each(|line| out.extend([line.as_str(), "\n"]));
    }
    out + &ending + "\n"
}

fn headline(recording: &Recording, verdict: &Verdict, style: TextStyle) -> Vec<String> {
    let headline = words::headline(recording, verdict);
    tagged(style, &format!("{}  ", headline.word), tint(headline.outcome), &headline.sentence, 4)
}

/// Returns what a reader must know before any figure, one or two lines each, and the number of further warnings.
fn warnings(recording: &Recording, verdict: &Verdict, style: TextStyle) -> Vec<String> {
    const SHOWN: usize = 2;
    let mut all = words::warnings(recording, verdict);
    all.retain(|one| Some(one) != words::imported::whence(recording).as_ref());
    all.extend(words::lost(recording));
    let mut lines = Vec::new();
    let shown = if all.len() == SHOWN + 1 { all.len() } else { SHOWN };
    all.iter().take(shown).for_each(|one| lines.extend(tagged(style, "! ", Tint::Warn, one, 2)));
    if all.len() > shown {
        let more = plural((all.len() - shown) as u64, "more warning", "more warnings");
        lines.extend(tagged(style, "! ", Tint::Warn, &format!("{more}: --full"), 1));
    }
    lines
}

/// Returns the cause of the worst wakeup, and the shares of the causes of the explained wakeups.
fn cause(recording: &Recording, verdict: &Verdict, style: TextStyle) -> Vec<String> {
    if let Some(sentence) = crate::application::worst(recording) {
        return tagged(style, "Cause  ", Tint::Strong, &sentence, 5);
    }
    let Some(sentence) = why::worst(recording, verdict) else {
        let is_good = matches!(verdict.outcome, Outcome::Pass | Outcome::Held);
        return if is_good { Vec::new() } else { suspicion(recording, style) };
    };
    let mut lines = tagged(style, "Cause  ", Tint::Strong, &sentence, 5);
    let shares = why::main_shares(&why::of_run(recording));
    lines.extend(shares.into_iter().flat_map(|text| tagged(style, "       ", Tint::Plain, &text, 1)));
    lines
}

/// Returns, without a trace, what counters suggest about the worst wakeup, if anything.
fn suspicion(recording: &Recording, style: TextStyle) -> Vec<String> {
    let Some(text) = words::causes::suspected(recording) else { return Vec::new() };
    tagged(style, "Cause  ", Tint::Strong, &text, 4)
}

fn loads(figures: &Figures, most: usize, style: TextStyle) -> Vec<String> {
    let mut page = Page::new(style);
    table::loads(&mut page, figures, most);
    page.lines()
}

/// Returns one line on the bounds and one on the audit.
fn facts(recording: &Recording, verdict: &Verdict, style: TextStyle) -> Vec<String> {
    let mut lines = Vec::new();
    let bound = words::evidence::worst_cell(verdict).and_then(|(sure, cell)| {
        let (max, p) = (Nanos(cell.max_ns?), cell.p_beyond_max?);
        let at = words::place(recording, &cell.phase, cell.cpu);
        Some(format!("P(> {max}) ≤ {} at {} ({at})", at_most(p), confidence(sure)))
    });
    let refused = verdict.tails.iter().filter(|tail| matches!(tail.outcome, TailOutcome::Refused { .. })).count();
    let beyond = match (refused, verdict.tails.len()) {
        (0, _) => None,
        (refused, all) if refused == all => Some("none beyond the data".to_owned()),
        (refused, all) => Some(format!("none beyond the data for {refused} of {all} loads")),
    };
    let bounds: Vec<String> = bound.into_iter().chain(beyond).collect();
    if !bounds.is_empty() {
        lines.extend(tagged(style, "Bounds ", Tint::Strong, &bounds.join("; "), 1));
    }
    let margin = crate::application::least_margin(verdict);
    lines.extend(margin.into_iter().flat_map(|text| tagged(style, "Margin ", Tint::Strong, &text, 1)));
    let without = crate::application::best_counterfactual(verdict);
    lines.extend(without.into_iter().flat_map(|text| tagged(style, "Without ", Tint::Strong, &text, 1)));
    lines.extend(audit(&recording.findings, style));
    lines
}

fn audit(findings: &[Finding], style: TextStyle) -> Option<String> {
    let of = |state: State| findings.iter().filter(move |finding| finding.state == state);
    let mut failed: Vec<&Finding> = of(State::Fail).collect();
    if findings.is_empty() {
        return None;
    }
    failed.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let names: Vec<&str> = failed.iter().map(|finding| finding.id.as_str()).collect();
    let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let text = format!("{} FAIL, {} WARN of {} rules{names}", failed.len(), of(State::Warn).count(), findings.len());
    tagged(style, "Audit  ", Tint::Strong, &text, 1).pop()
}

/// Returns the next steps, numbered, each with the command to type.
fn next(recording: &Recording, verdict: &Verdict, place: Place, style: TextStyle) -> Vec<String> {
    let run = place.run;
    let page = if place.page.is_some() { "the full report" } else { "the full report; --format html for a page" };
    let report = (format!("punctual report {run} --full"), page);
    let opened = place.page.map(|page| (format!("xdg-open {page}"), "the report as a page"));
    let steps = words::next(recording, verdict, run, [report].into_iter().chain(opened).collect());
    let wide = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let mut page = Page::new(style);
    for (n, (command, what)) in steps.iter().enumerate() {
        let head = if n == 0 { "Next   " } else { "       " };
        let step = format!("{head}{}. {command}", n + 1);
        let described = format!("{head}{}. {command:<wide$}  {what}", n + 1);
        let fits = described.chars().count() <= page.width();
        page.row(Tint::Plain, if fits { &described } else { &step });
    }
    page.lines()
}

/// Returns one line with the outcome, and the claims that have this outcome.
fn ending(verdict: &Verdict, style: TextStyle) -> String {
    let claims: Vec<String> = verdict
        .claims
        .iter()
        .filter(|judged| judged.outcome == verdict.outcome)
        .map(|judged| format!("`{}`", judged.claim))
        .collect();
    let word = if words::is_mere_measurement(verdict) { "MEASURED" } else { words::word(verdict.outcome) };
    tagged(style, &format!("{word}  "), tint(verdict.outcome), &claims.join(", "), 1).concat()
}
