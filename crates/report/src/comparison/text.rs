//! A comparison for a terminal.

use super::finding::{figure_name, findings, headline};
use super::value::{brief, cell};
use super::{context, letter, middle};
use crate::clean;
use crate::number::{count, plural};
use crate::text::TextStyle;
use crate::text::page::{Page, Tint};
use punctual_model::{Comparison, ComparisonRow, Told};

/// The headline, what else differs, a table, a sentence a figure, causes, and what it cannot say. Ends in a newline.
pub fn comparison_text(comparison: &Comparison, style: TextStyle) -> String {
    let mut page = Page::new(style);
    page.tagged("", Tint::Plain, &crate::words::capital(&headline(comparison)));
    comparison.problems.iter().for_each(|p| page.tagged("! ", Tint::Warn, p));
    page.heading("Groups");
    for (n, group) in comparison.groups.iter().enumerate() {
        let place = group.folder.as_ref().map(|f| format!(" in {}", clean::line(f))).unwrap_or_default();
        let runs = plural(group.runs.len() as u64, &comparison.sample, &format!("{}s", comparison.sample));
        let scored = if group.scored > 0 { format!(", {} wakeups", count(group.scored)) } else { String::new() };
        page.tagged(
            &format!("  {}  ", letter(n)),
            Tint::Plain,
            &format!("{}: {runs}{scored}{place}", clean::line(&group.name)),
        );
    }
    table(&mut page, comparison);
    let parts = [
        ("What it says", findings(comparison)),
        ("What else differs", context::unlike(comparison)),
        ("What the traces say", context::causes(comparison)),
        ("What it cannot say", context::cannot_say(comparison)),
    ];
    for (title, sentences) in parts.iter().filter(|(_, s)| !s.is_empty()) {
        page.heading(title);
        sentences.iter().for_each(|s| page.tagged("  - ", Tint::Plain, s));
    }
    page.finish()
}

const FIGURE: usize = 17;
const VALUE: usize = 9;
/// Columns a ratio with its interval takes.
const RATIO: usize = 20;

fn table(page: &mut Page, comparison: &Comparison) {
    let groups = comparison.groups.len();
    let fixed = FIGURE + 1 + groups * (VALUE + 1) + 3 + (groups - 1) * RATIO;
    let longest = comparison.rows.iter().map(|r| r.load.chars().count()).max().unwrap_or(0);
    let wide = longest.min(page.width().saturating_sub(fixed)).max(9);
    let letters: String = (0..groups).map(|n| format!(" {:>VALUE$}", letter(n))).collect();
    let against: Vec<String> = (1..groups).map(|n| format!("{:<RATIO$}", format!("{}/A", letter(n)))).collect();
    page.heading(&format!("{:<wide$} {:<FIGURE$}{letters}   {}", "load", "figure", against.concat().trim_end()));
    for row in &comparison.rows {
        let values: String = (0..groups).map(|n| format!(" {:>VALUE$}", cell(middle(row, n), row))).collect();
        let ratios = row.against.iter().map(|a| format!("{:<RATIO$}", a.ratio.as_ref().map_or("-".into(), brief)));
        let load = clean::clip(&row.load, wide);
        let figure = clean::clip(figure_name(&row.figure), FIGURE);
        page.row(tint(row), &format!("{load:<wide$} {figure:<FIGURE$}{values}   {}", ratios.collect::<String>()));
    }
}

/// What differs stands out.
fn tint(row: &ComparisonRow) -> Tint {
    let differs = row.against.iter().any(|a| matches!(a.told, Told::More | Told::Less));
    if differs { Tint::Strong } else { Tint::Plain }
}
