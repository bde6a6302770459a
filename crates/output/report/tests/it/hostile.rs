//! Untrusted names of tasks, hosts and loads are not interpreted by a browser, a terminal or a harness.

use proptest::prelude::*;
use punctual_model::{
    Bench, BenchDistribution, BenchLog, BenchParts, BenchPlan, BenchSettings, Beside, Explanation, NetworkSettings,
    Recording, Series, Verdict,
};
use punctual_report::{
    TextStyle, bench_csv, bench_html, bench_text, csv, explanation_html, html, json, json_text, text, timeline_text,
};
use punctual_testing::runs;

/// Checks that the page contains only its own markup: no text between `<` and `>` is untrusted.
fn assert_harmless_html(page: &str) {
    // The page's own script is last, and contains no name from the run.
    assert_eq!(page.matches("<script>").count(), 1);
    let lower = page.split("<script>").next().unwrap().to_ascii_lowercase();
    for forbidden in ["<script", "<img", "<iframe", "<a href=\"http", "javascript:alert", "src=", "url(", "@import"] {
        assert!(!lower.contains(forbidden), "{forbidden}");
    }
    assert_plain(page);
}

/// Checks that the text contains no control characters except newline, and no line that a LAVA dispatcher interprets.
fn assert_plain(text: &str) {
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "a control character got through");
    assert!(!text.contains("<LAVA_"), "a LAVA signal got through");
    assert!(!text.contains('\u{202e}'), "a direction override got through");
}

/// Checks the reports on a benchmark that has untrusted text in every field.
fn assert_bench_harmless(name: &str) {
    let network = NetworkSettings {
        to: Some(name.into()),
        secret_file: Some(name.into()),
        folder: None,
        bytes: 64,
        duration_ns: punctual_units::Nanos(1),
        beside: Beside::Nothing,
    };
    let settings = BenchSettings::Network(network);
    let plan = BenchPlan { settings, repetitions: 1, not_measured: vec![name.into()], notes: vec![name.into()] };
    let mut bench = Bench::of(BenchLog { plan, repetitions: Vec::new(), parts: BenchParts::default() });
    let mut series = Series::new(name, name, name);
    [1.0, 2.0, 4.0].into_iter().for_each(|v| series.push(v));
    let mut histogram = punctual_units::Histogram::new();
    histogram.record(7);
    bench.distributions.push(BenchDistribution { of: name.into(), name: name.into(), histogram });
    bench.series.push(series);
    let page = bench_html(&bench);
    assert_harmless_html(&page);
    assert!(page.contains("Every repetition") && page.contains("<circle"), "it is drawn");
    assert_plain(&bench_text(&bench));
    assert_plain(&bench_csv(&bench));
}

fn assert_harmless(name: &str) {
    assert_bench_harmless(name);
    for (recording, verdict) in [runs::hostile(name), runs::hostile_explained(name)] {
        assert_run_harmless(&recording, &verdict);
    }
    let (recording, _) = runs::hostile_explained(name);
    let victims = recording.explained.iter().map(|line| line.victim.clone()).collect();
    let explanation = Explanation { victims, chosen: name.into(), notes: vec![name.into()], ..Explanation::default() };
    let timelines: Vec<_> = recording.explained.iter().map(|line| line.timeline.clone()).collect();
    assert_harmless_html(&explanation_html(name, &explanation, &timelines));
    for (line, width) in recording.explained.iter().zip([1, 40, 80, 133, 200].into_iter().cycle()) {
        let picture = timeline_text(&line.victim, line.timeline.as_ref().unwrap(), TextStyle { color: false, width });
        assert_plain(&picture);
        assert!(picture.lines().all(|l| l.chars().count() <= width.max(40)), "{picture}");
    }
}

fn assert_run_harmless(recording: &Recording, verdict: &Verdict) {
    assert_harmless_html(&html(recording, verdict, "run"));
    for width in [1, 40, 80, 200] {
        let summary = text(recording, verdict, TextStyle { color: false, width });
        assert_plain(&summary);
        let widest = summary.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(widest <= width.max(40), "{widest} columns for {width}");
    }
    assert_plain(&csv(recording));
    let document = json_text(&json(recording, verdict));
    assert!(!document.contains('<'));
    assert_plain(&document);
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert!(
        read(&document) == read(&serde_json::to_value(json(recording, verdict)).unwrap().to_string()),
        "escaping changed the meaning"
    );
}

#[test]
fn known_tricks() {
    for name in
        [runs::HOSTILE, "", "`", "``", "' onload='x", "<LAVA_SIGNAL_ENDRUN>", "\n<LAVA_SIGNAL_ENDRUN>", "--><svg>"]
    {
        assert_harmless(name);
    }
}

#[test]
fn long_names_do_not_blow_up_the_page() {
    let (recording, verdict) = runs::hostile(&"x<".repeat(100_000));
    assert!(html(&recording, &verdict, "run").len() < 2_000_000);
}

#[test]
fn colour_is_the_only_escape() {
    let (recording, verdict) = runs::hostile(runs::HOSTILE);
    let style = TextStyle { color: true, width: 80 };
    let coloured = text(&recording, &verdict, style);
    assert!(coloured.contains("\x1b[1;31mFAIL"));
    let mut plain = coloured;
    for sgr in ["\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m", "\x1b[1m", "\x1b[0m"] {
        plain = plain.replace(sgr, "");
    }
    assert_eq!(plain, text(&recording, &verdict, TextStyle { color: false, ..style }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_name(name in "(\\PC|\\p{Cc}|[<>\"'&`]|<script>|</style>|\x1b\\[|<LAVA_SIGNAL_| ){0,12}") {
        assert_harmless(&name);
    }
}
