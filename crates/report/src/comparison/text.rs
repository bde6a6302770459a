//! A comparison for a terminal.

use super::sentences::{cannot_say, figure_name, findings, headline, nanos, shown};
use crate::clean;
use crate::text::TextStyle;
use crate::text::page::{Page, Tint};
use punctual_model::Comparison;

/// The headline, a table, a sentence a load, and what it cannot say. Ends in a newline.
pub fn comparison_text(comparison: &Comparison, style: TextStyle) -> String {
    let mut page = Page::new(style);
    page.tagged("", Tint::Plain, &crate::words::capital(&headline(comparison)));
    comparison.problems.iter().for_each(|p| page.tagged("! ", Tint::Warn, p));
    page.heading("Groups");
    for (name, group) in [("A", &comparison.a), ("B", &comparison.b)] {
        let (what, folder) = (clean::line(&group.name), clean::line(&group.folder));
        page.tagged(
            &format!("  {name}  "),
            Tint::Plain,
            &format!("{what}: {} {}s in {folder}", group.runs.len(), comparison.sample),
        );
    }
    page.heading("load        figure          median A   median B   B / A");
    for row in &comparison.rows {
        let figure = |ns: Option<f64>| ns.map_or("-".into(), nanos);
        let ratio = row.ratio.as_ref().map_or("-".into(), shown);
        page.row(
            Tint::Plain,
            &format!(
                "{:<11} {:<14} {:>9}  {:>9}   {ratio}",
                clean::clip(&row.load, 11),
                figure_name(&row.figure),
                figure(row.median_a_ns),
                figure(row.median_b_ns)
            ),
        );
    }
    for (title, sentences) in [("What it says", findings(comparison)), ("What it cannot say", cannot_say(comparison))] {
        page.heading(title);
        sentences.iter().for_each(|s| page.tagged("  - ", Tint::Plain, s));
    }
    page.finish()
}
