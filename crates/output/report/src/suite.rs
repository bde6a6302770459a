mod page;

pub use page::suite_html;

use crate::clean::line;
use crate::number::nanos;
use punctual_model::{LoadReport, Suite, SuiteClass, SuiteEnd, SuiteRan, SuiteResult};
use std::fmt::Write;

/// Formats the suite for a terminal: a table, then failures, inconclusive tests, and notes.
pub fn suite_text(suite: &Suite) -> String {
    let mut out = format!("event suite, backend {}\n", line(&suite.backend));
    for (key, value) in &suite.environment {
        let _ = writeln!(out, "  {}: {}", line(key), line(value));
    }
    for load in &suite.under {
        let _ = writeln!(out, "  under load {}: {}", line(&load.load), under(load));
    }
    out.push_str(&heading());
    for result in &suite.results {
        out.push_str(&suite_line(result));
    }
    let missing = suite.missing().map(|what| format!("  {}\n", line(&what)));
    let remarks = suite.results.iter().flat_map(remarks).map(|one| one + "\n");
    let remarks: String = remarks.chain(missing).collect();
    if !remarks.is_empty() {
        out.push('\n');
        out.push_str(&remarks);
    }
    out
}

fn under(load: &LoadReport) -> String {
    match (&load.why_not, load.ran) {
        (_, true) => "ran throughout".to_owned(),
        (Some(why), false) => format!("DID NOT RUN: {}", line(why)),
        (None, false) => "DID NOT RUN".to_owned(),
    }
}

fn heading() -> String {
    format!(
        "\n{:<15} {:>8} {:>8} {:>6} {:>5} {:>5} {:>5} {:>6} {:>5} {:>9} {:>9} {:>9} {:>9}  {}\n",
        "test",
        "sent",
        "received",
        "coal.",
        "over.",
        "lost",
        "doub.",
        "late",
        "reor.",
        "median",
        "p99.9",
        "max",
        "deadline",
        "class"
    )
}

pub fn suite_line(result: &SuiteResult) -> String {
    let name = line(&result.test);
    match &result.ended {
        SuiteEnd::Ran(ran) => ran_line(&name, result, ran),
        SuiteEnd::Unsupported { why } => format!("{name:<15} unsupported: {}\n", line(why)),
        SuiteEnd::Failed { why } => format!("{name:<15} could not be run: {}\n", line(why)),
    }
}

fn ran_line(name: &str, result: &SuiteResult, ran: &SuiteRan) -> String {
    let SuiteRan { counts: c, lateness, .. } = ran;
    format!(
        "{name:<15} {:>8} {:>8} {:>6} {:>5} {:>5} {:>5} {:>6} {:>5} {:>9} {:>9} {:>9} {:>9}  {}\n",
        c.sent,
        c.received,
        c.coalesced,
        c.overflowed,
        c.lost,
        c.doubled,
        c.late,
        c.reordered,
        nanos(lateness.quantile(0.5)),
        nanos(lateness.quantile(0.999)),
        nanos(lateness.max()),
        nanos(Some(result.deadline_ns.0)),
        verdict(ran)
    )
}

fn verdict(ran: &SuiteRan) -> &'static str {
    match (ran.broken.is_empty(), ran.inconclusive.is_empty(), ran.class) {
        (false, _, _) => "BROKEN",
        (true, true, Some(SuiteClass::Hard)) => "hard",
        (true, true, Some(SuiteClass::Firm)) => "firm",
        (true, true, Some(SuiteClass::Soft)) => "soft",
        _ => "inconclusive",
    }
}

fn remarks(result: &SuiteResult) -> Vec<String> {
    let SuiteEnd::Ran(ran) = &result.ended else { return Vec::new() };
    let broken = format!("promise ({}) broken: ", result.promise.name());
    let kinds = [(broken.as_str(), &ran.broken), ("inconclusive: ", &ran.inconclusive), ("", &ran.notes)];
    let each = kinds.into_iter().flat_map(|(what, all)| all.iter().map(move |text| (what, text)));
    each.map(|(what, text)| format!("{}: {what}{}", line(&result.test), line(text))).collect()
}

pub fn suite_csv(suite: &Suite) -> String {
    let mut out = String::from("test,low_ns,high_ns,count\n");
    for result in &suite.results {
        if let SuiteEnd::Ran(ran) = &result.ended {
            for bin in ran.lateness.bins() {
                let _ = writeln!(out, "{},{},{},{}", crate::csv::field(&result.test), bin.low, bin.high, bin.count);
            }
        }
    }
    out
}
