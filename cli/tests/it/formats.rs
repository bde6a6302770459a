//! Tests `report --format`: every format of every kind of run, exit codes, and files that are replaced or refused.

use crate::common;
use common::{answer, punctual, run};
use std::path::{Path, PathBuf};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/analysis/import/tests/fixtures").join(name)
}

const OF_EVERY_RUN: [&str; 11] =
    ["html", "text", "json", "csv", "junit", "tap", "lava", "kcidb", "squad-tests", "squad-metrics", "bencher"];

fn report(run: &Path, format: &str, more: &[&str]) -> (i32, String, String) {
    answer(punctual().arg("report").arg(run).args(["--format", format]).args(more).output().unwrap())
}

#[test]
#[ignore = "live: timing"]
fn a_measured_run_is_written_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let (code, _, err) = run(&[
        "measure",
        "-D",
        "300ms",
        "-a",
        "0",
        "--no-context",
        "-c",
        "max < 10s",
        "--out",
        out.to_str().unwrap(),
        "-q",
    ]);
    assert!(code == 0 || code == 3, "{code} {err}");
    for format in OF_EVERY_RUN.iter().chain(&["cyclictest", "cyclictest-json", "rt-tests", "prometheus", "squad"]) {
        let (code, text, err) = report(&out, format, &[]);
        assert!(code == 0 && !text.is_empty() && err.is_empty(), "{format}: {code} {err}");
    }
    for (format, says) in [("sarif", "punctual audit --format sarif"), ("perfetto", "--trace always")] {
        let (code, text, err) = report(&out, format, &[]);
        assert!(code == 2 && text.is_empty() && err.contains(says), "{format}: {code} {err}");
    }
    let (code, _, err) = report(&out, "cyclictest", &["--load", "none"]);
    assert!(code == 2 && err.contains("load `none`"), "{err}");
}

#[test]
fn another_tools_file_is_written_where_it_tells_enough() {
    let file = sample("ct-2.4.json");
    for format in OF_EVERY_RUN.iter().chain(&["cyclictest", "cyclictest-json", "prometheus"]) {
        let (code, text, err) = report(&file, format, &["-c", "max < 20ms"]);
        assert!(code == 0 && !text.is_empty(), "{format}: {code} {err}");
    }
    let (_, junit, _) = report(&file, "junit", &["-c", "max < 20ms"]);
    assert!(junit.contains("<failure"), "{junit}");
    let (code, _, err) = report(&file, "perfetto", &[]);
    assert!(code == 2 && err.contains("punctual explain FILE --perfetto OUT"), "{err}");
}

#[test]
fn what_a_file_does_not_tell_is_left_out_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    let text = "T: 0 ( 1201) P:99 I:1000 C: 100000 Min:      5 Act:   10 Avg:   40 Max:     900\n";
    std::fs::write(&file, text).unwrap();
    for format in ["csv", "lava", "squad-metrics", "bencher", "prometheus", "cyclictest", "cyclictest-json", "junit"] {
        let (code, text, err) = report(&file, format, &[]);
        assert!(code == 0 && !text.contains("p99") && !text.contains("Overflow"), "{format}: {code} {text}");
        assert!(
            err.contains("unknown: for 100,000 samples the file contains only the number of samples and the smallest"),
            "{format}: {err}"
        );
    }
}

#[test]
fn a_collectors_file_is_replaced_and_every_other_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample("ct-2.4.json");
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for _ in 0..2 {
        assert_eq!(report(&file, "prometheus", &["--out", &out("x.prom")]).0, 0);
    }
    assert!(std::fs::read_to_string(out("x.prom")).unwrap().contains("punctual_wakeup_latency_seconds_bucket"));
    assert_eq!(report(&file, "junit", &["--out", &out("x.xml")]).0, 0);
    let (code, _, err) = report(&file, "junit", &["--out", &out("x.xml")]);
    assert!(code == 4 && err.contains("exists"), "{err}");
    std::os::unix::fs::symlink(out("elsewhere"), out("link.xml")).unwrap();
    assert_eq!(report(&file, "junit", &["--out", &out("link.xml")]).0, 4, "a prepared link is not followed");
    assert!(!Path::new(&out("elsewhere")).exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing half-written stays");
}

/// Name of the kind of run, an example run, and the formats that can contain it.
type Kind = (&'static str, PathBuf, &'static [&'static str]);

/// Formats that contain named outcomes and values.
const CASES: [&str; 7] = ["junit", "tap", "lava", "kcidb", "squad-tests", "squad-metrics", "bencher"];

fn kinds() -> [Kind; 10] {
    let fixture = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let of_latency: &[&str] = &["csv", "jsonl", "cyclictest", "cyclictest-json", "prometheus"];
    [
        ("a run of wakeup latencies", fixture("fleet/board-1"), of_latency),
        ("a run of wakeup latencies", sample("ct-2.4.json"), of_latency),
        ("an imported benchmark", sample("std_kernel_4B_multithread_output.csv"), &[]),
        ("an event suite", fixture("kinds/events-killed"), &["csv"]),
        ("an event suite", fixture("kinds/events-interrupted"), &["csv"]),
        ("a scheduling experiment", fixture("kinds/sched"), &["csv"]),
        ("a benchmark", fixture("kinds/bench"), &["csv"]),
        ("a benchmark", fixture("kinds/bench-interrupted"), &["csv"]),
        ("a watch", fixture("watch"), &[]),
        ("many runs", fixture("fleet"), &["jsonl"]),
    ]
}

#[test]
fn every_format_holds_every_kind_of_run_or_says_which_formats_do() {
    for (kind, run, more) in kinds() {
        let of_cases: &[&str] =
            if ["a scheduling experiment", "a watch", "many runs"].contains(&kind) { &[] } else { &CASES };
        let takes = |name: &str| ["html", "text", "json"].iter().chain(more).chain(of_cases).any(|f| *f == name);
        for format in punctual_formats::FORMATS {
            let (code, text, err) = report(&run, format.name, &["--kcidb-build", "a:b"]);
            let case = format!("{kind} ({}), {}: {code} {err}", run.display(), format.name);
            match format.name {
                name if takes(name) => assert!(code == 0 && text.lines().count() > 0 && text.trim() != "{}", "{case}"),
                // These formats also need an audit or a trace.
                "sarif" | "perfetto" if kind == "a run of wakeup latencies" => {
                    assert!(code == 2 && text.is_empty() && err.contains("punctual "), "{case}");
                }
                _ => {
                    let known = punctual_formats::FORMATS.iter().map(|f| f.name).filter(|name| takes(name));
                    let known: Vec<&str> = known.collect();
                    let (last, most) = known.split_last().unwrap();
                    let says = format!("cannot represent {kind}; use --format {} or {last}", most.join(", "));
                    assert!(code == 2 && text.is_empty() && err.contains(&says), "{case}");
                }
            }
        }
    }
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    for (kind, run, _) in kinds().into_iter().filter(|(kind, ..)| *kind != "a run of wakeup latencies") {
        for more in [&["--claim", "max < 1s"][..], &["--linuxcnc"], &["--load", "io"]] {
            let (code, text, err) = answer(punctual().arg("report").arg(&run).args(more).output().unwrap());
            assert!(code == 2 && text.is_empty() && err.contains(more[0]), "{kind}: {code} {err}");
        }
    }
}

/// In every format for a test harness at least one result is not a pass.
#[test]
fn what_is_inconclusive_passes_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let unsupported = folder.path().join("run");
    let lacks = answer(punctual().args(["events", "gpio", "-q", "-o"]).arg(&unsupported).output().unwrap());
    assert_eq!(lacks.0, 3, "{}", lacks.2);
    let of_kinds = kinds().into_iter().map(|(_, run, _)| run);
    let ended = |run: &PathBuf| ["killed", "interrupted"].iter().any(|word| run.to_string_lossy().contains(word));
    let runs: Vec<(PathBuf, &[&str])> = of_kinds
        .filter(ended)
        .map(|run| (run, &[][..]))
        .chain([(unsupported, &[][..]), (sample("ct-2.4.json"), &["-c", "P(>1s) < 1e-12 @95%"][..])])
        .collect();
    for (run, more) in &runs {
        let shown = |format: &str| {
            let (code, text, err) = report(run, format, &[&["--kcidb-build", "a:b"], *more].concat());
            assert_eq!(code, 0, "{}: {err}", run.display());
            text
        };
        let case = run.display();
        assert!(shown("tap").lines().any(|line| line.starts_with("not ok")), "{case}");
        assert!(!shown("junit").contains("errors=\"0\">\n  <testsuite"), "{case}");
        assert!(shown("lava").lines().any(|line| line.ends_with("RESULT=unknown>")), "{case}");
        assert!(shown("kcidb").contains("\"ERROR\""), "{case}");
        assert!(shown("squad-tests").contains("\"skip\""), "{case}");
    }
    assert_eq!(runs.len(), 5);
    let claimed = report(&sample("ct-2.4.json"), "prometheus", &["-c", "P(>1s) < 1e-12 @95%"]).1;
    assert!(
        claimed.contains("punctual_verdict{outcome=\"pass\"} 0") && claimed.contains("{outcome=\"inconclusive\"} 1")
    );
}

#[test]
fn a_suite_that_was_ended_names_the_signal_and_the_tests_that_did_not_run() {
    let suites = kinds().map(|(_, run, _)| run).into_iter().filter(|run| run.to_string_lossy().contains("events-"));
    for (run, ended) in suites.zip(["has no recorded end (killed, or still running)", "ended early by SIGTERM"]) {
        for format in ["text", "html", "tap", "junit", "kcidb"] {
            let (code, text, err) = report(&run, format, &["--kcidb-build", "a:b"]);
            let says = text.to_lowercase().contains(&ended.to_lowercase());
            assert!(code == 0 && says && !text.contains("ran to its end"), "{format}: {err}{text}");
            assert!(["udp", "timerfd"].iter().all(|test| text.contains(test)), "{format}: {text}");
        }
    }
}

#[test]
fn runs_without_latencies_are_no_lines_of_a_fleet_and_none_of_a_history() {
    let (_, bench, _) = &kinds()[6];
    let (_, sched, _) = &kinds()[5];
    for format in ["text", "json", "jsonl"] {
        let both = answer(punctual().arg("report").args([bench, sched]).args(["-f", format]).output().unwrap());
        assert!(both.0 == 2 && both.1.is_empty() && both.2.contains("a benchmark has no wakeup latencies"), "{both:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("h.db");
    let added = punctual().args(["history", "--db"]).arg(&db).arg("add").arg(bench).output().unwrap();
    let (code, _, err) = answer(added);
    assert!(code == 2 && err.contains("a benchmark has no wakeup latencies"), "{code} {err}");
}

#[test]
fn a_published_table_has_as_many_columns_in_each_row() {
    let (_, run, _) = &kinds()[6];
    let (_, csv, _) = report(run, "csv", &[]);
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [8; 4], "{csv}");
}

#[test]
fn lists_are_documents_too() {
    for command in ["events", "sched"] {
        let (code, text, err) = run(&[command, "--list", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{err}"));
        let list = json["result"]["list"].as_array().unwrap();
        assert!(code == 0 && list.len() >= 8 && list.iter().all(|one| one["about"].is_string()), "{text}");
        let (code, text, _) = run(&[command, "--list", "--quiet"]);
        assert_eq!((code, text.as_str()), (0, ""));
    }
}
