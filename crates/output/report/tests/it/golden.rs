//! Compares reports with files in tests/golden.

use punctual_model::{Experiment, Explained, Recording, Verdict};
use punctual_report::{
    Place, TextStyle, csv, experiment_csv, experiment_html, experiment_text, html, json, json_text, summary, text,
    timeline_text,
};
use punctual_testing::{golden, golden_page, runs};
use std::path::PathBuf;

fn compare(name: &str, got: &str) {
    golden(format!("tests/golden/{name}"), got);
}

fn all_text(name: &str, (recording, verdict): &(Recording, Verdict)) {
    compare(&format!("{name}.txt"), &text(recording, verdict, TextStyle::default()));
    compare(
        &format!("{name}.summary.txt"),
        &summary(recording, verdict, Place { run: "run", page: None }, TextStyle::default()),
    );
}

#[test]
fn texts() {
    all_text("good", &runs::good());
    all_text("failing", &runs::failing());
    all_text("inconclusive", &runs::inconclusive());
    all_text("empty", &runs::empty());
    all_text("damaged", &runs::damaged());
    all_text("hostile", &runs::hostile(runs::HOSTILE));
    all_text("crowd", &runs::crowd());
    all_text("explained", &runs::explained());
}

#[test]
fn jsons() {
    for (name, (recording, verdict)) in
        [("failing", runs::failing()), ("empty", runs::empty()), ("damaged", runs::damaged())]
    {
        compare(&format!("{name}.json"), &json_text(&json(&recording, &verdict)));
    }
}

#[test]
fn csvs() {
    let all = csv(&runs::hostile(runs::HOSTILE).0);
    let lines: Vec<&str> = all.lines().collect();
    let ends = [&lines[..20], &["…"], &lines[lines.len() - 20..], &[""]].concat();
    compare("hostile.csv", &ends.join("\n"));
}

#[test]
fn htmls() {
    for (name, (recording, verdict)) in
        [("failing", runs::failing()), ("empty", runs::empty()), ("damaged", runs::damaged())]
    {
        golden_page(format!("tests/golden/{name}.html"), &html(&recording, &verdict, "run"));
    }
}

/// Compares the reports on experiment case 3, measured on a machine with two CPUs (Linux 6.18).
#[test]
fn experiments() {
    let experiment: Experiment = serde_json::from_str(include_str!("../fixtures/experiment.json")).unwrap();
    compare("experiment.txt", &experiment_text(&experiment));
    compare("experiment.csv", &experiment_csv(&experiment));
    golden_page("tests/golden/experiment.html", &experiment_html(&experiment));
}

fn timelines_text(width: usize) -> String {
    let style = TextStyle { color: false, width };
    let one = |line: &Explained| timeline_text(&line.victim, line.timeline.as_ref().unwrap(), style);
    runs::lines().iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Writes every page to the directory named by `REPORT_DUMP`, for inspection.
#[test]
fn dump() {
    let Some(folder) = std::env::var_os("REPORT_DUMP").map(PathBuf::from) else { return };
    for (name, page) in crate::samples::all() {
        std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
    }
    std::fs::write(folder.join("timelines.txt"), timelines_text(100)).unwrap();
}
