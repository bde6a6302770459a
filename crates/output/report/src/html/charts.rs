use super::Page;
use super::write::{esc, figure, prose};
use crate::figures::Cell;
use crate::svg::{ccdf, histogram, time};
use crate::words;
use punctual_model::{Known, Phase};

/// Histogram and exceedance of every load, all on the same axes.
pub fn distributions(page: &Page) -> String {
    let Some(span) = &page.span else { return String::new() };
    let mut out = String::from(
        "<p class=\"note\">All loads share one horizontal axis. Left: how many periods had which latency (logarithmic). \
         Right: which share of the periods was later than x.",
    );
    if page.figures.is_crowded() {
        out.push_str(" CPUs with the largest latencies are drawn one by one, the others as one grey area.");
    }
    for (n, phase) in page.figures.recording.run.phases.iter().enumerate() {
        out.push_str(&of_phase(page, span, n, phase));
    }
    out
}

fn of_phase(page: &Page, span: &crate::svg::series::Span, n: usize, phase: &Phase) -> String {
    let name = words::phase_name(page.figures.recording, &phase.id);
    let cells = page.figures.of_phase(phase);
    let heading = format!("<h3>{}</h3>", esc(&name));
    let problems: String = phase.problems.iter().map(|p| format!("<p class=\"open\">? {}", prose(&p.text))).collect();
    if cells.iter().all(|c| c.values().is_none_or(|h| h.is_empty())) {
        return format!("<div class=\"phase\">{heading}{problems}<p>{}</div>", without(&cells));
    }
    let bars = histogram::chart(&format!("h{n}"), &name, &cells, &page.picked, span);
    let tail = ccdf::chart(&format!("c{n}"), &name, &cells, &page.picked, span, &page.claims);
    let lost: Vec<String> =
        cells.iter().filter(|c| c.values().is_none_or(|h| h.is_empty())).map(|c| format!("CPU {}", c.cpu())).collect();
    let lost = match lost.is_empty() {
        true => String::new(),
        false => format!("<p class=\"note\">No histogram was recorded of {}.", words::and(&lost)),
    };
    format!(
        "<div class=\"phase\">{heading}{problems}<div class=\"pair\">{}{}</div>{lost}</div>",
        figure(&bars, "Histogram", "Histogram as a table"),
        figure(&tail, "How rarely a wakeup is later than x", "Quantiles as a table")
    )
}

fn without(cells: &[&Cell]) -> &'static str {
    match cells.iter().any(|c| c.known.as_ref().is_some_and(Known::is_summary)) {
        true => "No histogram: only number, smallest, mean and largest latency are known.",
        false => "No histogram was recorded.",
    }
}

/// Worst wakeups and state of the machine over time; for a long run also the maxima of its blocks.
pub fn over_time(page: &Page) -> String {
    let limits = page.span.as_ref().map_or(&[][..], |s| &s.limits);
    let wide = |figure: String| format!("<div class=\"wide\">{figure}</div>");
    let all = time::chart("time-chart", &page.figures, &page.picked, limits);
    let all = all.map(|c| figure(&c, "Worst wakeup of every interval, and the machine", "Over time as a table"));
    let blocks = time::maxima("maxima-chart", &page.figures, &page.picked, limits);
    let blocks = blocks.map(|c| figure(&c, "Worst wakeup of every block of minutes", "Maxima as a table"));
    all.into_iter().chain(blocks).map(wide).collect()
}
