use super::words::{boards, contrast, headline, method, outlier, settings, too_few};
use crate::clean::{clip, line};
use punctual_model::Fleet;
use std::fmt::Write;

/// Maximum number of boards and outliers shown; HTML and JSON contain all.
const MOST: usize = 40;
const WIDEST: usize = 28;

/// Formats a fleet for a terminal: boards with the worst first, outliers, effects of kernels and settings.
pub fn fleet_text(fleet: &Fleet) -> String {
    let mut out = format!("{}\n\n", line(&headline(fleet)));
    let table = boards(fleet);
    let rows: Vec<Vec<String>> =
        std::iter::once(&table.head).chain(table.rows.iter().take(MOST)).map(|row| cells(row)).collect();
    let widths: Vec<usize> = (0..table.head.len())
        .map(|n| rows.iter().filter_map(|row| Some(row.get(n)?.chars().count())).max().unwrap_or(0))
        .collect();
    for row in &rows {
        let padded = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        let _ = writeln!(out, "{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
    if table.rows.len() > MOST {
        let _ = writeln!(out, "… and {} boards with smaller worst wakeups", table.rows.len() - MOST);
    }
    part(&mut out, "Outliers", fleet.outliers.iter().map(outlier));
    part(&mut out, "Too few boards to judge", fleet.too_few.iter().map(too_few));
    part(&mut out, "By kernel and settings", fleet.contrasts.iter().filter_map(contrast));
    part(&mut out, "Settings", settings(fleet).into_iter());
    part(&mut out, "Without usable figures", fleet.doubtful.iter().map(|(run, why)| format!("{run}: {why}")));
    part(&mut out, "Method", method(fleet).into_iter());
    out
}

fn cells(row: &[String]) -> Vec<String> {
    row.iter().map(|cell| clip(&line(cell), WIDEST)).collect()
}

fn part(out: &mut String, title: &str, sentences: impl Iterator<Item = String>) {
    let all: Vec<String> = sentences.collect();
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}:");
    for sentence in all.iter().take(MOST) {
        let _ = writeln!(out, "  {}", line(sentence));
    }
    if all.len() > MOST {
        let _ = writeln!(out, "  … and {} more: --format json lists all", all.len() - MOST);
    }
}
