//! Reports compared with files in tests/golden.

use crate::common;

use punctual_model::{Experiment, Recording, Verdict};
use punctual_report::{TextStyle, csv, experiment_csv, experiment_html, experiment_text, html, json, json_text, text};
use punctual_testing::golden;
use std::path::PathBuf;

fn compare(name: &str, got: &str) {
    golden(format!("tests/golden/{name}"), got);
}

fn all_text(name: &str, (recording, verdict): &(Recording, Verdict)) {
    compare(&format!("{name}.txt"), &text(recording, verdict, TextStyle::default()));
}

#[test]
fn texts() {
    all_text("good", &common::good());
    all_text("failing", &common::failing());
    all_text("inconclusive", &common::inconclusive());
    all_text("empty", &common::empty());
    all_text("damaged", &common::damaged());
    all_text("hostile", &common::hostile(common::HOSTILE));
    all_text("crowd", &common::crowd());
    all_text("explained", &common::explained());
}

#[test]
fn jsons() {
    for (name, (recording, verdict)) in
        [("failing", common::failing()), ("empty", common::empty()), ("damaged", common::damaged())]
    {
        compare(&format!("{name}.json"), &json_text(&json(&recording, &verdict)));
    }
}

#[test]
fn csvs() {
    let all = csv(&common::hostile(common::HOSTILE).0);
    let lines: Vec<&str> = all.lines().collect();
    let ends = [&lines[..20], &["…"], &lines[lines.len() - 20..], &[""]].concat();
    compare("hostile.csv", &ends.join("\n"));
}

#[test]
fn htmls() {
    for (name, (recording, verdict)) in
        [("failing", common::failing()), ("empty", common::empty()), ("damaged", common::damaged())]
    {
        compare(&format!("{name}.html"), &html(&recording, &verdict));
    }
}

/// Case 3, measured on a machine with two CPUs (Linux 6.18).
#[test]
fn experiments() {
    let experiment: Experiment = serde_json::from_str(include_str!("../fixtures/experiment.json")).unwrap();
    compare("experiment.txt", &experiment_text(&experiment));
    compare("experiment.csv", &experiment_csv(&experiment));
    compare("experiment.html", &experiment_html(&experiment));
}

/// Writes every report to the directory named by `REPORT_DUMP`, for inspection.
#[test]
fn dump() {
    let Some(folder) = std::env::var_os("REPORT_DUMP").map(PathBuf::from) else { return };
    for (name, (recording, verdict)) in [
        ("good", common::good()),
        ("failing", common::failing()),
        ("inconclusive", common::inconclusive()),
        ("empty", common::empty()),
        ("damaged", common::damaged()),
        ("hostile", common::hostile(common::HOSTILE)),
        ("crowd", common::crowd()),
        ("explained", common::explained()),
        ("hostile-explained", common::hostile_explained(common::HOSTILE)),
    ] {
        std::fs::write(folder.join(format!("{name}.html")), html(&recording, &verdict)).unwrap();
    }
    std::fs::write(folder.join("explanation.html"), common::explanation_page()).unwrap();
    std::fs::write(folder.join("timelines.txt"), common::timelines_text(100)).unwrap();
}
