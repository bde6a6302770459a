use super::words;
use crate::clean::line;
use crate::comparison::shown;
use punctual_model::{Bench, BenchRepetition};
use punctual_units::Nanos;
use std::fmt::Write;

/// Formats the results and conditions of a benchmark, and what could not be measured, for a terminal.
pub fn bench_text(bench: &Bench) -> String {
    let mut out = format!("benchmark: {}\n", words::title(bench));
    list(&mut out, "", &words::warnings(bench));
    table(&mut out, &words::HEAD, &words::rows(bench));
    table(&mut out, &words::TIMES, &words::times(bench));
    for check in bench.repetitions.iter().rev().flat_map(|r| &r.checks).take(1) {
        let right = match check.expected {
            Some(expected) if expected == check.got => "correct",
            Some(_) => "WRONG",
            None => "not checked",
        };
        let _ = writeln!(out, "\n{}: {} ({right})", line(&check.what), check.got);
    }
    out.push('\n');
    list(&mut out, "", &words::conditions(bench));
    list(&mut out, "note: ", &words::notes(bench));
    list(&mut out, "not measured: ", &bench.plan.not_measured.iter().map(|n| line(n)).collect::<Vec<_>>());
    out
}

pub fn bench_line(one: &BenchRepetition) -> String {
    let figures: Vec<String> =
        one.figures.iter().take(2).map(|f| format!("{} {}", line(&f.name), shown(f.value, &line(&f.unit)))).collect();
    let heat = one.conditions.cpu_celsius().map(|c| format!(", {c:.1} °C")).unwrap_or_default();
    format!("repetition {}: {}{heat} ({})\n", one.number, figures.join(", "), Nanos(one.elapsed_ns))
}

fn list(out: &mut String, what: &str, all: &[String]) {
    for text in all {
        let _ = writeln!(out, "{what}{text}");
    }
}

/// Formats a table whose columns fit their contents; all but the first two contain figures.
fn table(out: &mut String, head: &[&str; 7], rows: &[[String; 7]]) {
    if rows.is_empty() {
        return;
    }
    let all: Vec<[String; 7]> = std::iter::once(head.map(String::from)).chain(rows.iter().cloned()).collect();
    let width = |n: usize| all.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    out.push('\n');
    for row in &all {
        let cells = row.iter().zip(widths).enumerate().map(|(n, (cell, width))| match n {
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let text = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "{}", text.trim_end());
    }
}
