use super::page::{Page, Tint};
use crate::clean;
use crate::figures::{Figures, QUANTILES, Row};
use crate::number::{count, latency};
use crate::words;
use punctual_model::AppValue;

/// Maximum number of rows that fit a screen; if there are more, each phase has one row.
const MOST_ROWS: usize = 40;
const OPEN: &str = "  * observed value, not bounded by this run";

/// Prints one row per phase and CPU, or per phase if there are many CPUs.
pub fn summary(page: &mut Page, figures: &Figures) {
    if figures.cells.is_empty() {
        return;
    }
    let grouped = figures.is_crowded() || figures.cells.len() > MOST_ROWS;
    let rows = if grouped { figures.rows_by_phase() } else { figures.rows() };
    let shown = quantiles(page);
    page.gap();
    let is_application = figures.recording.application.is_some();
    page.row(Tint::Strong, &head(if is_application { "value             " } else { "load           CPU" }, shown));
    let (mut last, mut load) = ("", "");
    for row in &rows {
        let name =
            if row.phase.id == last { String::new() } else { words::phase_name(figures.recording, &row.phase.id) };
        let name = match &row.phase.value {
            Some(value) => {
                if row.phase.load != load {
                    page.row(Tint::Plain, &format!("under {}:", clean::clip(&clean::line(&row.phase.load), 48)));
                }
                format!("{:<18}", clean::clip(&clean::line(&value.to_string()), 18))
            }
            None => format!("{:<10} {:>7}", clean::clip(&clean::line(&name), 10), row.cpu),
        };
        load = &row.phase.load;
        page.row(Tint::Plain, &line(&name, row, shown));
        last = &row.phase.id;
    }
    notes(page, grouped, &rows, shown);
}

/// Returns the quantiles that fit next to the other columns.
fn quantiles(page: &Page) -> &'static [usize] {
    match page.width() {
        ..58 => &[3],
        58..68 => &[2, 3],
        _ => &[0, 2, 3],
    }
}

/// Prints one row per load, at most `most` lines: if there are more, the loads with the largest latencies, in the order
/// of the run.
pub fn loads(page: &mut Page, figures: &Figures, most: usize) {
    let mut rows = figures.rows_by_phase();
    // For an application, the summary shows only the values that claims are usually about. The whole report shows all.
    rows.retain(|row| !matches!(row.phase.value, Some(AppValue::Jitter(_) | AppValue::Cpu(_))));
    if rows.is_empty() {
        return;
    }
    let shown = quantiles(page);
    page.row(Tint::Strong, &head(&format!("{:<18}", "load"), shown));
    let open = rows.iter().any(|row| shown.iter().any(|&q| is_open(row, q)));
    let most = most.saturating_sub(usize::from(open));
    let room = if rows.len() < most { rows.len() } else { most.saturating_sub(2) };
    let mut by_max: Vec<usize> = (0..rows.len()).collect();
    by_max.sort_by_key(|n| std::cmp::Reverse(rows[*n].max));
    let (mut kept, left) = by_max.split_at(room);
    let mut order = kept.to_vec();
    order.sort_unstable();
    kept = &order;
    for row in kept.iter().map(|n| &rows[*n]) {
        let name = match &row.phase.value {
            Some(value) => format!("{}, {}", row.phase.load, value.threads().join(" > ")),
            None => words::phase_name(figures.recording, &row.phase.id),
        };
        let name = clean::clip(&clean::line(&name), 18);
        page.row(Tint::Plain, &line(&format!("{name:<18}"), row, shown));
    }
    if let Some(next) = left.first().map(|n| &rows[*n]) {
        let others = crate::number::plural(left.len() as u64, "more load", "more loads");
        page.row(Tint::Plain, &format!("{others}, at most {}", latency(next.max, next.whole_micros)));
    }
    if open {
        page.row(Tint::Plain, OPEN);
    }
}

fn notes(page: &mut Page, grouped: bool, rows: &[Row], shown: &[usize]) {
    if grouped {
        page.tagged(
            "  ",
            Tint::Plain,
            "Latencies are the largest of the phase's CPUs; periods and missed periods are their sums.",
        );
    }
    if rows.iter().any(|r| shown.iter().any(|&q| is_open(r, q))) {
        page.row(Tint::Plain, OPEN);
    }
}

fn head(name: &str, shown: &[usize]) -> String {
    let names: String = shown.iter().map(|&q| format!("{:>10}", QUANTILES[q].1)).collect();
    format!("{name} {:>12}{names}{:>10} {:>8}", "periods", "max", "missed")
}

fn line(name: &str, row: &Row, shown: &[usize]) -> String {
    let star = |q: usize| if is_open(row, q) { "*" } else { " " };
    let quantiles: String = shown
        .iter()
        .map(|&q| format!("{:>10}", format!("{}{}", latency(row.quantiles[q].ns, row.whole_micros), star(q))))
        .collect();
    let max = format!("{} ", latency(row.max, row.whole_micros));
    let (periods, missed) = (count(row.released), row.skipped.map_or_else(|| "?".into(), count));
    format!("{name} {periods:>12}{quantiles}{max:>10} {missed:>8}")
}

fn is_open(row: &Row, q: usize) -> bool {
    row.quantiles[q].ns.is_some() && row.quantiles[q].upper.is_none()
}
