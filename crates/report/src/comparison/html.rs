//! A comparison as one self-contained page.

use super::chart::dots;
use super::sentences::{cannot_say, figure_name, findings, headline, nanos, shown};
use crate::html::head;
use crate::html::write::{details, esc, list, prose, section, table};
use crate::svg::{Table, colour};
use punctual_model::{Comparison, ComparisonRow};

/// The comparison as one HTML file without script: headline, drawing, figures, sentences, what it cannot say.
pub fn comparison_html(comparison: &Comparison) -> String {
    let title = format!("{} against {}", comparison.b.name, comparison.a.name);
    let clock = if comparison.virtual_time.is_some() { " in virtual time" } else { "" };
    let says = list("", &findings(comparison));
    let cannot = list("", &cannot_say(comparison));
    let drawing =
        dots(comparison).map(|svg| format!("<figure>{svg}{}</figure>", legend(comparison))).unwrap_or_default();
    let body = [
        section("runs", "Every run", &drawing),
        section("figures", "Figures", &(figures(comparison) + &all_values(comparison))),
        section("says", "What it says", &says),
        section("limits", "What it cannot say", &cannot),
        section("method", "How it was compared", &method(comparison)),
    ];
    format!(
        "{}<header><p class=\"what\">Wakeup latency{clock} of two groups of {}s</p><h1>{}</h1><p>{}</p>{}</header>\n{}</body></html>\n",
        head(&title),
        esc(&comparison.sample),
        esc(&title),
        prose(&crate::words::capital(&headline(comparison))),
        list("warnings", &comparison.problems),
        body.concat()
    )
}

fn legend(comparison: &Comparison) -> String {
    let key =
        |n: usize, letter: &str, name: &str| format!("<li><i class=\"{}\"></i>{letter}: {}", colour(n), esc(name));
    format!(
        "<ul class=\"legend\">{}{}</ul>",
        key(0, "A (upper dots)", &comparison.a.name),
        key(1, "B (lower dots)", &comparison.b.name)
    )
}

fn figures(comparison: &Comparison) -> String {
    let head = ["load", "figure", "median A", "median B", "B / A", "p"].map(String::from).to_vec();
    let figure = |ns: Option<f64>| ns.map_or("–".into(), nanos);
    let row = |row: &ComparisonRow| {
        vec![
            row.load.clone(),
            figure_name(&row.figure).to_owned(),
            figure(row.median_a_ns),
            figure(row.median_b_ns),
            row.ratio.as_ref().map_or("–".into(), shown),
            row.p.map_or("–".into(), |p| if p < 1e-4 { format!("{p:.0e}") } else { format!("{p:.4}") }),
        ]
    };
    table(&Table { head, rows: comparison.rows.iter().map(row).collect() })
}

fn all_values(comparison: &Comparison) -> String {
    let head = ["load", "figure", "group", "run", "latency"].map(String::from).to_vec();
    let mut rows = Vec::new();
    for row in &comparison.rows {
        for (letter, group, values) in [("A", &comparison.a, &row.a_ns), ("B", &comparison.b, &row.b_ns)] {
            for (value, run) in values.iter().zip(&group.runs) {
                rows.push(vec![
                    row.load.clone(),
                    figure_name(&row.figure).into(),
                    letter.into(),
                    run.clone(),
                    nanos(*value),
                ]);
            }
        }
    }
    details("Every value", &table(&Table { head, rows }))
}

fn method(comparison: &Comparison) -> String {
    let sample = &comparison.sample;
    format!(
        "<p>{}",
        prose(&format!(
            "One {sample} is one sample: the wakeups within one share its memory layout, its order of loads and its phase, and \
             do not count as independent. Ratios are Hodges–Lehmann's estimate on logarithms with the rank interval of the \
             Mann–Whitney test, whose two-sided p is given. Rows are not independent of each other; p is not corrected for their \
             number."
        ))
    )
}
