//! Formats a comparison on one screen: headline, groups, rows that differ, doubts, next steps, decision.

use super::finding::{figure_name, findings, headline, recipes};
use super::text::{groups, table};
use super::{context, letter};
use crate::text::page::{Page, Tint, tagged};
use crate::text::{SUMMARY_LINES, TextStyle};
use crate::words;
use punctual_model::{Comparison, Conclusion};

/// Minimum number of table lines: the heading, two rows and the number of omitted rows.
const LEAST_ROWS: usize = 4;

/// The decision of a comparison, as computed by `punctual_compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A figure of a later group is worse than the first group's.
    Worse,
    NotWorse,
    /// Too few boots, problems in the runs, or no value known for both groups.
    NotJudged,
}

/// Formats a comparison for a terminal of 80×24, in at most [`SUMMARY_LINES`] lines if there are 80 columns or more.
/// `full` is the command that shows the whole comparison. The text ends in a newline.
pub fn comparison_summary(comparison: &Comparison, decision: Decision, full: &str, style: TextStyle) -> String {
    let part = |write: &dyn Fn(&mut Page), most| {
        let mut page = Page::new(style);
        write(&mut page);
        page.cut(most)
    };
    let strong = |tag: &str, text: &str, most| tagged(style, tag, Tint::Strong, text, most);
    let head = tagged(style, "", Tint::Plain, &words::capital(&headline(comparison)), 4);
    let mut doubts: Vec<String> = Vec::new();
    for problem in comparison.problems.iter().chain(&context::unlike(comparison)).take(2) {
        doubts.extend(tagged(style, "! ", Tint::Warn, problem, 2));
    }
    let more = (comparison.problems.len() + context::unlike(comparison).len()).saturating_sub(2);
    if more > 0 {
        doubts.push(format!("! {more} more: --full"));
    }
    let who = part(&|page| groups(page, "", comparison), 4);
    let mut facts = Vec::new();
    if let Some(cause) = context::causes(comparison).first() {
        facts.extend(strong("Cause  ", cause, 2));
    }
    if let Some(recipe) = recipes(comparison).first() {
        facts.extend(strong("Boots  ", recipe, 3));
    }
    let next = |page: &mut Page| {
        let sentences = findings(comparison).len();
        page.row(Tint::Plain, &format!("Next   1. {full} --full"));
        if sentences > 0 {
            page.row(Tint::Plain, "          all differences and limits");
        }
        if decision == Decision::NotJudged {
            page.row(Tint::Plain, "       2. punctual compare --experiment DIR KERNEL-A KERNEL-B    alternating boots");
        }
    };
    let next = part(&next, usize::MAX);
    let ending = strong(&format!("{}  ", word(comparison, decision)), &which(comparison, decision), 1);
    let fixed = head.len() + doubts.len() + who.len() + next.len() + ending.len();
    facts.truncate(SUMMARY_LINES.saturating_sub(fixed + LEAST_ROWS));
    let room = SUMMARY_LINES.saturating_sub(fixed + facts.len() + 2).max(LEAST_ROWS);
    let rows = part(&|page| table(page, comparison, room), usize::MAX);
    let mut lines = head;
    lines.extend(doubts);
    lines.extend(who);
    lines.push(String::new());
    lines.extend(rows);
    lines.push(String::new());
    lines.extend(facts);
    lines.extend(next);
    lines.extend(ending);
    // Blank lines are removed first if the rest does not fit.
    while lines.len() > SUMMARY_LINES {
        match lines.iter().rposition(String::is_empty) {
            Some(blank) => drop(lines.remove(blank)),
            None => break,
        }
    }
    lines.join("\n") + "\n"
}

fn word(comparison: &Comparison, decision: Decision) -> &'static str {
    match decision {
        Decision::NotJudged => "NOT JUDGED",
        Decision::Worse => "WORSE",
        Decision::NotWorse if differing(comparison).is_empty() => "NO DIFFERENCE",
        Decision::NotWorse => "NOT WORSE",
    }
}

/// Names the figures that differ, or returns why there is no verdict.
fn which(comparison: &Comparison, decision: Decision) -> String {
    match decision {
        Decision::NotJudged if !comparison.problems.is_empty() => "problems in the runs".into(),
        Decision::NotJudged if !comparison.unknown_boots.is_empty() => {
            "the boot of each run is not recorded; --own-boots states that they differ".into()
        }
        Decision::NotJudged => "fewer than four boots of each, or no value known for both".into(),
        _ if differing(comparison).is_empty() => "shown in any figure".into(),
        _ => differing(comparison).join(", "),
    }
}

/// Returns differences, for example `worst wakeup (cpu) lower`, with the names of the groups if there are several.
fn differing(comparison: &Comparison) -> Vec<String> {
    let mut all = Vec::new();
    for row in &comparison.rows {
        for (k, against) in row.against.iter().enumerate() {
            let how = match against.conclusion {
                Conclusion::More => "higher",
                Conclusion::Less => "lower",
                _ => continue,
            };
            let group = if row.against.len() > 1 { format!(" in {}", letter(k + 1)) } else { String::new() };
            all.push(format!("{} ({}) {how}{group}", figure_name(&row.figure), row.load));
        }
    }
    all
}
