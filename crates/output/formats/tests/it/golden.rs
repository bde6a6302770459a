//! Compares every format with files in tests/golden.

use punctual_formats::{
    Cases, KcidbIds, bencher, cyclictest_json, cyclictest_text, junit, kcidb, lava, prometheus, sarif, squad_metrics,
    squad_tests, tap,
};
use punctual_model::{Recording, Verdict};
use punctual_testing::{golden, runs};

fn compare(name: &str, got: &str) {
    golden(format!("tests/golden/{name}"), got);
}

fn ids() -> KcidbIds {
    KcidbIds { origin: "punctual".into(), build: None }
}

fn all(name: &str, (recording, verdict): &(Recording, Verdict)) {
    let cases = Cases::of_run(recording, verdict);
    let file = |ending: &str, text: String| compare(&format!("{name}.{ending}"), &text);
    file("junit.xml", junit(&cases));
    file("tap", tap(&cases));
    file("lava.txt", lava(&cases));
    file("prom", prometheus(recording, verdict));
    file("squad-tests.json", squad_tests(&cases));
    file("squad-metrics.json", squad_metrics(&cases));
    file("bencher.json", bencher(&cases));
    file("kcidb.json", kcidb(&cases, &KcidbIds { build: Some("punctual:x".into()), ..ids() }).unwrap());
    file("sarif.json", sarif(&recording.findings, recording.run.tool.version.as_deref()));
    for (ending, made) in
        [("cyclictest.txt", cyclictest_text(recording, None)), ("cyclictest.json", cyclictest_json(recording, None))]
    {
        file(ending, made.unwrap_or_else(|e| format!("{e}\n")));
    }
}

#[test]
fn a_failing_run_in_every_format() {
    all("failing", &runs::failing());
}

#[test]
fn an_inconclusive_run_in_every_format() {
    all("inconclusive", &runs::inconclusive());
}

#[test]
fn an_empty_run_in_every_format() {
    all("empty", &runs::empty());
}

#[test]
fn a_run_with_hostile_names_in_every_format() {
    all("hostile", &runs::hostile(runs::HOSTILE));
}

#[test]
fn a_passing_claim_in_doubt_is_no_pass_in_any_format() {
    let (recording, verdict) = runs::inconclusive();
    let cases = Cases::of_run(&recording, &verdict);
    let of_io: Vec<_> = cases.cases().filter(|c| c.path[0] == "io").collect();
    assert!(of_io.iter().all(|case| case.outcome > punctual_formats::CaseOutcome::Pass), "{of_io:?}");
    assert!(junit(&cases).contains("<error type=\"inconclusive\""));
    assert!(!tap(&cases).lines().any(|line| line.starts_with("ok ") && line.contains("- io.")));
    assert!(lava(&cases).contains("TEST_CASE_ID=io-undoubted RESULT=unknown>"));
    assert!(squad_tests(&cases).contains("\"punctual/io/undoubted\": \"skip\""));
    assert!(kcidb(&cases, &ids()).unwrap().contains("\"ERROR\""));
}

#[test]
fn what_a_format_needs_and_the_run_lacks_is_reported() {
    let (mut recording, verdict) = runs::failing();
    recording.run.machine.kernel_release = None;
    let why = kcidb(&Cases::of_run(&recording, &verdict), &ids()).unwrap_err().to_string();
    assert!(why.contains("--kcidb-build"), "{why}");
    recording.run.started = None;
    let with_build = KcidbIds { build: Some("a:b".into()), ..ids() };
    assert!(
        kcidb(&Cases::of_run(&recording, &verdict), &with_build).unwrap_err().to_string().contains("punctual import")
    );
    for origin in ["", "Big", "a:b", "a b"] {
        let bad = KcidbIds { origin: origin.into(), build: None };
        assert!(kcidb(&Cases::of_run(&recording, &verdict), &bad).unwrap_err().to_string().contains("--kcidb-origin"));
    }
    assert!(cyclictest_text(&recording, Some("none")).unwrap_err().to_string().contains("load `none`"));
    let (damaged, _) = runs::damaged();
    assert!(cyclictest_json(&damaged, None).unwrap_err().to_string().contains("no histogram was kept for CPU"));
}
