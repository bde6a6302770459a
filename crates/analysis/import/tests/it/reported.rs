//! Public results that were read wrongly: what is true of each.

use crate::common;

use common::{import, losses, max_ns, path, problems, total};
use punctual_import::{Error, Options, read};
use punctual_model::{LostKind, Recording};

fn reported(name: &str) -> Recording {
    import(&format!("reported/{name}"))
}

fn refused(name: &str) -> String {
    let name = format!("reported/{name}");
    read(&name, std::fs::File::open(path(&name)).unwrap(), &Options::default()).unwrap_err().to_string()
}

/// Samples and largest latency of each phase, µs.
fn phases(run: &Recording) -> Vec<(u64, u64)> {
    let of = |phase: &punctual_model::Phase| {
        let max = phase.cpus.iter().filter_map(|c| c.max_ns).max().unwrap_or(0);
        (phase.cpus.iter().map(|c| c.ran).sum(), max / 1_000)
    };
    run.run.phases.iter().map(of).collect()
}

#[test]
fn nothing_vanishes_from_a_text_with_several_runs() {
    for (name, expected) in [
        ("equals-line.txt", &[(200, 20), (200, 900)][..]),
        ("equals-live.txt", &[(166_934, 39_242)]),
        ("two-runs-live.txt", &[(100_000, 39_242), (100_000, 18)]),
        ("two-runs-hist-no-header.txt", &[(100, 10), (100, 900)]),
        ("hist-then-live.txt", &[(100, 10), (9_000, 1_800)]),
        ("one-line.txt", &[(16_667, 3_400)]),
        ("isolated-line.txt", &[(100_000, 3_400)]),
        ("uptime-line.txt", &[(60_000, 3_400)]),
        ("clock-line.txt", &[(100_000, 3_400)]),
        ("ci-prefix.txt", &[(60_000, 3_400)]),
        ("summary-only.txt", &[(594_416, 985)]),
        ("osadl-histogram.tsv", &[(200, 20)]),
    ] {
        let run = reported(name);
        assert_eq!(phases(&run), expected, "{name}");
        assert_eq!(problems(&run), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn runs_are_named_by_what_stands_before_them() {
    let labels = |name| reported(name).run.phases.iter().filter_map(|p| p.label.clone()).collect::<Vec<_>>();
    assert_eq!(
        labels("equals-line.txt"),
        ["run 1, line 2 (idle): wakeup latency", "run 2, line 15 (load): wakeup latency"]
    );
    assert_eq!(
        labels("two-runs-live.txt"),
        ["run 1, line 2 (Without the patch): wakeup latency", "run 2, line 4 (With the patch): wakeup latency"]
    );
    assert_eq!(labels("uptime-line.txt"), ["wakeup latency"]);
}

#[test]
fn what_is_stated_is_kept() {
    let run = reported("told-max-dropped.txt");
    let cpu = &run.run.phases[0].cpus[0];
    assert_eq!((cpu.ran, cpu.min_ns, cpu.max_ns), (600_000, Some(2_000), Some(19_000)));
    assert!(problems(&run).iter().any(|p| p.contains("600000") && p.contains("579506")), "{:?}", problems(&run));
    let run = reported("summary-only.txt");
    let cpus = &run.run.phases[0].cpus;
    assert_eq!((cpus[1].min_ns, cpus[1].max_ns, cpus[1].mean_ns), (Some(5_000), Some(985_000), Some(26_000.0)));
    assert_eq!(losses(&run, LostKind::Distribution), 2);
}

#[test]
fn columns_are_known_by_their_names() {
    for (name, expected, cpus) in [
        ("bins-us-header.csv", (1_053, 30), 2),
        ("ms.csv", (503, 2_000), 1),
        ("samples.csv", (4, 900), 1),
        ("osadl-histogram.tsv", (200, 20), 2),
    ] {
        let run = reported(name);
        assert_eq!(
            (total(&run), max_ns(&run) / 1_000, run.run.phases[0].cpus.len()),
            (expected.0, expected.1, cpus),
            "{name}"
        );
    }
}

#[test]
fn a_table_of_something_else_is_refused_with_what_was_seen() {
    let error = refused("send-statistics.csv");
    for part in ["time, iteration, size, seconds, microseconds", "--columns"] {
        assert!(error.contains(part), "{error}");
    }
    let numbers = "0,12\n1,15\n2,900\n3,14\n4,13\n5,12\n";
    let error = read("x.csv", numbers.as_bytes(), &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Unlike { .. }), "{error}");
    let given = Options { columns: Some("skip,sample:us".parse().unwrap()), ..Options::default() };
    assert_eq!(read("x.csv", numbers.as_bytes(), &given).unwrap().figures(), 1);
}

#[test]
fn columns_as_people_write_them() {
    for (text, samples, largest) in [
        ("time;latency (us)\n0,001;12,5\n0,002;13,7\n0,003;980,1\n", 3, 980_100),
        ("seq,latency_s\n0,1.2e-05\n1,1.5e-05\n2,9.0e-04\n", 3, 900_000),
        (",latency_ns\n0,12000\n1,15000\n2,900000\n", 3, 900_000),
        ("| bin (us) | cpu0 |\n|---:|-----|\n| 1 | 10 |\n| 2 | 3 |\n", 13, 2_000),
        ("# bin count\n0 0\n1 5\n2 900\n3 4\n4 0\n5 0\n6 1\n", 910, 6_000),
        ("latency_us\n5\n6\n7\n900\n", 4, 900_000),
    ] {
        let run = common::from_text(text);
        assert_eq!((total(&run), max_ns(&run)), (samples, largest), "{text}");
    }
    let extremes = common::from_text("| CPU | min (us) | max (us) |\n|---|---|---|\n| 0 | 3 | 120 |\n| 1 | 4 | 90 |\n");
    assert_eq!((max_ns(&extremes), extremes.run.phases[0].cpus.len()), (120_000, 2));
}
