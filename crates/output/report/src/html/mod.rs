//! The report as a self-contained page: no script, no external resources.

mod audit;
mod charts;
mod facts;
mod summary;
mod tails;
mod verdict;
mod views;
mod work;
pub(crate) mod write;

use crate::figures::Figures;
use crate::svg::series::Span;
use punctual_model::{Claim, Recording, Verdict};
use punctual_units::CpuId;
use write::{esc, section};

const STYLE: &str = include_str!("style.css");

struct Page<'a> {
    figures: Figures<'a>,
    /// CPUs drawn individually, in the order of their colours.
    picked: Vec<CpuId>,
    /// The range of all histograms; `None` if there are none.
    span: Option<Span>,
    claims: Vec<Claim>,
}

/// The report of a run as an HTML file: verdict first, then figures, charts and method.
///
/// Needs no script and loads nothing; follows the reader's light or dark mode, prints in light colours.
pub fn html(recording: &Recording, verdict: &Verdict) -> String {
    let figures = Figures::new(recording, verdict);
    let page = Page {
        picked: figures.picked(),
        span: Span::of(&figures),
        claims: verdict.claims.iter().map(|c| c.claim).collect(),
        figures,
    };
    let sections = [
        ("why", "Why", "Why", crate::why::section(recording)),
        ("figures", "Latencies", "Latencies", summary::table(&page)),
        ("series", "Series", "Other figures", facts::series(recording)),
        ("lost", "Not recorded", "What the file does not record", facts::lost(recording)),
        ("distributions", "Distributions", "Distributions", charts::distributions(&page)),
        ("tail", "Beyond the data", "Beyond the data", tails::tails(&page)),
        ("time", "Over time", "Over time", charts::over_time(&page)),
        ("views", "Views of other tools", "Views of other tools", views::views(&page)),
        ("worst", "Worst", "The worst wakeups", work::worst(&page)),
        ("loads", "Loads", "Loads, and evidence that they ran", work::loads(&page)),
        ("tuned", "Changes", "Effect of each change", facts::tuned(recording)),
        ("audit", "Audit", "Audit of the machine", audit::findings(&recording.findings)),
        ("published", "Published", "Published for this board", published(&page.figures)),
        ("machine", "Machine", "Machine", facts::machine(recording)),
        ("method", "Method", "How it was measured", facts::method(recording)),
        ("words", "Words", "Words", facts::words(recording)),
    ];
    let shown: Vec<_> = sections.iter().filter(|(_, _, _, content)| !content.is_empty()).collect();
    let links: String = shown.iter().map(|(id, short, _, _)| format!("<a href=\"#{id}\">{short}</a> ")).collect();
    let body: String = shown.iter().map(|(id, _, title, content)| section(id, title, content)).collect();
    format!(
        "{}{}{}<nav aria-label=\"Contents\">{links}</nav>\n{body}{}</body></html>\n",
        head(&title(recording, verdict)),
        verdict::banner(&page),
        verdict::evidence(&page),
        facts::footer(recording)
    )
}

/// Published figures of this board; a line if there are none.
fn published(figures: &Figures) -> String {
    match crate::references::sentences(figures) {
        none if none.is_empty() => crate::references::none(figures)
            .map(|line| write::details("Published figures", &format!("<p>{}", write::prose(&line))))
            .unwrap_or_default(),
        some => write::list("", &some),
    }
}

fn title(recording: &Recording, verdict: &Verdict) -> String {
    let clock = if recording.run.virtual_time.is_some() { " in virtual time" } else { "" };
    format!(
        "{}: wakeup latency{clock} of {}",
        crate::words::word(verdict.outcome),
        recording.run.host.as_deref().unwrap_or("an unnamed machine")
    )
}

pub(crate) fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{}</title>\n<style>{STYLE}</style></head>\n<body>\n",
        esc(title)
    )
}
