mod grid;

use super::{by_culprit, by_load, of_run, shares, unexplained};
use crate::number::{percent, plural};
use crate::text::TextStyle;
use crate::text::page::{Page, Tint};
use crate::words::{self, causes};
use punctual_model::{Recording, Timeline, Verdict, Victim};
use punctual_units::Nanos;

/// Number of culprits and parts of a delay shown; the HTML page shows all.
const MOST: usize = 5;

/// Prints the section "Why" of a run's text report: a sentence about the worst wakeup that each culprit caused, and the
/// composition of the delay under each load.
pub fn section(page: &mut Page, recording: &Recording, verdict: &Verdict) {
    let all = of_run(recording);
    if all.is_empty() {
        return;
    }
    page.heading("Why");
    if let Some(unexplained) = unexplained(recording, verdict, &all) {
        page.tagged("  ", Tint::Plain, &words::stopped(&words::capital(&unexplained)));
    }
    let groups = by_culprit(&all);
    for group in groups.iter().take(MOST) {
        if let Some(worst) = group.late.first() {
            page.tagged("  - ", Tint::Plain, &worst.sentence);
            for link in &worst.victim.chain {
                page.tagged("    ← ", Tint::Plain, &words::stopped(&link.text()));
            }
        }
        if group.late.len() > 1 {
            page.tagged("    ", Tint::Plain, &format!("{} of the explained wakeups.", group.late.len()));
        }
    }
    if groups.len() > MOST {
        page.tagged("  ", Tint::Plain, &format!("{} more culprits.", groups.len() - MOST));
    }
    for (name, late) in by_load(recording, &all) {
        let (parts, whole) = shares(late.iter().map(|late| late.victim));
        let parts = parts.iter().take(MOST).map(|s| format!("{} {} ({})", s.name, Nanos(s.ns), percent(s.share)));
        let parts = words::and(&parts.collect::<Vec<_>>());
        let many = plural(late.len() as u64, "wakeup", "wakeups");
        page.tagged("  ", Tint::Plain, &format!("`{name}`, {many}, {} in all: {parts}.", Nanos(whole)));
    }
}

/// Draws the timeline of a late wakeup in fixed width: a column is an interval of time, a row is a CPU. The text ends
/// in a newline.
pub fn timeline_text(victim: &Victim, timeline: &Timeline, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let grid = grid::Grid::new(victim, timeline, page.width());
    let title = format!("{} on {}, {} late", causes::victim(victim), victim.place(), Nanos(victim.latency_ns));
    page.tagged("", Tint::Strong, &title);
    page.row(Tint::Plain, grid.marks().trim_end());
    for (tint, row) in grid.rows() {
        page.row(tint, &row);
    }
    page.row(Tint::Plain, &grid.axis());
    for (key, name) in grid.keys() {
        page.tagged(&format!("  {key} "), Tint::Plain, &name);
    }
    for (name, at, what) in causes::moments(timeline) {
        let after = Nanos(at.saturating_sub(timeline.moments.t0_ns));
        let after = if name == "T0" { String::new() } else { format!(", {after} after T0") };
        page.tagged(&format!("  {name} "), Tint::Plain, &format!("{what}{after}"));
    }
    for note in causes::picture_notes(timeline) {
        page.tagged("  ", Tint::Plain, &note);
    }
    page.finish()
}
