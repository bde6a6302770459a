//! Untrusted names of hosts, loads, labels and tasks cannot inject content into a harness, a browser, a database or a
//! spreadsheet, and every document stays valid. The table contains all formats, including this program's own formats.

use crate::read;

use proptest::prelude::*;
use punctual_formats::{
    CaseOutcome, Cases, KcidbIds, bencher, cyclictest_json, cyclictest_text, junit, kcidb, lava, prometheus, sarif,
    squad_metrics, squad_tests, tap,
};
use punctual_model::{
    Bench, BenchLog, BenchParts, BenchPlan, BenchSettings, Finding, Promise, Recording, Series, Suite, SuiteEnd,
    SuiteRan, SuiteResult, Verdict,
};
use punctual_report::{
    TextStyle, csv, html, json, json_line, json_text, linuxcnc, suite_csv, suite_html, suite_text, text,
};
use punctual_testing::runs;
use punctual_units::Histogram;

type Row = (&'static str, fn(&Recording, &Verdict) -> String, fn(&str));

fn ids() -> KcidbIds {
    KcidbIds { origin: "punctual".into(), build: None }
}

fn plain() -> TextStyle {
    TextStyle { color: false, width: 80 }
}

/// All formats of `punctual report` except perfetto, which is binary and tested separately.
const FORMATS: &[Row] = &[
    ("html", |r, v| html(r, v, "run <b> \u{202e}"), read::html),
    ("text", |r, v| text(r, v, plain()), read::plain),
    ("linuxcnc", |r, v| linuxcnc(r, v, plain()), read::plain),
    ("json", |r, v| json_text(&json(r, v)), read::json),
    ("csv", |r, _| csv(r), read::csv),
    ("cyclictest", |r, _| cyclictest_text(r, None).unwrap_or_default(), read::cyclictest),
    ("cyclictest-json", |r, _| cyclictest_json(r, None).unwrap_or_else(|_| "{}".into()), read::json),
    ("junit", |r, v| junit(&Cases::of_run(r, v)), read::junit),
    ("tap", |r, v| tap(&Cases::of_run(r, v)), read::tap),
    ("lava", |r, v| lava(&Cases::of_run(r, v)), read::lava),
    ("prometheus", prometheus, read::prometheus),
    ("kcidb", |r, v| kcidb(&Cases::of_run(r, v), &ids()).unwrap(), read::json),
    ("squad-tests", |r, v| squad_tests(&Cases::of_run(r, v)), read::json),
    ("squad-metrics", |r, v| squad_metrics(&Cases::of_run(r, v)), read::json),
    ("bencher", |r, v| bencher(&Cases::of_run(r, v)), read::json),
    ("sarif", |r, _| sarif(&r.findings, Some("1")), read::json),
    ("jsonl", jsonl, |text| text.lines().for_each(read::json)),
];

fn jsonl(recording: &Recording, verdict: &Verdict) -> String {
    let lines = punctual_history::fleet::lines(&[punctual_history::summary(recording, verdict, None)]);
    lines.iter().map(|line| json_line(&serde_json::to_value(line).unwrap())).collect()
}

fn of_suite_and_bench(recording: &Recording, name: &str) {
    let ended = [
        SuiteEnd::Unsupported { why: name.into() },
        SuiteEnd::Failed { why: name.into() },
        SuiteEnd::Ran(Box::new(SuiteRan {
            counts: Default::default(),
            lateness: [7u64, 9].into_iter().fold(Histogram::new(), |mut h, ns| {
                h.record(ns);
                h
            }),
            page_faults: None,
            mode_switches: None,
            class: None,
            broken: vec![name.into()],
            inconclusive: vec![name.into()],
            notes: vec![name.into()],
        })),
    ];
    let deadline_ns = punctual_units::Nanos(1);
    let result =
        |ended| SuiteResult { test: name.into(), promise: Promise::Each, interval_ns: None, deadline_ns, ended };
    let suite = Suite {
        schema: punctual_model::SUITE_SCHEMA.into(),
        backend: name.into(),
        environment: [(name.to_owned(), name.to_owned())].into(),
        cpu: None,
        duration_ns: deadline_ns,
        under: vec![],
        results: ended.into_iter().map(result).collect(),
        interrupted: true,
        signal: Some(name.into()),
        not_run: vec![name.into()],
    };
    read::plain(&suite_text(&suite));
    read::html(&suite_html(&suite));
    read::csv(&suite_csv(&suite));
    of_cases(&Cases::of_suite(recording, &suite));
    let settings = BenchSettings::Network(punctual_model::NetworkSettings {
        to: None,
        secret_file: None,
        folder: None,
        bytes: 64,
        duration_ns: deadline_ns,
        beside: punctual_model::Beside::Nothing,
    });
    let plan = BenchPlan { settings, repetitions: 1, not_measured: vec![], notes: vec![] };
    let mut bench = Bench::of(BenchLog { plan, repetitions: vec![], parts: BenchParts::default() });
    let mut series = Series::new(name, name, name);
    series.push(1.0);
    bench.series = vec![series.clone(), series];
    of_cases(&Cases::of_bench(recording, &bench));
}

fn of_cases(cases: &Cases) {
    assert!(cases.cases().all(|case| case.outcome > CaseOutcome::Pass), "{cases:?}");
    read::junit(&junit(cases));
    read::tap(&tap(cases));
    read::lava(&lava(cases));
    for text in [squad_tests(cases), squad_metrics(cases), bencher(cases)] {
        read::json(&text);
    }
}

fn of_findings(findings: &[Finding]) {
    let cases = Cases::of_findings(Default::default(), findings);
    assert_eq!(cases.cases().count(), findings.len());
    read::junit(&junit(&cases));
    read::tap(&tap(&cases));
    read::lava(&lava(&cases));
    read::json(&sarif(findings, None));
}

fn assert_harmless(name: &str) {
    let (mut recording, verdict) = runs::hostile(name);
    // An external file may have a second phase and CPU of the same name, which this program never writes.
    recording.run.complete = true;
    let second = recording.run.phases[0].clone();
    recording.run.phases.push(second);
    for phase in &mut recording.run.phases {
        phase.label = Some(name.to_owned());
    }
    recording.run.machine.kernel_release = Some(name.to_owned());
    for (format, write, read) in FORMATS {
        let written = write(&recording, &verdict);
        assert!(!written.is_empty() || *format == "cyclictest", "{format}");
        read(&written);
    }
    of_findings(&recording.findings);
    of_suite_and_bench(&recording, name);
}

#[test]
fn known_tricks_are_harmless_in_every_format() {
    for name in punctual_testing::hostile::NAMES {
        assert_harmless(name);
    }
}

#[test]
fn every_format_is_here() {
    let is_here = |name: &str| FORMATS.iter().any(|(here, ..)| *here == name);
    let names = punctual_formats::FORMATS.iter().map(|format| format.name);
    assert_eq!(names.filter(|name| !is_here(name)).collect::<Vec<_>>(), ["perfetto"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_name_is_harmless_in_every_format(
        name in "(\\PC|\\p{Cc}|[<>\"'&`#=+@\\\\]|<script>|\\]\\]>|\x1b\\[|<LAVA_SIGNAL_|\n| ){0,12}"
    ) {
        assert_harmless(&name);
    }
}
