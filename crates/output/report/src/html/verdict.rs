//! Formats the first screen, the claims, the evidence and the limits.

use super::write::{details, esc, figure, list, prose, table};
use super::{Page, facts};
use crate::clean;
use crate::number::{at_most, confidence, count, nanos, percent, plural};
use crate::svg::{Table, overview};
use crate::why;
use crate::words::evidence::worst_cell;
use crate::words::{self, capital};
use punctual_model::{Outcome, Recording};

/// Returns the CSS class of an outcome. Outcomes are shown by word, symbol and colour, each of which suffices.
pub fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Held => "held",
        Outcome::Fail => "fail",
        Outcome::Inconclusive => "open",
    }
}

fn symbol(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass | Outcome::Held => {
            "<svg viewBox=\"0 0 48 48\" aria-hidden=\"true\"><circle cx=\"24\" cy=\"24\" r=\"22\"/>\
             <path d=\"M13 25l8 8 15-17\"/></svg>"
        }
        Outcome::Fail => {
            "<svg viewBox=\"0 0 48 48\" aria-hidden=\"true\"><polygon points=\"15,2 33,2 46,15 46,33 33,46 15,46 2,33 \
             2,15\"/><path d=\"M16 16l16 16M32 16L16 32\"/></svg>"
        }
        Outcome::Inconclusive => {
            "<svg viewBox=\"0 0 48 48\" aria-hidden=\"true\"><polygon points=\"24,1 47,24 24,47 1,24\"/>\
             <path d=\"M18 19a6 6 0 1 1 8 6c-2 1-2 2-2 4M24 35v.1\"/></svg>"
        }
    }
}

pub fn mark(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass | Outcome::Held => "✔",
        Outcome::Fail => "✖",
        Outcome::Inconclusive => "?",
    }
}

/// Formats the first screen: verdict, warnings, cause, the histograms of all loads, the figures and the next steps.
pub fn front(page: &Page, run: &str) -> String {
    let (recording, verdict) = (page.figures.recording, page.figures.verdict);
    let headline = words::headline(recording, verdict);
    let chart = overview::chart("all", &page.figures);
    let chart = chart.map(|chart| figure(&chart, "Number of periods by latency", "")).unwrap_or_default();
    format!(
        "<header><p class=\"what\">{}</p>\n<div class=\"verdict {}\" role=\"region\" aria-label=\"Verdict\">{}<div>\
         <h1>{}</h1><p>{}</div></div>\n{}{}<div class=\"front\"><div>{chart}</div><div>{}{}</div></div></header>\n",
        what(recording),
        class(verdict.outcome),
        symbol(verdict.outcome),
        headline.word,
        prose(&words::stopped(&words::capital(&headline.sentence))),
        warnings(&words::warnings(recording, verdict)),
        cause(page),
        tiles(page),
        steps(page, run)
    )
}

/// Formats the first warnings; the rest are in a collapsed part.
fn warnings(all: &[String]) -> String {
    const SHOWN: usize = 2;
    let (shown, more) = all.split_at(if all.len() > SHOWN + 1 { SHOWN } else { all.len() });
    let mut out = list("warnings", shown);
    if !more.is_empty() {
        let what = plural(more.len() as u64, "more warning", "more warnings");
        out.push_str(&details(&what, &list("warnings", more)));
    }
    out
}

/// Formats the cause of the worst wakeup and the late wakeups by cause; without traces, suspicions from counters.
fn cause(page: &Page) -> String {
    let (recording, outcome) = (page.figures.recording, page.figures.verdict.outcome);
    if let Some(sentence) = crate::application::worst(recording) {
        return format!("<p class=\"cause\"><b>Cause</b> {}", prose(&words::stopped(&sentence)));
    }
    if let Some(worst) = why::worst(recording, page.figures.verdict) {
        let worst = prose(&words::capital(&worst));
        return format!("<div class=\"cause\"><p><b>Cause</b> {worst}{}</div>", why::bar(recording));
    }
    let suspected = words::causes::suspected(recording).filter(|_| !matches!(outcome, Outcome::Pass | Outcome::Held));
    suspected.map(|text| format!("<p class=\"cause\"><b>Cause</b> {}", prose(&text))).unwrap_or_default()
}

fn steps(page: &Page, run: &str) -> String {
    let (recording, verdict) = (page.figures.recording, page.figures.verdict);
    let mut steps = words::next(recording, verdict, run, Vec::new());
    if steps.is_empty() {
        steps.push((format!("punctual report {run} --full"), "the same in a terminal"));
    }
    let step = |(command, what): &words::Step| format!("<li>{}: <pre>{}</pre>", capital(what), esc(command));
    let all: String = steps.iter().map(step).collect();
    format!("<section class=\"next\"><h2>Next</h2><ol>{all}</ol></section>")
}

fn what(recording: &Recording) -> String {
    let run = &recording.run;
    let machine = [&run.machine.board, &run.machine.kernel_release];
    let machine: String = machine.into_iter().flatten().map(|m| format!(" · {}", esc(m))).collect();
    let clock = if run.virtual_time.is_some() { " in virtual time" } else { "" };
    let host = run.host.as_ref().map(|host| format!(" of <strong>{}</strong>", esc(host))).unwrap_or_default();
    let began = facts::began(recording).map(|began| format!(" · <time>{began}</time>")).unwrap_or_default();
    let of = match &recording.application {
        Some(application) => format!("Cycles of <strong>{}</strong>", esc(&clean::clip(&application.program, 60))),
        None => "Wakeup latency".to_owned(),
    };
    let host = if recording.application.is_some() { host.replacen(" of ", " on ", 1) } else { host };
    format!("{of}{clock}{host}{machine}{began}")
}

fn tiles(page: &Page) -> String {
    let (recording, verdict) = (page.figures.recording, page.figures.verdict);
    let tile = |name: &str, figure: String, beside: String| {
        format!("<div><dt>{name}<dd><b>{}</b>{}</div>", prose(&figure), prose(&beside))
    };
    let mut tiles = Vec::new();
    if let Some(worst) = &verdict.worst {
        let place = words::place(recording, &worst.phase, worst.cpu);
        tiles.push(tile(
            if words::noun(recording) == "wakeup" { "Worst wakeup" } else { "Worst sample" },
            words::latency(recording, Some(worst.max_ns)),
            place,
        ));
    }
    if verdict.scored() > 0 {
        let of = format!("of {}", plural(verdict.scored(), "period", "periods"));
        let missed = verdict.skipped.map_or_else(|| "unknown".into(), count);
        tiles.push(tile("Missed", missed, of));
    }
    if let Some((sure, p, cell)) = worst_cell(verdict).and_then(|(sure, c)| Some((sure, c.p_beyond_max?, c))) {
        let beside = format!("of periods: P(> {}) at {} confidence", nanos(cell.max_ns), confidence(sure));
        let what = match recording.application {
            Some(_) => "A longer response is rarer than",
            None => "A later wakeup is rarer than",
        };
        tiles.push(tile(what, at_most(p), beside));
    }
    if tiles.is_empty() {
        return String::new();
    }
    let measured = words::measured(recording, verdict);
    format!("<dl class=\"tiles\">{}</dl><p class=\"measured\">{}", tiles.concat(), prose(&measured))
}

pub fn evidence(page: &Page) -> String {
    let mut out = String::from("<div class=\"columns\">");
    let evidence = words::evidence::from_figures(&page.figures);
    let limits = words::limits::from_figures(&page.figures);
    if !evidence.is_empty() {
        out.push_str(&format!("<div><h3>Evidence</h3>{}", list("", &evidence)));
        out.push_str(&format!("{}</div>", coverage(page)));
    }
    out.push_str(&format!("<div><h3>Limits</h3>{}</div></div>\n", list("", &limits)));
    out
}

pub fn claims(page: &Page) -> String {
    let (recording, verdict) = (page.figures.recording, page.figures.verdict);
    if verdict.claims.is_empty() {
        return String::new();
    }
    let row = |judged: &punctual_model::Judged| {
        format!(
            "<tr><td><span class=\"chip {}\">{} {}</span><td><code>{}</code><td>{}",
            class(judged.outcome),
            mark(judged.outcome),
            words::word(judged.outcome),
            esc(&judged.claim.to_string()),
            prose(&words::stopped(&words::capital(&words::claim(recording, judged))))
        )
    };
    let rows: String = verdict.claims.iter().map(row).collect();
    format!("<div class=\"scroll\"><table class=\"texts cards claims\"><tbody>{rows}</table></div>\n")
}

fn coverage(page: &Page) -> String {
    let coverage = &page.figures.verdict.coverage;
    if coverage.is_empty() || page.figures.verdict.scored() == 0 {
        return String::new();
    }
    let head = ["An event that occurs every", "is observed by this run with probability", "on one CPU under one load"];
    let rows = coverage.iter().map(|c| vec![c.every_ns.to_string(), percent(c.p_run), percent(c.p_one_phase)]);
    details("Rare events", &table(&Table { head: head.map(String::from).to_vec(), rows: rows.collect() }))
}
