//! Formats the table of latencies: one row per load and CPU.

use super::Page;
use super::verdict::{class, mark};
use super::write::{details, esc, figure, name_class};
use crate::bounds::Quantile;
use crate::figures::{QUANTILES, Row};
use crate::number::{count, latency};
use crate::{svg, words};
use punctual_model::Outcome;

/// Indices into [`QUANTILES`] of the quantiles shown in the table; the others are below the charts.
const SHOWN: [usize; 3] = [0, 2, 3];
const MOST_ROWS: usize = 10;

/// Formats all rows. If there are many, formats one row per load, with all rows in a collapsed part, and for very many
/// CPUs also a heat map.
pub fn table(page: &Page) -> String {
    let figures = &page.figures;
    if figures.cells.is_empty() {
        return String::new();
    }
    let rows = figures.rows();
    if rows.len() <= MOST_ROWS {
        return rows_of(page, &rows) + &note(&rows, false);
    }
    let grouped = figures.rows_by_phase();
    let heat = figures.is_crowded().then(|| svg::heat::chart("heat", figures));
    let heat = heat.map(|heat| figure(&heat, "The worst wakeup of every CPU under every load", ""));
    [
        rows_of(page, &grouped),
        note(&grouped, true),
        heat.unwrap_or_default(),
        details(&format!("All CPUs ({} rows)", rows.len()), &rows_of(page, &rows)),
    ]
    .concat()
}

fn note(rows: &[Row], grouped: bool) -> String {
    let mut out = String::from("<p class=\"note\">The figures are corrected: a skipped period counts as late.");
    if grouped {
        out.push_str(" Latencies are the largest of the load's CPUs; periods and missed periods are their sums.");
    }
    if rows.iter().any(|r| SHOWN.iter().any(|&q| is_open(&r.quantiles[q]))) {
        out.push_str(" * Observed value, not bounded by this run.");
    }
    out
}

fn is_open(quantile: &Quantile) -> bool {
    quantile.ns.is_some() && quantile.upper.is_none()
}

fn rows_of(page: &Page, rows: &[Row]) -> String {
    let mut out = String::from("<div class=\"scroll\"><table class=\"figures cards\"><thead><tr>");
    out.push_str("<th scope=\"col\">load<th scope=\"col\">CPU<th scope=\"col\">periods");
    SHOWN.iter().for_each(|q| out.push_str(&format!("<th scope=\"col\">{}", QUANTILES[*q].1)));
    out.push_str("<th scope=\"col\">max<td class=\"bar\"><th scope=\"col\">missed");
    if rows.iter().any(|row| outcome(page, row).is_some()) {
        out.push_str("<th scope=\"col\">claims");
    }
    let most = rows.iter().filter_map(|r| r.max).max().unwrap_or(1).max(1);
    let mut last: Option<&str> = None;
    for row in rows {
        if last != Some(row.phase.id.as_str()) {
            let span = rows.iter().filter(|r| r.phase.id == row.phase.id).count();
            let name = esc(&words::phase_name(page.figures.recording, &row.phase.id));
            let class = name_class(&name);
            out.push_str(&format!("<tbody><tr><th scope=\"rowgroup\" rowspan=\"{span}\"{class}>{name}"));
        } else {
            out.push_str("<tr>");
        }
        out.push_str(&cells(page, row, most));
        last = Some(&row.phase.id);
    }
    out + "</table></div>"
}

fn cells(page: &Page, row: &Row, most: u64) -> String {
    let mut out = format!("<td data-l=\"CPU\">{}<td data-l=\"periods\">{}", row.cpu, count(row.released));
    for q in SHOWN {
        let quantile = &row.quantiles[q];
        let star = if is_open(quantile) { "*" } else { "" };
        let (name, bounds) = (QUANTILES[q].1, bounds(quantile, row.whole_micros));
        let at = latency(quantile.ns, row.whole_micros);
        out.push_str(&format!("<td data-l=\"{name}\" title=\"{bounds}\">{at}{star}"));
    }
    let outcome = outcome(page, row);
    let cpu = row.max_cpu.map(|c| format!("<small> CPU {c}</small>")).unwrap_or_default();
    let share = 100.0 * row.max.unwrap_or(0) as f64 / most as f64;
    out.push_str(&format!(
        "<td class=\"strong {}\" data-l=\"max\">{}{cpu}<td class=\"bar\"><i style=\"width:{share:.0}%\"></i>\
         <td class=\"{}\" data-l=\"missed\">{}",
        outcome.map_or("", class),
        latency(row.max, row.whole_micros),
        if row.skipped.is_some_and(|n| n > 0) { "strong" } else { "" },
        row.skipped.map_or_else(|| "?".into(), count)
    ));
    if let Some(outcome) = outcome {
        let (class, mark, word) = (class(outcome), mark(outcome), words::word(outcome));
        out.push_str(&format!("<td data-l=\"claims\" class=\"{class}\">{mark} {word}"));
    }
    out
}

fn bounds(quantile: &Quantile, whole: bool) -> String {
    match (quantile.lower, quantile.upper) {
        (_, None) => "not bounded by this run".into(),
        (lower, upper) => format!("between {} and {} at 95 %", latency(lower, whole), latency(upper, whole)),
    }
}

/// Returns the worst outcome of claims on this row's CPUs; `None` if all of them hold.
fn outcome(page: &Page, row: &Row) -> Option<Outcome> {
    let cells = page.figures.verdict.claims.iter().flat_map(|c| &c.cells);
    let mine = cells.filter(|c| c.phase == row.phase.id && (row.max_cpu.is_some() || c.cpu.to_string() == row.cpu));
    let worst = mine.map(|c| c.outcome).max();
    let problem = (!row.phase.problems.is_empty()).then_some(Outcome::Inconclusive);
    worst.max(problem).filter(|o| *o != Outcome::Pass)
}
