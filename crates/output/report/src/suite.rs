use crate::clean::{html, line};
use crate::number::nanos;
use punctual_model::{Suite, SuiteClass, SuiteEnd, SuiteRan, SuiteResult};
use std::fmt::Write;

/// The suite for a terminal: a table, then failures, inconclusive tests, and notes.
pub fn suite_text(suite: &Suite) -> String {
    let mut out = format!("event suite, backend {}\n", line(&suite.backend));
    for (key, value) in &suite.environment {
        let _ = writeln!(out, "  {}: {}", line(key), line(value));
    }
    for load in &suite.under {
        let what = match (&load.why_not, load.ran) {
            (_, true) => "ran throughout".to_owned(),
            (Some(why), false) => format!("DID NOT RUN: {}", line(why)),
            (None, false) => "DID NOT RUN".to_owned(),
        };
        let _ = writeln!(out, "  under load {}: {what}", line(&load.load));
    }
    out.push_str(&heading());
    for result in &suite.results {
        out.push_str(&suite_line(result));
    }
    let missing = suite.missing().map(|what| format!("  {}\n", line(&what)));
    let remarks: String = suite.results.iter().map(remarks).chain(missing).collect();
    if !remarks.is_empty() {
        out.push('\n');
        out.push_str(&remarks);
    }
    out
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

fn remarks(result: &SuiteResult) -> String {
    let SuiteEnd::Ran(ran) = &result.ended else { return String::new() };
    let mut out = String::new();
    let promise = result.promise.name();
    let mut add = |what: &str, all: &[String]| {
        for text in all {
            let _ = writeln!(out, "{}: {what}{}", line(&result.test), line(text));
        }
    };
    add(&format!("promise ({promise}) broken: "), &ran.broken);
    add("inconclusive: ", &ran.inconclusive);
    add("", &ran.notes);
    out
}

pub fn suite_html(suite: &Suite) -> String {
    let text = suite_text(suite).lines().map(html).collect::<Vec<String>>().join("\n");
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>punctual events: {}</title>\n\
         <style>body{{font-family:sans-serif;margin:2em}}pre{{overflow-x:auto}}</style></head>\n\
         <body><h1>Event suite</h1>\n<pre>{text}</pre>\n</body></html>\n",
        html(&suite.backend)
    )
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
