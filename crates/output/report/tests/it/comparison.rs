//! Compares groups that differ, that do not differ, and that are too small; golden files of all formats.

use punctual_model::{
    Against, Blur, BootsNeeded, BootsRecipe, CauseShare, Class, Comparison, ComparisonDrawings, ComparisonRow,
    Conclusion, Covariate, DoubtfulRun, Group, Known, Outcome, Problem, ProblemKind, Ratio, SampleUnit, Sampled,
    Scatter, Unlike, UnlikeKind, VirtualTime,
};
use punctual_report::{
    Decision, SUMMARY_LINES, TextStyle, comparison_html, comparison_json, comparison_summary, comparison_text,
    json_text,
};
use punctual_testing::{golden, golden_page};
use punctual_units::Histogram;
use std::borrow::Cow;

fn sampled(values: &[f64]) -> Sampled {
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let n = values.len() as u64;
    Sampled { n, median: values.get(values.len() / 2).copied(), mean, values: values.to_vec(), ..Sampled::default() }
}

fn row(load: &str, figure: &str, a: &[f64], b: &[f64], ratio: Option<Ratio>, conclusion: Conclusion) -> ComparisonRow {
    let p = ratio.filter(|r| r.interval.is_some()).map(|_| 0.0022);
    ComparisonRow {
        load: load.into(),
        figure: figure.into(),
        unit: "ns".into(),
        sample: SampleUnit::Boot,
        more_is_better: false,
        groups: vec![sampled(a), sampled(b)],
        against: vec![Against { ratio, p, q: p.map(|p| p * 2.0), conclusion, ..Against::default() }],
    }
}

fn ratio(value: f64, interval: Option<(f64, f64)>) -> Option<Ratio> {
    Some(Ratio { value, interval, confidence: 0.9588, least_n: 4 })
}

fn group(name: &str) -> Group {
    let boots = (1..=3).map(|n| format!("seed {n}")).collect();
    Group { name: name.into(), boots, runs: 3, folder: Some(format!("out/{name}")), scored: 300_000 }
}

/// Returns a row with 100 batches per group that correlate with their neighbours, and temperatures below and above 78
/// °C.
fn batches() -> ComparisonRow {
    let of = |mean: f64, effective: f64| Sampled {
        values: vec![mean; 2],
        n: 100,
        effective: Some(effective),
        lag_one: Some(0.95),
        median: Some(mean),
        mean: Some(mean),
        ..Sampled::default()
    };
    let heat = Covariate {
        at: 78.0,
        step: 1.29,
        p: 0.002,
        all: ratio(1.12, Some((1.10, 1.13))).unwrap(),
        below: ratio(1.016, Some((1.0, 1.026))).unwrap(),
        n_below: (9, 13),
        share: Some(0.87),
        is_most: true,
    };
    ComparisonRow {
        load: "N-queens, N = 12".into(),
        figure: "time of a batch".into(),
        unit: "s".into(),
        sample: SampleUnit::Batch,
        more_is_better: false,
        groups: vec![of(21.79, 5.0), of(24.27, 6.0)],
        against: vec![Against { ratio: ratio(1.114, None), covariate: Some(heat), ..Against::default() }],
    }
}

/// Returns the throughput of a load, which temperature explains in part.
fn rate() -> ComparisonRow {
    let (faster, cooled) = (ratio(1.25, Some((1.1, 1.4))), ratio(1.04, Some((0.98, 1.1))));
    let reported =
        Against { ratio: faster, p: Some(1e-5), q: Some(1e-4), conclusion: Conclusion::More, ..Against::default() };
    ComparisonRow {
        groups: vec![sampled(&[800.0; 4]), sampled(&[1000.0; 4])],
        against: vec![Against { equal_temperature: cooled, paired: true, ..reported }],
        unit: "MiB/s".into(),
        more_is_better: true,
        ..row("memory", "copied", &[], &[], None, Conclusion::More)
    }
}

/// Returns boots of a benchmark that differ because of temperature.
fn hot() -> ComparisonRow {
    let mut row = ComparisonRow { sample: SampleUnit::Boot, load: "matrix".into(), ..batches() };
    row.against[0].conclusion = Conclusion::More;
    row
}

pub fn comparison() -> Comparison {
    let (fast, slow) = ([7_000.0, 7_100.0, 7_300.0], [201_000.0, 443_000.0, 614_000.0]);
    let far = ratio(62.4, Some((28.0, 87.0)));
    let mut rows = vec![
        row("all loads", "max", &fast, &slow, far, Conclusion::More),
        row("all loads", "p50", &fast, &fast, ratio(1.0, Some((0.97, 1.03))), Conclusion::Alike),
        row("io", "max", &slow, &fast, ratio(1.0 / 62.4, Some((1.0 / 87.0, 1.0 / 28.0))), Conclusion::Less),
        row("cmd:make -j4 'x'", "max", &fast[..1], &slow[..1], ratio(28.7, None), Conclusion::TooFew),
        row("timers", "max", &[], &[], None, Conclusion::Missing),
        batches(),
        rate(),
    ];
    rows.push(hot());
    let cause = |class, who: Option<&str>| CauseShare {
        class,
        who: who.map(Into::into),
        wakeups: 3,
        of: 8,
        longest_ns: 331_000,
    };
    Comparison {
        groups: vec![group("6.12-rt"), group("6.12 <stock>")],
        recipes: vec![BootsRecipe {
            load: "all loads".into(),
            figure: "max".into(),
            spread: 0.031,
            is_seen: true,
            tests: 6,
            needed: vec![BootsNeeded { difference: 0.1, boots: 7 }, BootsNeeded { difference: 0.2, boots: 6 }],
        }],
        one_boot: false,
        unknown_boots: vec!["a.csv".into(), "b.csv".into()],
        began_alike: vec![false],
        virtual_time: Some(VirtualTime {
            emulator: "QEMU 7.2.22".into(),
            machine: "pc".into(),
            kernel: "6.12-rt".into(),
            instruction_ns: 2,
            cpus: 1,
            seed: 1,
        }),
        rows,
        unlike: vec![
            Unlike { what: UnlikeKind::Period, values: vec![Some("1.00 ms".into()), None] },
            Unlike { what: UnlikeKind::Temperature, values: vec![Some("55.0 °C".into()), Some("71.0 °C".into())] },
        ],
        causes: vec![vec![cause(Class::HigherPriority, Some("multipathd")), cause(Class::IdleExit, None)], Vec::new()],
        left_out: vec!["network".into()],
        problems: vec!["out/b/boot-1: the `io` load did not run".into()],
        doubtful: vec![DoubtfulRun {
            run: "out/b/boot-2".into(),
            outcome: Outcome::Inconclusive,
            problems: vec![Problem {
                kind: ProblemKind::MachineChanged,
                text: "PID 88 (`punctual measure`) also measured on CPU 0-1".into(),
            }],
        }],
        not_known: Vec::new(),
    }
}

/// Two runs of one boot, without a verdict.
fn of_one_boot() -> Comparison {
    let mut p99 = row("all loads", "p99", &[61_400.0], &[177_000.0], ratio(2.88, None), Conclusion::TooFew);
    (p99.groups[0].lower, p99.groups[0].upper) = (Some(57_000.0), Some(70_000.0));
    p99.groups[1].lower = Some(140_000.0);
    let worst = row("all loads", "max", &[1_650_000.0], &[3_160_000.0], ratio(1.91, None), Conclusion::TooFew);
    let group = |name: &str| Group { runs: 1, boots: vec![name.into()], folder: Some(name.into()), ..group(name) };
    Comparison {
        groups: vec![group("a"), group("a2")],
        one_boot: true,
        unknown_boots: Vec::new(),
        virtual_time: None,
        rows: vec![worst, p99],
        problems: Vec::new(),
        unlike: Vec::new(),
        ..comparison()
    }
}

#[test]
fn two_runs_of_one_boot_have_a_change_and_no_verdict() {
    let text = comparison_summary(&of_one_boot(), Decision::NotJudged, "punctual compare a a2", TextStyle::default());
    golden("tests/golden/comparison-one-boot.txt", &text);
}

pub fn drawings() -> ComparisonDrawings {
    let histogram = |values: &[u64]| {
        let mut all = Histogram::new();
        values.iter().for_each(|ns| all.record(*ns));
        Known::new(Cow::Owned(all), Blur::EXACT)
    };
    ComparisonDrawings {
        histograms: vec![("all loads".into(), vec![histogram(&[5_000, 7_000, 7_100]), histogram(&[6_000, 614_000])])],
        scatters: vec![Scatter {
            of: "N-queens, N = 12".into(),
            name: "time of a batch".into(),
            unit: "s".into(),
            at: Some(78.0),
            groups: vec![vec![(63.0, 18.1), (80.0, 22.0)], vec![(64.0, 18.2), (81.0, 25.0)]],
        }],
    }
}

#[test]
fn every_format_is_as_it_was() {
    let comparison = comparison();
    golden("tests/golden/comparison.txt", &comparison_text(&comparison, TextStyle::default()));
    golden_page("tests/golden/comparison.html", &comparison_html(&comparison, &drawings()));
    golden("tests/golden/comparison.json", &json_text(&comparison_json(&comparison)));
}

#[test]
fn sentences_say_which_way_and_how_sure() {
    let value = serde_json::to_value(comparison_json(&comparison())).unwrap();
    let all = value["sentences"].as_array().unwrap();
    let said = |i: usize| all[i].as_str().unwrap();
    let headline = value["headline"].as_str().unwrap();
    let starts = "In virtual time, the worst wakeup over all loads is 62.4 times as long [28.0, 87.0 at 95 %]";
    assert!(headline.starts_with(starts), "{headline}");
    let any = |text: &str| all.iter().any(|s| s.as_str().unwrap().contains(text));
    for text in [
        "shows no difference between",
        "98 % lower [96 %, 99 % at 95 %] with 6.12 <stock> than with 6.12-rt (7.10 µs instead of 443 µs)",
        "No verdict on one figure in the table: the boot of each run is not recorded.",
        "Unknown for 6.12-rt and 6.12 <stock>, and not compared: the worst wakeup under `timers`",
        "are worth 5 and 6 independent ones",
        "The difference is mostly thermal (87 % of it): from 78 °C on, values are 29 % higher with either",
        "the ratio of 6.12 <stock> (13 of 100) to 6.12-rt (9 of 100) is 1.016 [1.000, 1.026 at 95 %]",
        "all of one boot: a verdict requires four boots of each",
        "At equal temperature it is 4.0 % higher [-2.0 %, 10 % at 95 %].",
        "the kernel itself may have caused the higher temperature, so the total difference counts",
        "25 % higher [10 %, 40 % at 95 %]",
    ] {
        assert!(any(text), "{text} is not in {all:#?}");
    }
    assert!(said(0).contains("% lower") && all.last().unwrap().as_str().unwrap().contains("on one figure"));
    assert_eq!(value["clock"], "virtual");
    let limits: Vec<&str> = value["cannot_say"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
    let boots = "Boots of one group spread by 3.1 % in the worst wakeup over all loads: to show a difference in four of five \
                 comparisons requires this many boots of each (6 comparisons corrected for): 10 %: 7, 20 %: 6.";
    assert_eq!(value["boots_sentences"], serde_json::json!([boots]));
    assert!(limits.iter().any(|text| text.starts_with("The boots of a.csv and 1 other: not recorded")), "{limits:#?}");
}

#[test]
fn a_summary_fits_a_screen_and_ends_with_the_decision() {
    let one = comparison();
    let mut many = comparison();
    let long = "a name of a group that is longer than what anybody types ".repeat(3);
    many.groups.iter_mut().for_each(|group| group.name.clone_from(&long));
    many.rows = std::iter::repeat_n(one.rows.clone(), 9).flatten().collect();
    many.problems = vec![long.repeat(4); 8];
    let decisions =
        [(Decision::Worse, "WORSE  "), (Decision::NotWorse, "NOT WORSE  "), (Decision::NotJudged, "NOT JUDGED  ")];
    for comparison in [&one, &many] {
        for (decision, word) in decisions {
            let text = comparison_summary(comparison, decision, "punctual compare a b", TextStyle::default());
            assert!(text.lines().count() <= SUMMARY_LINES, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.lines().last().unwrap().starts_with(word), "{text}");
            assert!(text.contains("punctual compare a b --full"), "{text}");
        }
    }
    golden(
        "tests/golden/comparison-summary.txt",
        &comparison_summary(&one, Decision::Worse, "punctual compare a b", TextStyle::default()),
    );
}

#[test]
fn nothing_compared_is_said() {
    let empty = Comparison { rows: Vec::new(), virtual_time: None, ..comparison() };
    assert!(comparison_text(&empty, TextStyle::default()).starts_with("Nothing was compared."));
    assert!(!comparison_html(&empty, &ComparisonDrawings::default()).contains("<svg"));
}
