use super::{remarks, under, verdict};
use crate::html::document;
use crate::html::verdict::class;
use crate::html::write::{esc, facts, list, prose, table};
use crate::number::{count, nanos, plural};
use crate::svg::Table;
use crate::words;
use punctual_model::{Suite, SuiteEnd, SuiteResult};

/// Formats the event suite as a self-contained HTML file: the outcome, the losses, a row for each test, and the
/// environment.
pub fn suite_html(suite: &Suite) -> String {
    let missing = suite.missing();
    let remarks: Vec<String> = suite.results.iter().flat_map(remarks).map(|one| one.replace('`', "'")).collect();
    let front = format!(
        "<header><p class=\"what\">Event suite, backend <strong>{}</strong></p>\
         <div class=\"verdict {}\" role=\"region\" aria-label=\"Verdict\"><div><h1>{}</h1><p>{}</div></div>{}</header>\n",
        esc(&suite.backend),
        class(suite.outcome()),
        words::word(suite.outcome()),
        prose(&words::stopped(&answer(suite))),
        list("warnings", &missing.into_iter().map(|one| words::capital(&one.replace('`', "'"))).collect::<Vec<_>>()),
    );
    let environment: Vec<(&str, Option<String>)> =
        suite.environment.iter().map(|(key, value)| (key.as_str(), Some(value.clone()))).collect();
    let loads: Vec<String> = suite.under.iter().map(|load| format!("{}: {}", load.load, under(load))).collect();
    let sections = [
        ("tests", "Tests", table(&tests(suite))),
        ("remarks", "Remarks", list("", &remarks)),
        ("loads", "Loads", list("", &loads)),
        ("environment", "Environment", if environment.is_empty() { String::new() } else { facts(&environment) }),
    ];
    let sections = sections.map(|(id, title, content)| (id, title.to_owned(), content));
    document(&format!("punctual events: {}", suite.backend), &front, &sections, "")
}

/// Formats how many events were sent and lost, and how many tests broke a promise.
fn answer(suite: &Suite) -> String {
    let ran = || {
        suite.results.iter().filter_map(|result| if let SuiteEnd::Ran(ran) = &result.ended { Some(ran) } else { None })
    };
    let sum =
        |of: fn(&punctual_model::EventCounts) -> u64| ran().fold(0u64, |sum, ran| sum.saturating_add(of(&ran.counts)));
    let broken = ran().filter(|ran| !ran.broken.is_empty()).count();
    format!(
        "{} of {} ran: {} sent, {} lost, {} late; {} broke their promise",
        ran().count(),
        plural(suite.results.len() as u64, "test", "tests"),
        plural(sum(|counts| counts.sent), "event", "events"),
        count(sum(|counts| counts.lost)),
        count(sum(|counts| counts.late)),
        broken
    )
}

fn tests(suite: &Suite) -> Table {
    let head = [
        "test",
        "class",
        "sent",
        "received",
        "coalesced",
        "overflowed",
        "lost",
        "doubled",
        "late",
        "reordered",
        "median",
        "p99.9",
        "max",
        "deadline",
    ];
    Table { head: head.map(String::from).to_vec(), rows: suite.results.iter().map(row).collect() }
}

fn row(result: &SuiteResult) -> Vec<String> {
    let ran = match &result.ended {
        SuiteEnd::Ran(ran) => ran,
        SuiteEnd::Unsupported { why } => return vec![result.test.clone(), format!("unsupported: {why}")],
        SuiteEnd::Failed { why } => return vec![result.test.clone(), format!("could not be run: {why}")],
    };
    let c = &ran.counts;
    let counts = [c.sent, c.received, c.coalesced, c.overflowed, c.lost, c.doubled, c.late, c.reordered];
    let lateness = [ran.lateness.quantile(0.5), ran.lateness.quantile(0.999), ran.lateness.max()];
    let mut row = vec![result.test.clone(), verdict(ran).to_owned()];
    row.extend(counts.map(count));
    row.extend(lateness.map(nanos));
    row.push(result.deadline_ns.to_string());
    row
}
