//! Tests that commands that only read files can access nothing except their arguments.

use crate::common;

use common::run;
use std::fs;
use std::os::unix::fs::symlink;

/// Creates a run directory whose run.json is a link to a file outside it. Returns its path.
fn led_out(place: &std::path::Path) -> String {
    let (out, elsewhere) = (place.join("run"), place.join("elsewhere.json"));
    let (code, _, err) =
        run(&["import", "../crates/analysis/import/tests/fixtures/ct-hist-stdout.txt", "--out", out.to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    fs::rename(out.join("run.json"), &elsewhere).unwrap();
    symlink(&elsewhere, out.join("run.json")).unwrap();
    out.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "live: landlock"]
fn a_link_out_of_a_run_directory_leads_nowhere() {
    let place = tempfile::tempdir().unwrap();
    let out = led_out(place.path());
    for words in [&["report", out.as_str()][..], &["compare", out.as_str(), out.as_str()]] {
        let (code, text, err) = run(words);
        assert_ne!(code, 0, "{text}");
        assert!(err.contains("run.json") && err.contains("Permission denied"), "{err}");
    }
}

#[test]
fn results_are_made_where_they_are_asked_for_also_below_new_folders() {
    let place = tempfile::tempdir().unwrap();
    let run_of = |folder: &str| place.path().join(folder).to_str().unwrap().to_owned();
    let out = run_of("a/b/run");
    let (code, _, err) = run(&["import", "../crates/analysis/import/tests/fixtures/ct-hist-stdout.txt", "--out", &out]);
    assert_eq!(code, 0, "{err}");
    let page = run_of("page.html");
    let (code, _, err) = run(&["report", &out, "--format", "html", "--out", &page]);
    assert_eq!(code, 0, "{err}");
    assert!(fs::read_to_string(&page).unwrap().contains("</html>"));
    let comparison = run_of("comparison.html");
    let (code, _, err) = run(&["compare", &out, &out, "--format", "html", "--out", &comparison]);
    assert!(code == 0 || code == 3, "{err}");
    assert!(fs::read_to_string(&comparison).unwrap().contains("</html>"));
}

#[test]
#[ignore = "live: landlock"]
fn other_readers_are_confined_as_well() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (out, db) = (led_out(place.path()), path("new/history.db"));
    let (code, text, err) = run(&["history", "add", &out, "--db", &db]);
    assert!(code != 0 && err.contains("Permission denied"), "{text}{err}");
    assert!(fs::metadata(&db).is_ok(), "the database is made before anything is read");

    fs::create_dir(path("series")).unwrap();
    fs::write(path("watch.json"), "{}").unwrap();
    symlink(path("watch.json"), path("series/watch.json")).unwrap();
    let (code, text, err) = run(&["watch", "--status", &path("series")]);
    assert!(code != 0, "{text}{err}");

    fs::write(path("grub"), "GRUB_CMDLINE_LINUX=\"quiet\"\n").unwrap();
    let (code, text, err) = run(&["audit", "--config", &path("grub")]);
    assert!(code == 0 || code == 1, "{text}{err}");
}
