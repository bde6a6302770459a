//! Tests `punctual events`: exit codes, documents, run directories.

use crate::common;

use common::{answer, punctual, run};
use serde_json::Value;

fn mock(more: &[&str], out: &std::path::Path) -> (i32, String, String) {
    answer(punctual().args(["events", "--backend", "mock", "-o"]).arg(out).args(more).output().unwrap())
}

#[test]
fn kept_promises_pass_and_the_run_can_be_shown_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let (code, text, err) = mock(&[], &out);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("PASS: every promise was kept in every test") && text.contains("timerfd"), "{text}");
    let shown = |format: &str| {
        let (code, text, err) = answer(punctual().arg("report").arg(&out).args(["-f", format]).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""));
        text
    };
    assert_eq!(text.split_once("\nPASS").unwrap().0.trim_end(), shown("text").trim_end());
    assert!(shown("html").contains("backend <strong>mock</strong>") && shown("csv").starts_with("test,low_ns"));
    let json: Value = serde_json::from_str(&shown("json")).unwrap();
    assert_eq!(json["result"]["schema"], "punctual.events/1");
    assert_eq!(json["result"]["results"].as_array().unwrap().len(), 23);
}

#[test]
fn what_is_lost_fails_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["timerfd", "udp", "--faults", "drop=3,delay=2", "--json"];
    let (code, text, err) = mock(&more, &folder.path().join("run"));
    assert_eq!(code, 1, "{err}");
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["exit_code"], 1);
    let results = &json["result"]["results"];
    for n in 0..2 {
        assert_eq!(results[n]["ended"]["counts"]["lost"], 3);
        assert_eq!(results[n]["ended"]["counts"]["late"], 2);
    }
    assert_eq!(results[0]["ended"]["broken"][0], "3 lost");
    assert_eq!(results[1]["ended"]["broken"].as_array().unwrap().len(), 0, "UDP promises nothing");
    let (code, ..) = mock(&["udp", "--faults", "drop=3"], &folder.path().join("kept"));
    assert_eq!(code, 0);
}

#[test]
fn unsupported_is_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let (code, text, err) =
        answer(punctual().args(["events", "gpio", "-o"]).arg(&out).args(["-D", "100ms"]).output().unwrap());
    assert_eq!(code, 3, "{err}");
    assert!(text.contains("unsupported: no wire was given: use --gpio") && text.contains("INCONCLUSIVE"), "{text}");
}

#[test]
#[ignore = "live: timing"]
fn a_load_that_ends_makes_it_inconclusive_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (code, text, err) = mock(&["queue", "--under", "cmd:exit 7"], &folder.path().join("run"));
    // The signal may arrive before the first test begins, or later.
    match code {
        4 => assert!(err.contains("exit code 7") && err.contains("nothing was tested"), "{err}"),
        code => assert!(code == 3 && text.contains("DID NOT RUN"), "{code} {text}{err}"),
    }
}

#[test]
fn wrong_usage_says_what_there_is() {
    let (code, _, err) = run(&["events", "timer"]);
    assert!(code == 2 && err.contains("timerfd"), "{err}");
    let (code, _, err) = run(&["events", "--priority", "99"]);
    assert!(code == 2 && err.contains("5 to 98"), "{err}");
    let (code, text, _) = run(&["events", "--list"]);
    assert!(code == 0 && text.lines().count() == 23 && text.contains("rt-signal"));
}
