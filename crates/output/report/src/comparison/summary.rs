//! Formats a comparison on one screen: headline, groups, rows that differ, doubts, next steps, decision.

use super::finding::{doubtful, figure_name, findings, headline, recipes, within_runs};
use super::text::{groups, table};
use super::{context, letter};
use crate::text::page::{Page, Tint, tagged};
use crate::text::{SUMMARY_LINES, TextStyle};
use crate::{clean, words};
use punctual_model::{Against, Comparison, Conclusion};

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
    let who = part(&|page| groups(page, "", comparison), 4);
    let next = part(&|page| next(page, comparison, decision, full), usize::MAX);
    let ending = strong(&format!("{}  ", word(comparison, decision)), &which(comparison, decision), 1);
    let all_doubts = [comparison.problems.clone(), doubtful(comparison), context::unlike(comparison)].concat();
    // The other parts are shown if they fit as a whole; the number of doubts that do not fit has a line.
    let mut fixed = head.len() + who.len() + next.len() + ending.len() + usize::from(!all_doubts.is_empty());
    let mut fits = |lines: Vec<String>| {
        let is_room = fixed + LEAST_ROWS + lines.len() <= SUMMARY_LINES;
        fixed += if is_room { lines.len() } else { 0 };
        is_room.then_some(lines)
    };
    let within = within_runs(comparison).and_then(|text| fits(tagged(style, "", Tint::Plain, &text, 3)));
    let doubts = all_doubts.iter().take(2).map_while(|doubt| fits(tagged(style, "! ", Tint::Warn, doubt, 3)));
    let doubts: Vec<Vec<String>> = doubts.collect();
    let more = all_doubts.len() - doubts.len();
    let more = (more > 0).then(|| format!("! {more} more: --full"));
    let causes = context::causes(comparison).first().and_then(|cause| fits(strong("Cause  ", cause, usize::MAX)));
    let recipes = recipes(comparison).into_iter().next().filter(|_| !comparison.one_boot);
    let recipes = recipes.and_then(|recipe| fits(strong("Boots  ", &recipe, usize::MAX)));
    let facts = [causes, recipes].into_iter().flatten().flatten();
    let room = SUMMARY_LINES.saturating_sub(fixed + 2).max(LEAST_ROWS);
    let rows = part(&|page| table(page, comparison, room), usize::MAX);
    let mut lines = head;
    lines.extend(within.into_iter().flatten());
    lines.extend(doubts.into_iter().flatten().chain(more));
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

/// Prints the next steps, numbered; what a step shows is beside its command, or below it if there is no room.
fn next(page: &mut Page, comparison: &Comparison, decision: Decision, full: &str) {
    let what = if findings(comparison).is_empty() { "" } else { "all differences and limits" };
    let mut steps = vec![(format!("{full} --full"), what)];
    if decision == Decision::NotJudged {
        if let [_, second] = comparison.groups.as_slice()
            && comparison.groups.iter().all(|group| group.runs == 1)
        {
            let run = second.folder.as_deref().map_or_else(|| "RUN".into(), clean::line);
            steps.push((format!("punctual report {run} --claim 'max < LIMIT'"), "is B worse than a limit?"));
            steps.push((format!("punctual history gate {run}"), "is B worse than earlier runs?"));
        }
        if !comparison.one_boot {
            let experiment = "punctual compare --experiment DIR KERNEL-A KERNEL-B";
            steps.push((experiment.into(), "plans boots of two kernels"));
        }
    }
    for (n, (command, what)) in steps.iter().enumerate() {
        let step = format!("{}{}. {command}", if n == 0 { "Next   " } else { "       " }, n + 1);
        let described = format!("{step}  {what}");
        if described.chars().count() <= page.width() {
            page.row(Tint::Plain, described.trim_end());
        } else {
            page.row(Tint::Plain, &step);
            page.row(Tint::Plain, &format!("          {what}"));
        }
    }
}

fn word(comparison: &Comparison, decision: Decision) -> &'static str {
    match decision {
        Decision::NotJudged => "NOT JUDGED",
        Decision::Worse => "WORSE",
        Decision::NotWorse if differing(comparison).is_empty() => "NO DIFFERENCE",
        Decision::NotWorse => "NOT WORSE",
    }
}

fn is_too_few(against: &Against) -> bool {
    against.conclusion == Conclusion::TooFew
}

/// Names the figures that differ, or returns why there is no verdict.
fn which(comparison: &Comparison, decision: Decision) -> String {
    match decision {
        Decision::NotJudged if !comparison.problems.is_empty() => "problems in the runs".into(),
        Decision::NotJudged if !comparison.unknown_boots.is_empty() => {
            "the boot of each run is not recorded; --own-boots states that they differ".into()
        }
        Decision::NotJudged if comparison.one_boot => {
            "all runs are of one boot; four boots of each are required".into()
        }
        Decision::NotJudged if comparison.rows.iter().flat_map(|row| &row.against).any(is_too_few) => {
            "fewer than four boots of each".into()
        }
        Decision::NotJudged => "no value is known for both".into(),
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
