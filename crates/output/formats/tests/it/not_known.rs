//! Values that another tool's file does not state appear in no export. Values that it states appear in every format
//! that can represent them.

use punctual_formats::{
    Cases, KcidbIds, bencher, cyclictest_json, cyclictest_text, junit, kcidb, lava, prometheus, squad_metrics, tap,
};
use punctual_model::{Blur, Import, Known, Problem, ProblemKind, Recording, Unplaced, Verdict};
use punctual_report::{csv, json, json_text};
use punctual_testing::runs;
use punctual_units::Histogram;
use serde_json::Value;
use std::borrow::Cow;

fn imported(name: &str, text: &str) -> Recording {
    let read = punctual_import::read(name, text.as_bytes(), &punctual_import::Options::default()).unwrap();
    punctual_import::recording(vec![read])
}

/// Returns a summary `C: 100000 Min: 5 Avg: 40 Max: 900` without a histogram.
fn summary() -> (Recording, Verdict) {
    let recording = imported("live-a.txt", include_str!("../fixtures/live-a.txt"));
    let (_, verdict) = runs::empty();
    (recording, Verdict { claims: Vec::new(), problems: Vec::new(), ..verdict })
}

/// Reduces the valid test run to one CPU with these latencies and this uncertainty of their values.
fn known(values: &[(u64, u64)], blur: Blur) -> (Recording, Verdict) {
    let (mut recording, verdict) = runs::good();
    recording.run.phases.truncate(1);
    recording.run.phases[0].cpus.truncate(1);
    recording.run.import = Some(Import::default());
    let phase = recording.run.phases[0].id.clone();
    let mut raw = Histogram::new();
    values.iter().for_each(|(us, n)| raw.record_n(us * 1_000, *n));
    let result = &mut recording.run.phases[0].cpus[0];
    (result.ran, result.released, result.skipped) = (raw.count(), Some(raw.count()), Some(0));
    (result.min_ns, result.max_ns, result.mean_ns) = (raw.min(), raw.max(), None);
    result.blur = Some(Blur { above_ns: 999, skipped_at_most: Some(0), ..blur });
    let kept = recording.distributions.get_mut(&(phase, result.cpu)).unwrap();
    (kept.raw, kept.skipped) = (raw, Histogram::new());
    (recording, verdict)
}

/// Returns a run with 1,000 samples at 20 µs, and two above 100 µs, the larger at 1,800 µs.
fn overflow() -> (Recording, Verdict) {
    let unplaced = Some(Unplaced { count: 1, from_ns: 100_000, to_ns: Some(1_800_000) });
    known(&[(20, 1_000), (100, 1), (1_800, 1)], Blur { unplaced, ..Blur::default() })
}

fn hidden() -> (Recording, Verdict) {
    known(&[(20, 1_000), (50, 3)], Blur { hidden_from_ns: Some(100_000), ..Blur::default() })
}

/// Returns all documents that contain only figures, by name.
fn documents((recording, verdict): &(Recording, Verdict)) -> Vec<(&'static str, String)> {
    let cases = Cases::of_run(recording, verdict);
    let ids = KcidbIds { origin: "punctual".into(), build: Some("punctual:x".into()) };
    vec![
        ("squad-metrics", squad_metrics(&cases)),
        ("bencher", bencher(&cases)),
        ("lava", lava(&cases)),
        ("junit", junit(&cases)),
        ("tap", tap(&cases)),
        ("kcidb", kcidb(&cases, &ids).unwrap()),
        ("prometheus", prometheus(recording, verdict)),
        ("cyclictest", cyclictest_text(recording, None).unwrap()),
        ("cyclictest-json", cyclictest_json(recording, None).unwrap()),
    ]
}

#[test]
fn of_number_and_extremes_no_format_has_a_quantile_or_a_bin() {
    let run = summary();
    for (name, text) in documents(&run) {
        for invented in ["p50", "p99", "_bucket", "Overflow", "\"histogram\""] {
            assert!(!text.contains(invented), "{name} has {invented}: {text}");
        }
        let says = ["squad-metrics", "bencher", "lava"].contains(&name)
            || text.contains("number of samples and the smallest, mean");
        assert!(says, "{name} does not say what is left out: {text}");
    }
}

#[test]
fn of_number_and_extremes_these_are_in_every_format() {
    let run = summary();
    let text = cyclictest_text(&run.0, None).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with("# not known")).collect();
    let wanted = [
        "# Histogram",
        "# Total: 000100000",
        "# Min Latencies: 00005",
        "# Avg Latencies: 00040",
        "# Max Latencies: 00900",
        "",
    ];
    assert_eq!(rows, wanted, "{text}");
    let document: Value = serde_json::from_str(&cyclictest_json(&run.0, None).unwrap()).unwrap();
    let thread = &document["thread"]["0"];
    let all = ["cycles", "min", "max", "avg"].map(|key| thread[key].as_f64());
    assert_eq!(all, [Some(100_000.0), Some(5.0), Some(900.0), Some(40.0)], "{document}");
    let prom = prometheus(&run.0, &run.1);
    for (name, value) in [("min_seconds", "0.000005"), ("max_seconds", "0.0009"), ("samples", "100000")] {
        let line = prom.lines().find(|line| line.starts_with(&format!("punctual_wakeup_latency_{name}{{"))).unwrap();
        assert!(line.ends_with(&format!(" {value}")), "{line}");
    }
    assert!(prom.lines().any(|l| l.starts_with("punctual_wakeup_latency_mean_seconds{") && l.ends_with(" 0.00004")));
    let metrics: Value = serde_json::from_str(&squad_metrics(&Cases::of_run(&run.0, &run.1))).unwrap();
    let metric = |name: &str| {
        let found = metrics.as_object().unwrap().iter().find(|(key, _)| key.ends_with(&format!("/{name}")));
        found.and_then(|(_, value)| value["value"].as_f64())
    };
    assert_eq!(["min", "mean", "max"].map(metric), [Some(5_000.0), Some(40_000.0), Some(900_000.0)], "{metrics}");
    assert_eq!(
        csv(&run.0).lines().nth(1).unwrap().split(',').skip(4).collect::<Vec<_>>(),
        ["unplaced", "5000", "895001", "100000"]
    );
    let document: Value = serde_json::from_str(&json_text(&json(&run.0, &run.1))).unwrap();
    let raw = &document["phases"][0]["cpus"][0]["raw"];
    assert_eq!((raw["mean_ns"].as_f64(), raw["quantiles"][0]["value_ns"].as_u64()), (Some(40_000.0), None), "{raw}");
}

#[test]
fn what_is_written_is_read_back_as_it_was_known() {
    let (recording, _) = summary();
    let known = |recording: &Recording| {
        let phase = &recording.run.phases[0];
        let (result, raw) = (&phase.cpus[0], &recording.distribution(&phase.id, phase.cpus[0].cpu).unwrap().raw);
        let known = Known::new(Cow::Borrowed(raw), Blur::of(result));
        (known.count(), known.min(), known.max(), known.values().count(), known.beyond(), known.quantile(0.5))
    };
    let text = cyclictest_json(&recording, None).unwrap();
    assert_eq!(known(&imported("x.json", &text)), known(&recording), "{text}");
    let (recording, _) = overflow();
    for text in [cyclictest_text(&recording, None).unwrap(), cyclictest_json(&recording, None).unwrap()] {
        assert_eq!(known(&imported("x", &text)), known(&recording), "{text}");
    }
}

#[test]
fn a_counted_overflow_keeps_its_bins_and_its_number() {
    let run = overflow();
    let text = cyclictest_text(&run.0, None).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert_eq!(rows, ["000020 001000", "000099 000000"], "{text}");
    assert!(text.contains("# Total: 000001000") && text.contains("# Histogram Overflows: 00002"), "{text}");
    assert!(text.contains("# not known: for 2 samples the file contains only that each is at least 100 µs"), "{text}");
    let prom = prometheus(&run.0, &run.1);
    let buckets: Vec<&str> = prom.lines().filter(|line| line.contains("_bucket{")).collect();
    assert!(buckets.iter().any(|line| line.contains("le=\"5e-05\"") && line.ends_with(" 1000")), "{prom}");
    assert!(!buckets.iter().any(|line| line.contains("le=\"0.0002\"")), "no bucket beyond the last bin: {prom}");
    assert!(buckets.last().unwrap().ends_with(" 1002") && !prom.contains("_sum{"), "{prom}");
    let metrics = squad_metrics(&Cases::of_run(&run.0, &run.1));
    assert!(metrics.contains("/p99\"") && metrics.contains("/max\"") && !metrics.contains("/p99_9\""), "{metrics}");
    assert!(csv(&run.0).ends_with(",unplaced,100000,1700001,2\n"), "{}", csv(&run.0));
}

#[test]
fn where_samples_are_not_counted_neither_number_nor_maximum_is_known() {
    let run = hidden();
    let text = cyclictest_text(&run.0, None).unwrap();
    assert!(text.contains("\n000050 000003\n") && text.contains("# Min Latencies: 00020"), "{text}");
    for row in ["# Total", "# Max", "Overflow"] {
        assert!(!text.contains(row), "{text}");
    }
    let metrics = squad_metrics(&Cases::of_run(&run.0, &run.1));
    for name in ["p50", "max", "periods"] {
        assert!(!metrics.contains(&format!("/{name}\"")), "{metrics}");
    }
    let prom = prometheus(&run.0, &run.1);
    assert!(!prom.contains("_bucket") && !prom.contains("max_seconds{") && prom.contains("min_seconds{"), "{prom}");
}

#[test]
fn damage_is_in_every_format_that_has_a_place_for_it() {
    let (mut recording, verdict) = known(&[(20, 1_000)], Blur::default());
    let text = "300 samples are reported, 1000 are in the bins".to_owned();
    recording.run.phases[0].problems.push(Problem { kind: ProblemKind::Storage, text });
    let verdict = Verdict { problems: vec![(None, recording.run.phases[0].problems[0].clone())], ..verdict };
    for (name, document) in documents(&(recording.clone(), verdict.clone())) {
        let says =
            ["squad-metrics", "bencher", "lava"].contains(&name) || document.contains("300 samples are reported");
        assert!(says, "{name}: {document}");
    }
    assert!(prometheus(&recording, &verdict).contains("\npunctual_run_problems 1\n"));
    assert!(cyclictest_json(&recording, None).unwrap().contains("\"return_code\": 1"));
}

#[test]
fn lines_of_a_fleet_have_what_is_known() {
    let line = |(recording, verdict): &(Recording, Verdict)| {
        let mut lines = punctual_history::fleet::lines(&[punctual_history::summary(recording, verdict, None)]);
        lines.remove(0)
    };
    let figures = |run: &(Recording, Verdict)| {
        let line = line(run);
        (line.p50_ns, line.p99_ns, line.p999_ns, line.max_ns)
    };
    assert_eq!(figures(&summary()), (None, None, None, Some(900_000)));
    assert_eq!(figures(&overflow()), (Some(20_000), Some(20_000), None, Some(1_800_000)));
    assert_eq!(figures(&hidden()), (Some(20_000), Some(20_000), Some(50_000), None));
    let (recording, verdict) = known(&[(20, 1_000)], Blur::default());
    let torn = Problem { kind: ProblemKind::Storage, text: "300 samples are reported, 1000 are in the bins".into() };
    let verdict = Verdict { problems: vec![(None, torn)], ..verdict };
    assert!(line(&(recording, verdict)).doubt.is_some_and(|why| why.contains("300 samples")));
}
