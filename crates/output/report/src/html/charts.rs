use super::Page;
use super::write::{details, esc, figure, list};
use crate::figures::Cell;
use crate::svg::{ccdf, histogram, time};
use crate::words;
use punctual_model::{Known, Phase};

/// Draws histogram and exceedance of every load, all on the same axes.
pub fn distributions(page: &Page) -> String {
    let Some(span) = &page.span else { return String::new() };
    let mut out = String::new();
    if page.figures.is_crowded() {
        out.push_str(
            "<p class=\"note\">CPUs with the largest latencies are drawn one by one, the others as one grey area.",
        );
    }
    for (n, phase) in page.figures.recording.run.phases.iter().enumerate() {
        out.push_str(&of_phase(page, span, n, phase));
    }
    problems(page) + &details("Histogram and exceedance of each load", &out)
}

/// Lists what makes the figures of the loads doubtful.
fn problems(page: &Page) -> String {
    let recording = page.figures.recording;
    let of = |phase: &Phase| {
        let name = words::place_of(recording, &phase.id);
        phase.problems.iter().map(|p| format!("`{name}`: {}", p.text)).collect::<Vec<_>>()
    };
    let mut all: Vec<String> = Vec::new();
    for text in recording.run.phases.iter().flat_map(of) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    list("warnings", &all)
}

fn of_phase(page: &Page, span: &crate::svg::series::Span, n: usize, phase: &Phase) -> String {
    let name = words::phase_name(page.figures.recording, &phase.id);
    let cells = page.figures.of_phase(phase);
    let heading = format!("<h3>{}</h3>", esc(&name));
    if cells.iter().all(|c| c.values().is_none_or(|h| h.is_empty())) {
        return format!("{heading}<p>{}", without(&cells));
    }
    let bars = histogram::chart(&format!("h{n}"), &name, &cells, &page.picked, span);
    let tail = ccdf::chart(&format!("c{n}"), &name, &cells, &page.picked, span, &page.claims);
    let lost: Vec<String> =
        cells.iter().filter(|c| c.values().is_none_or(|h| h.is_empty())).map(|c| format!("CPU {}", c.cpu())).collect();
    let lost = match lost.is_empty() {
        true => String::new(),
        false => format!("<p class=\"note\">No histogram was recorded for {}.", words::and(&lost)),
    };
    format!(
        "{heading}<div class=\"pair\">{}{}</div>{lost}",
        figure(&bars, "Histogram", "Histogram as a table"),
        figure(&tail, "Share of wakeups later than x", "Quantiles as a table")
    )
}

fn without(cells: &[&Cell]) -> &'static str {
    match cells.iter().any(|c| c.known.as_ref().is_some_and(Known::is_summary)) {
        true => "No histogram: only the number of samples and the smallest, mean and largest latency are known.",
        false => "No histogram was recorded.",
    }
}

/// Draws worst wakeups and the state of the machine over time, and for a long run the maxima of its blocks.
pub fn over_time(page: &Page) -> String {
    let limits = page.span.as_ref().map_or(&[][..], |s| &s.limits);
    let all = time::chart("time-chart", &page.figures, &page.picked, limits);
    let title = match page.figures.recording.application {
        None => "Worst wakeup of every interval, and the machine",
        Some(_) => "Maximum of every interval, and the machine",
    };
    let all = all.map(|c| figure(&c, title, "Over time as a table"));
    let blocks = time::maxima("maxima-chart", &page.figures, &page.picked, limits);
    let blocks = blocks.map(|c| figure(&c, "Worst wakeup of every block of minutes", "Maxima as a table"));
    all.into_iter().chain(blocks).collect()
}
