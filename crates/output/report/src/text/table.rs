use super::page::{Page, Tint};
use crate::clean;
use crate::figures::{Figures, QUANTILES, Row};
use crate::number::{count, latency};
use crate::words;

/// With more rows, which do not fit a screen, each phase has one.
const MOST_ROWS: usize = 40;

/// A row per phase and CPU, or per phase if there are many CPUs.
pub fn summary(page: &mut Page, figures: &Figures) {
    if figures.cells.is_empty() {
        return;
    }
    let grouped = figures.is_crowded() || figures.cells.len() > MOST_ROWS;
    let rows = if grouped { figures.rows_by_phase() } else { figures.rows() };
    let shown: &[usize] = match page.width() {
        ..58 => &[3],
        58..68 => &[2, 3],
        _ => &[0, 2, 3],
    };
    page.gap();
    page.row(Tint::Strong, &head(shown));
    let mut last = "";
    for row in &rows {
        let name =
            if row.phase.id == last { String::new() } else { words::phase_name(figures.recording, &row.phase.id) };
        page.row(Tint::Plain, &line(&name, row, shown));
        last = &row.phase.id;
    }
    notes(page, grouped, &rows, shown);
}

fn notes(page: &mut Page, grouped: bool, rows: &[Row], shown: &[usize]) {
    if grouped {
        page.tagged("  ", Tint::Plain, "Latencies: the largest of the phase's CPUs; periods and missed: their sums.");
    }
    if rows.iter().any(|r| shown.iter().any(|&q| is_open(r, q))) {
        page.tagged("  * ", Tint::Plain, "what was seen; not bounded by this run");
    }
}

fn head(shown: &[usize]) -> String {
    let names: String = shown.iter().map(|&q| format!("{:>10}", QUANTILES[q].1)).collect();
    format!("{:<10} {:>7} {:>12}{names}{:>10} {:>8}", "load", "CPU", "periods", "max", "missed")
}

fn line(name: &str, row: &Row, shown: &[usize]) -> String {
    let name = clean::clip(&clean::line(name), 10);
    let star = |q: usize| if is_open(row, q) { "*" } else { " " };
    let quantiles: String = shown
        .iter()
        .map(|&q| format!("{:>10}", format!("{}{}", latency(row.quantiles[q].ns, row.whole_micros), star(q))))
        .collect();
    let max = format!("{} ", latency(row.max, row.whole_micros));
    let (periods, missed) = (count(row.released), row.skipped.map_or_else(|| "?".into(), count));
    format!("{name:<10} {:>7} {periods:>12}{quantiles}{max:>10} {missed:>8}", row.cpu)
}

fn is_open(row: &Row, q: usize) -> bool {
    row.quantiles[q].ns.is_some() && row.quantiles[q].upper.is_none()
}
