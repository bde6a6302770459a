//! Compares `report` on a watch and on several runs with files in tests/golden.
//!
//! tests/fixtures/watch is a recorded series in which machine names were replaced, and to which a gap, a note, a
//! maximum without a cause and an incomplete line were added. tests/fixtures/fleet has nine recorded runs of one
//! machine, and copies of three of them with the names of twelve boards; the fastest has another kernel. One more run
//! has an unknown format.

use crate::common;
use common::punctual;
use punctual_testing::schema;
use punctual_testing::{golden, golden_page};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Returns the output of `report` on a fixture, in which the fixture's path and the program's version are replaced.
fn reported(fixture: &str, format: &str) -> String {
    let mut command = punctual();
    let output =
        command.current_dir(folder("fixtures")).args(["report", fixture, "--format", format]).output().unwrap();
    let (code, out, err) = common::answer(output);
    assert_eq!(code, 0, "{fixture} {format}: {err}");
    let place = folder("fixtures").canonicalize().unwrap();
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    out.replace(place.to_str().unwrap(), "/FIXTURES").replacen(&version, "\"version\":\"VERSION\"", 1)
}

fn compare(fixture: &str, format: &str, ending: &str) {
    let file = folder("golden").join(format!("{fixture}.{ending}"));
    let got = reported(fixture, format);
    if format == "html" { golden_page(file, &got) } else { golden(file, &got) }
}

#[test]
fn the_page_text_and_document_of_a_watch_are_as_they_were() {
    compare("watch", "html", "html");
    compare("watch", "text", "txt");
    compare("watch", "json", "json");
}

#[test]
fn the_page_text_document_and_lines_of_a_fleet_are_as_they_were() {
    compare("fleet", "html", "html");
    compare("fleet", "text", "txt");
    compare("fleet", "json", "json");
    compare("fleet", "jsonl", "jsonl");
}

/// The fixtures contain everything that a page can show, so that no kind of content is missing in the golden files.
#[test]
fn the_fixtures_have_all_that_a_page_can_tell() {
    let watch = reported("watch", "html");
    for part in ["figures", "series", "maxima", "notes", "method"] {
        assert!(watch.contains(&format!("id=\"{part}\"")), "watch: {part}");
    }
    let fleet = reported("fleet", "html");
    for part in ["boards", "outliers", "contrasts", "settings", "doubtful", "method"] {
        assert!(fleet.contains(&format!("id=\"{part}\"")), "fleet: {part}");
    }
}

#[test]
fn documents_and_lines_of_these_hold_to_their_schemas() {
    for fixture in ["watch", "fleet"] {
        let document: Value = serde_json::from_str(&reported(fixture, "json")).unwrap();
        schema::holds(&document);
    }
    for line in reported("fleet", "jsonl").lines() {
        schema::assert_exact("fleet-line", &serde_json::from_str(line).unwrap());
    }
}
