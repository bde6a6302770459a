use super::finding::{doubtful, figure_name, findings, headline, recipes};
use super::value::{brief, cell};
use super::{context, letter, middle};
use crate::clean;
use crate::number::{count, plural};
use crate::text::TextStyle;
use crate::text::page::{Page, Tint};
use punctual_model::{Comparison, ComparisonRow, Conclusion};
use punctual_units::Arrange;

/// Formats a comparison for a terminal: headline, other differences, table, sentences, causes, limits. The text ends in
/// a newline.
pub fn comparison_text(comparison: &Comparison, style: TextStyle) -> String {
    let mut page = Page::new(style);
    page.tagged("", Tint::Plain, &crate::words::capital(&headline(comparison)));
    comparison.problems.iter().chain(&doubtful(comparison)).for_each(|p| page.tagged("! ", Tint::Warn, p));
    page.heading("Groups");
    groups(&mut page, "  ", comparison);
    page.gap();
    table(&mut page, comparison, usize::MAX);
    let parts = [
        ("Findings", findings(comparison)),
        ("Other differences", context::unlike(comparison)),
        ("Causes in the traces", context::causes(comparison)),
        ("Limits", context::cannot_say(comparison)),
        ("Boots required", recipes(comparison)),
    ];
    for (title, sentences) in parts.iter().filter(|(_, s)| !s.is_empty()) {
        page.heading(title);
        sentences.iter().for_each(|s| page.tagged("  - ", Tint::Plain, s));
    }
    page.finish()
}

/// Prints a line for each group: letter, name, boots, wakeups, folder.
pub fn groups(page: &mut Page, indent: &str, comparison: &Comparison) {
    for (n, group) in comparison.groups.iter().enumerate() {
        let place = group.folder.as_ref().filter(|f| **f != group.name);
        let place = place.map(|f| format!(" in {}", clean::line(f))).unwrap_or_default();
        let boots = group.boots.len() as u64;
        let runs = match group.runs == boots {
            true if comparison.unknown_boots.is_empty() => plural(boots, "boot", "boots"),
            true => plural(group.runs, "run", "runs"),
            false => format!("{} of {}", plural(group.runs, "run", "runs"), plural(boots, "boot", "boots")),
        };
        let scored = if group.scored > 0 { format!(", {} wakeups", count(group.scored)) } else { String::new() };
        let tag = format!("{indent}{}  ", letter(n));
        page.tagged(&tag, Tint::Plain, &format!("{}: {runs}{scored}{place}", clean::line(&group.name)));
    }
}

struct Cells {
    figure: String,
    values: Vec<String>,
    ratios: Vec<String>,
}

impl Cells {
    fn new(row: &ComparisonRow, groups: usize) -> Cells {
        Cells {
            figure: clean::line(figure_name(&row.figure)),
            values: (0..groups).map(|n| cell(middle(row, n), row)).collect(),
            ratios: row.against.iter().map(|a| a.ratio.as_ref().map_or("-".into(), brief)).collect(),
        }
    }

    fn heading(groups: usize) -> Cells {
        Cells {
            figure: "figure".into(),
            values: (0..groups).map(|n| letter(n).to_string()).collect(),
            ratios: (1..groups).map(|n| format!("{}/A", letter(n))).collect(),
        }
    }

    fn line(&self, [figure, value, ratio]: [usize; 3]) -> String {
        let values: String = self.values.iter().map(|v| format!(" {v:>value$}")).collect();
        let ratios: String = self.ratios.iter().map(|r| format!("  {r:<ratio$}")).collect();
        format!("{:<figure$}{values} {ratios}", clean::clip(&self.figure, figure))
    }
}

const FIGURE: usize = 40;

/// Prints at most `most` lines: rows that differ first, then the others in their order.
pub fn table(page: &mut Page, comparison: &Comparison, most: usize) {
    let groups = comparison.groups.len();
    let shown = match comparison.rows.len() < most {
        true => comparison.rows.iter().collect(),
        false => chosen(comparison, most.saturating_sub(2)),
    };
    let rows: Vec<Cells> = shown.iter().map(|row| Cells::new(row, groups)).collect();
    let heading = Cells::heading(groups);
    let widest = |of: &dyn Fn(&Cells) -> usize| rows.iter().chain([&heading]).map(of).max().unwrap_or(0);
    let longest = |cells: &[String]| cells.iter().map(|c| c.chars().count()).max().unwrap_or(0);
    let widths = [
        widest(&|c| c.figure.chars().count()).min(FIGURE),
        widest(&|c| longest(&c.values)).max(9),
        widest(&|c| longest(&c.ratios)),
    ];
    let beside = heading.line(widths).chars().count() + 1;
    let load = |row: &ComparisonRow| clean::line(&row.load);
    let wide = shown.iter().map(|row| load(row).chars().count()).max().unwrap_or(0).max(4);
    if wide + beside <= page.width() {
        page.row(Tint::Strong, format!("{:<wide$} {}", "load", heading.line(widths)).trim_end());
        for (row, cells) in shown.iter().zip(&rows) {
            page.row(tint(row), &format!("{:<wide$} {}", load(row), cells.line(widths)));
        }
    } else {
        // A narrow terminal gets one line per load, with its figures below.
        page.row(Tint::Strong, format!("  {}", heading.line(widths)).trim_end());
        let mut above = None;
        for (row, cells) in shown.iter().zip(&rows) {
            if above.replace(&row.load) != Some(&row.load) {
                page.row(Tint::Plain, &load(row));
            }
            page.row(tint(row), &format!("  {}", cells.line(widths)));
        }
    }
    let left = comparison.rows.len().saturating_sub(shown.len()) as u64;
    if left > 0 {
        page.row(Tint::Plain, &format!("{}: --full", plural(left, "more row", "more rows")));
    }
}

fn chosen(comparison: &Comparison, most: usize) -> Vec<&ComparisonRow> {
    let (differ, alike): (Vec<_>, Vec<_>) =
        comparison.rows.iter().enumerate().partition(|(_, row)| tint(row) == Tint::Strong);
    let mut first: Vec<_> = differ.into_iter().chain(alike).take(most.max(1)).collect();
    first.arrange_by_key(|(n, _)| *n);
    first.into_iter().map(|(_, row)| row).collect()
}

fn tint(row: &ComparisonRow) -> Tint {
    let differs = row.against.iter().any(|a| matches!(a.conclusion, Conclusion::More | Conclusion::Less));
    if differs { Tint::Strong } else { Tint::Plain }
}
