//! Files of other tools: only facts that they state are compared.

use punctual_compare::{Side, compare, drawings, is_inconclusive, is_worse, without_files};
use punctual_import::{Options, read, recording};
use punctual_model::{Comparison, Conclusion, Import, ImportedFile, Problem, ProblemKind, Recording, Series};

const A: &str = include_str!("../fixtures/live-a.txt");
const B: &str = include_str!("../fixtures/live-b.txt");

fn file(text: &str) -> Recording {
    recording(vec![read("x.txt", text.as_bytes(), &Options::default()).unwrap()])
}

/// Creates `times` recordings with different thread IDs, so that they are not copies.
fn files(text: &str, times: usize) -> Vec<Recording> {
    (0..times).map(|n| file(&text.replacen(" 1", &format!(" {}", n + 2), 1))).collect()
}

fn beside(a: &[Recording], b: &[Recording]) -> Comparison {
    compare(&[side("a", a), side("b", b)]).unwrap()
}

fn side<'a>(name: &str, runs: &'a [Recording]) -> Side<'a> {
    Side {
        name: name.into(),
        runs: runs.iter().map(|r| ("run".into(), r)).collect(),
        own_boots: true,
        ..Side::default()
    }
}

#[test]
fn of_number_and_extremes_no_quantile_is_compared() {
    let comparison = beside(&[file(A)], &[file(B)]);
    let rows: Vec<(&str, f64, f64)> = comparison
        .rows
        .iter()
        .map(|row| (row.figure.as_str(), row.groups[0].median.unwrap(), row.groups[1].median.unwrap()))
        .collect();
    assert_eq!(
        rows,
        [("max", 900_000.0, 60_000.0), ("mean", 40_000.0, 22_000.0), ("min", 5_000.0, 20_000.0)],
        "{comparison:?}"
    );
    assert!(comparison.rows.iter().all(|row| row.against[0].conclusion == Conclusion::TooFew));
    assert!(comparison.not_known.iter().all(|text| text.contains("only number, minimum, mean and maximum")));
    assert_eq!(comparison.not_known.len(), 2);
    assert!(!is_worse(&comparison) && is_inconclusive(&comparison), "one boot of each");
    let (a, b) = ([file(A)], [file(B)]);
    let drawn = drawings(&[side("a", &a), side("b", &b)], &comparison);
    assert!(drawn.histograms.iter().flat_map(|(_, groups)| groups).all(|known| known.values().is_empty()));
}

/// The minimum of b is much larger, but its maximum and mean are smaller, so b is better.
#[test]
fn a_smallest_that_is_larger_is_not_worse() {
    let (a, b) = (files(A, 6), files(B, 6));
    let comparison = beside(&a, &b);
    let reported: Vec<(&str, Conclusion)> =
        comparison.rows.iter().map(|row| (row.figure.as_str(), row.against[0].conclusion)).collect();
    assert_eq!(reported, [("max", Conclusion::Less), ("mean", Conclusion::Less), ("min", Conclusion::More)]);
    assert!(!is_worse(&comparison));
    assert!(is_worse(&beside(&b, &a)), "the largest is");
}

#[test]
fn copies_of_a_file_are_no_runs_of_their_own() {
    let (a, b) = (vec![file(A); 4], vec![file(B); 4]);
    let comparison = beside(&b, &a);
    assert!(is_inconclusive(&comparison));
    assert!(comparison.problems.iter().any(|text| text.contains("a copy is not a separate run")), "{comparison:?}");
}

#[test]
fn a_quantile_of_one_side_is_shown_and_not_compared() {
    let histogram = "# Histogram\n000010 000990\n000020 000010\n# Total: 000001000\n# Min Latencies: 00010\n\
                     # Avg Latencies: 00010\n# Max Latencies: 00020\n# Histogram Overflows: 00000\n";
    let comparison = beside(&[file(histogram)], &[file(A)]);
    let median = comparison.rows.iter().find(|row| row.figure == "p50").unwrap();
    assert_eq!((median.groups[0].median, median.groups[1].median), (Some(10_000.0), None));
    assert_eq!((median.against[0].conclusion, median.against[0].ratio), (Conclusion::Missing, None));
    assert!(comparison.rows.iter().any(|row| row.figure == "mean"));
}

#[test]
fn damaged_files_are_no_equal_ones() {
    let mut torn = file(B);
    let text = "the file ends within a row".to_owned();
    torn.run.phases[0].problems.push(Problem { kind: ProblemKind::Interrupted, text });
    let comparison = beside(&[file(B)], &[torn]);
    assert!(is_inconclusive(&comparison));
    assert_eq!(comparison.problems, ["b, run: the file ends within a row"]);
}

/// Returns a run imported from files whose names begin with `stem`, with one series for each of `subjects`.
fn of_two_files(stem: &str, subjects: [&str; 2]) -> Recording {
    let mut recording = file(A);
    recording.run.phases[0].label = Some(format!("{stem}_hist: wakeup latency"));
    let named = |name: &str| ImportedFile { name: format!("{name}.csv"), format: "csv".into(), bytes: 1, crc32: 1 };
    let series = |subject: &str| {
        let mut series = Series::new(format!("{stem}_{subject}"), "time of a batch", "s");
        (1..=20).for_each(|n| series.push(f64::from(n)));
        series
    };
    let files = ["hist", "multi", "single"].map(|name| named(&format!("{stem}_{name}"))).into();
    recording.run.import = Some(Import { files, series: subjects.map(series).into(), ..Import::default() });
    recording
}

#[test]
fn series_are_compared_without_the_names_of_their_files() {
    let subjects = ["multi: N-queens, 4", "single: N-queens, 1"];
    let mut runs = [of_two_files("std", subjects), of_two_files("rt", subjects)];
    runs.iter_mut().for_each(without_files);
    let comparison = beside(&runs[..1], &runs[1..]);
    let loads: Vec<&str> = comparison.rows.iter().map(|row| row.load.as_str()).collect();
    assert!(
        loads.contains(&"N-queens, 4") && loads.contains(&"N-queens, 1") && loads.contains(&"all loads"),
        "{loads:?}"
    );
}

#[test]
fn a_name_that_would_be_there_twice_keeps_its_file() {
    let mut run = of_two_files("std", ["multi: N-queens, 4", "single: N-queens, 4"]);
    without_files(&mut run);
    let names: Vec<&str> = run.run.import.iter().flat_map(|import| &import.series).map(|s| s.of.as_str()).collect();
    assert_eq!(names, ["std_multi: N-queens, 4", "std_single: N-queens, 4"]);
    assert_eq!(run.run.phases[0].label.as_deref(), Some("wakeup latency"));
}
