//! Formats the report as a self-contained page: its script is allowed by its hash, and no external resources are
//! loaded.

mod audit;
mod charts;
mod facts;
mod summary;
mod tails;
pub(crate) mod verdict;
mod views;
mod work;
pub(crate) mod write;

use crate::figures::Figures;
use crate::svg::series::Span;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use punctual_model::{Claim, Recording, Verdict};
use punctual_units::CpuId;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use write::{esc, section};

const STYLE: &str = include_str!("style.css");
/// The script without indentation and comments.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let lines =
        include_str!("page.js").lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
});

/// The hash of the script as in the page's security policy (CSP level 3, "hash-source").
static SCRIPT_HASH: LazyLock<String> =
    LazyLock::new(|| format!("sha256-{}", STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()))));

pub(crate) struct Page<'a> {
    figures: Figures<'a>,
    /// CPUs drawn individually, in the order of their colours.
    picked: Vec<CpuId>,
    /// The range of all histograms; `None` if there are none.
    span: Option<Span>,
    claims: Vec<Claim>,
}

/// Formats the report of a run as an HTML file: the verdict on the first screen, then causes, latencies, latency over
/// time, loads, audit, machine and method.
///
/// The page loads nothing; all of it can be read without its script. It follows the reader's light or dark mode and
/// prints in light colours. `run` is the run as its user names it, for the commands to type next.
pub fn html(recording: &Recording, verdict: &Verdict, run: &str) -> String {
    let figures = Figures::new(recording, verdict);
    let page = Page {
        picked: figures.picked(),
        span: Span::of(&figures),
        claims: verdict.claims.iter().map(|c| c.claim.clone()).collect(),
        figures,
    };
    let late = [
        verdict::claims(&page),
        summary::table(&page),
        verdict::evidence(&page),
        facts::series(recording),
        facts::lost(recording),
        charts::distributions(&page),
        tails::tails(&page),
        views::views(&page),
    ];
    let sections = [
        ("why", "Why", crate::why::section(recording) + &work::worst(&page)),
        ("app", "Application", crate::application::html(recording, verdict)),
        ("late", "How late", late.concat()),
        ("time", "Over time", charts::over_time(&page)),
        ("loads", "Loads", work::loads(&page)),
        ("tuned", "Changes", facts::tuned(recording)),
        ("audit", "Audit", audit::findings(&recording.findings)),
        ("machine", "Machine", facts::machine(recording) + &published(&page.figures)),
        ("method", "Method", facts::method(recording)),
    ];
    document(
        &title(recording, verdict),
        &verdict::front(&page, run),
        &sections.map(|(id, title, content)| (id, title.to_owned(), content)),
        &facts::footer(recording),
    )
}

/// Returns the published figures of this board; empty if there are none.
fn published(figures: &Figures) -> String {
    match crate::references::sentences(figures) {
        none if none.is_empty() => String::new(),
        some => write::details("Published figures of this board", &write::list("", &some)),
    }
}

fn title(recording: &Recording, verdict: &Verdict) -> String {
    let clock = if recording.run.virtual_time.is_some() { " in virtual time" } else { "" };
    let host = recording.run.host.as_ref().map(|host| format!(" of {host}")).unwrap_or_default();
    let quantity = crate::words::quantity(recording);
    format!("{}: {quantity}{clock}{host}", crate::words::word(verdict.outcome))
}

/// Builds a page with its script: the first screen, the contents, and the sections (ID, title, content) that are not
/// empty.
pub(crate) fn document(title: &str, front: &str, sections: &[(&str, String, String)], end: &str) -> String {
    let shown: Vec<_> = sections.iter().filter(|(.., content)| !content.is_empty()).collect();
    let links: String = shown.iter().map(|(id, title, _)| format!("<a href=\"#{id}\">{}</a> ", esc(title))).collect();
    let nav = if shown.len() < 2 { String::new() } else { format!("<nav aria-label=\"Contents\">{links}</nav>\n") };
    let body: String = shown.iter().map(|(id, title, content)| section(id, &esc(title), content)).collect();
    let head = head(title);
    format!("{head}{front}{nav}<main>{body}</main>{end}<script>{}</script></body></html>\n", *SCRIPT)
}

fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src '{}'; base-uri 'none'; form-action 'none'\">\
         <title>{}</title>\n<style>{STYLE}</style></head>\n<body>\n",
        *SCRIPT_HASH,
        esc(title)
    )
}
