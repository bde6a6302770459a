//! Formats the tails: latencies extrapolated beyond the data, and the shapes of the fits.

use super::Page;
use super::write::{details, figure, list};
use crate::svg::stability;
use crate::words;
use punctual_model::TailOutcome;

/// Formats the sentences of every load, and in a collapsed part the shape of each fit by threshold.
pub fn tails(page: &Page) -> String {
    let (recording, verdict) = (page.figures.recording, page.figures.verdict);
    if verdict.tails.is_empty() {
        return String::new();
    }
    let charts: Vec<String> = verdict
        .tails
        .iter()
        .enumerate()
        .filter_map(|(n, tail)| {
            let name = words::phase_name(recording, &tail.phase);
            let chart = stability::chart(&format!("tail{n}"), &name, tail)?;
            let caption = words::place(recording, &tail.phase, tail.cpu);
            Some(figure(&chart, &caption, "Fits as a table"))
        })
        .collect();
    let shapes = match charts.is_empty() {
        true => String::new(),
        false => details(
            &format!("Shape of the tail by threshold ({} loads)", charts.len()),
            &format!("<div class=\"pair\">{}</div>", charts.concat()),
        ),
    };
    let refused = verdict.tails.iter().filter(|tail| matches!(tail.outcome, TailOutcome::Refused { .. })).count();
    let all = verdict.tails.len();
    let what = match refused {
        0 => "Beyond the data".to_owned(),
        n if n == all => "Beyond the data: no level for any load".to_owned(),
        n => format!("Beyond the data: no level for {n} of {all} loads"),
    };
    details(&what, &(list("", &words::tails(recording, verdict)) + &shapes))
}
