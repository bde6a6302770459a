//! Comparisons: what they say for groups that differ, that do not, and that are too small; golden files of all formats.

use punctual_model::{Comparison, ComparisonRow, Group, Ratio, VirtualTime};
use punctual_report::{TextStyle, comparison_html, comparison_json, comparison_text, json_text};
use std::path::PathBuf;

fn row(load: &str, figure: &str, a: &[f64], b: &[f64], ratio: Option<Ratio>) -> ComparisonRow {
    let middle = |v: &[f64]| v.get(v.len() / 2).copied();
    ComparisonRow {
        load: load.into(),
        figure: figure.into(),
        median_a_ns: middle(a),
        median_b_ns: middle(b),
        ratio,
        p: ratio.map(|_| 0.0022),
        a_ns: a.to_vec(),
        b_ns: b.to_vec(),
    }
}

fn ratio(value: f64, interval: Option<(f64, f64)>) -> Option<Ratio> {
    Some(Ratio { value, interval, confidence: 0.9588, least_n: 4 })
}

fn group(name: &str) -> Group {
    Group { name: name.into(), runs: (1..=3).map(|n| format!("seed {n}")).collect(), folder: format!("out/{name}") }
}

fn comparison() -> Comparison {
    let (fast, slow) = ([7_000.0, 7_100.0, 7_300.0], [201_000.0, 443_000.0, 614_000.0]);
    let far = ratio(62.4, Some((28.0, 87.0)));
    Comparison {
        a: group("6.12-rt"),
        b: group("6.12 <stock>"),
        sample: "boot".into(),
        virtual_time: Some(VirtualTime {
            emulator: "QEMU 7.2.22".into(),
            machine: "pc".into(),
            kernel: "6.12-rt".into(),
            instruction_ns: 2,
            cpus: 1,
            seed: 1,
        }),
        rows: vec![
            row("all loads", "max", &fast, &slow, far),
            row("all loads", "p50", &fast, &fast, ratio(1.0, Some((0.97, 1.03)))),
            row("io", "max", &slow, &fast, ratio(1.0 / 62.4, Some((1.0 / 87.0, 1.0 / 28.0)))),
            row("cmd:make -j4 'x'", "max", &fast[..1], &slow[..1], ratio(28.7, None)),
            row("timers", "max", &[], &[], None),
        ],
        problems: vec!["out/b/boot-1: the `io` load did not run".into()],
    }
}

fn compare(name: &str, got: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == got, "{name} differs; UPDATE_GOLDEN=1 writes it anew");
}

#[test]
fn every_format_is_as_it_was() {
    let comparison = comparison();
    compare("comparison.txt", &comparison_text(&comparison, TextStyle::default()));
    compare("comparison.html", &comparison_html(&comparison));
    compare("comparison.json", &json_text(&comparison_json(&comparison)));
}

#[test]
fn sentences_say_which_way_and_how_sure() {
    let value = comparison_json(&comparison());
    let all = value["sentences"].as_array().unwrap();
    let said = |i: usize| all[i].as_str().unwrap();
    let headline = value["headline"].as_str().unwrap();
    assert!(
        headline
            .starts_with("In virtual time, the worst wakeup under all loads is 62.4 times [28.0, 87.0 at 95 %] later")
    );
    assert!(said(0).contains("does not tell"), "{}", said(0));
    assert!(said(1).contains("62.4 times [28.0, 87.0 at 95 %] earlier"), "{}", said(1));
    assert!(said(2).contains("too few boots"), "{}", said(2));
    assert!(said(3).contains("was not measured in both"), "{}", said(3));
    assert_eq!(value["clock"], "virtual");
}

#[test]
fn nothing_compared_is_said() {
    let empty = Comparison { rows: Vec::new(), virtual_time: None, ..comparison() };
    assert!(comparison_text(&empty, TextStyle::default()).starts_with("Nothing was compared."));
    assert!(!comparison_html(&empty).contains("<svg"));
}
