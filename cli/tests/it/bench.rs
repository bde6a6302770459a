//! Tests `punctual bench`: exit codes, run directories, resuming, comparing.

use crate::common;

use common::{answer, punctual, run};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn bench(axis: &str, more: &[&str], out: &Path) -> (i32, String, String) {
    answer(punctual().args(["bench", axis, "-o"]).arg(out).args(more).output().unwrap())
}

fn json(run: &Path) -> Value {
    common::shown(run)["result"].clone()
}

#[test]
#[ignore = "live: timing"]
fn every_axis_measures_and_can_be_shown_again() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    for (axis, more) in [
        ("nqueens", vec!["-n", "8", "--threads", "2"]),
        ("network", vec!["--size", "4", "-D", "30ms", "--store", here]),
        ("memory", vec!["--size", "1", "--threads", "1"]),
        ("disk", vec!["--writes", "2", "--dir", here]),
        ("switch", vec!["--rounds", "20"]),
    ] {
        let out = folder.path().join(axis);
        let (code, text, err) = bench(axis, &[&more[..], &["--repeat", "2"]].concat(), &out);
        assert!(code == 0 && text.starts_with("benchmark: "), "{axis}: {err}");
        let shown = |format: &str| {
            let (code, text, err) = answer(punctual().arg("report").arg(&out).args(["-f", format]).output().unwrap());
            assert_eq!((code, err.as_str()), (0, ""), "{axis}");
            text
        };
        assert!(text.starts_with(&shown("text")));
        assert!(shown("html").contains("<h2>Every repetition</h2>") && shown("csv").starts_with("repetition,"));
        let json = json(&out);
        assert_eq!((&json["schema"], &json["plan"]["settings"]["axis"]), (&"punctual.bench/1".into(), &axis.into()));
        assert_eq!(json["repetitions"].as_array().unwrap().len(), 2);
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().filter(|e| e.path().is_file()).collect();
    assert!(left.is_empty(), "scratch files and images are removed: {left:?}");
}

#[test]
#[ignore = "live: timing"]
fn the_published_search_gives_the_published_table() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let (code, text, err) =
        bench("nqueens", &["--mode", "compat", "-n", "6", "--threads", "4", "--repeat", "3", "--fill", "0.01"], &out);
    assert!(code == 0 && text.contains("do not compare them with those of the published Python"), "{err}");
    let (_, csv, _) = answer(punctual().arg("report").arg(&out).args(["-f", "csv"]).output().unwrap());
    assert!(csv.starts_with("time,queen,threads,solutions,seconds,microseconds"), "{csv}");
    assert!(csv.lines().count() == 4 && csv.lines().skip(1).all(|l| l.contains(", 6, 4, 4, 0, ")), "{csv}");
    // The importer of the published files reads ours as well.
    let file = folder.path().join("ours.csv");
    std::fs::write(&file, csv).unwrap();
    let (code, text, err) = answer(punctual().arg("report").arg(&file).args(["-f", "text"]).output().unwrap());
    assert!(code == 0 && text.contains("N-queens, N = 6, 4 processes"), "{text}{err}");
}

#[test]
#[ignore = "live: timing"]
fn two_runs_are_compared_figure_by_figure() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    for out in [&a, &b] {
        assert_eq!(bench("nqueens", &["-n", "7", "--threads", "1", "--repeat", "15"], out).0, 0);
    }
    let (code, text, err) = answer(punctual().arg("compare").args([&a, &b]).arg("--json").output().unwrap());
    assert_eq!(code, 0, "{err}");
    let rows = serde_json::from_str::<Value>(&text).unwrap()["result"]["rows"].clone();
    let figures: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|r| r["figure"].as_str()).collect();
    assert_eq!(figures, ["time of a count", "CPU time of a count"]);
    assert_eq!(rows[0]["groups"][0]["n"], 15);
}

/// Returns repetition number and number of solutions for everything that was counted.
fn counted(json: &Value) -> Vec<(u64, u64)> {
    let one = |r: &Value| (r["number"].as_u64().unwrap(), r["checks"][0]["got"].as_u64().unwrap());
    json["repetitions"].as_array().unwrap().iter().map(one).collect()
}

/// Starts the command and kills it after this time. Returns `true` if it had already ended.
fn killed(command: &mut Command, after: Duration) -> bool {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    if let Some(status) = child.try_wait().unwrap() {
        assert_eq!(status.code(), Some(0), "ended on its own, but not successfully");
        return true;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

/// After each of 20 kills the run can be resumed, and it ends with each repetition present once and correct.
#[test]
#[ignore = "live: timing"]
fn killed_at_random_instants_it_resumes_with_nothing_lost_or_doubled() {
    if common::is_not_tested("it starts more slowly than this kills") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut random = 0x2545_F491_4F6C_DD1Du64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let (mut kills, mut before, mut grew) = (0, 0, false);
    while kills < 20 {
        let mut command = punctual();
        match out.join("run.json").exists() {
            true => command.args(["bench", "nqueens", "--resume"]).arg(&out),
            false => {
                // If it was killed before it wrote run.json, the directory is not yet a run.
                let _ = std::fs::remove_dir_all(&out);
                command.args(["bench", "nqueens", "-n", "13", "-t", "2", "--repeat", "100000", "-o"]).arg(&out)
            }
        };
        assert!(!killed(&mut command, Duration::from_millis(next() % 300)), "so many repetitions do not end");
        kills += 1;
        if out.join("run.json").exists() {
            let json = json(&out);
            let all = counted(&json);
            let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, (1..=all.len() as u64).collect::<Vec<_>>(), "each once, in order");
            assert!(all.len() >= before, "nothing is lost");
            assert!(all.iter().all(|(_, solutions)| *solutions == 73_712));
            grew |= all.len() > before;
            before = all.len();
        }
    }
    assert!(grew && before > 0, "some repetitions were done between kills");
}

/// One long count, done in parts, is killed repeatedly; its result is still correct.
#[test]
#[ignore = "live: timing"]
fn a_count_that_is_killed_again_and_again_is_right_in_the_end() {
    if common::is_not_tested("it starts more slowly than this kills") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let begin = |n: &str| {
        let mut command = punctual();
        command.args(["bench", "nqueens", "-n", n, "-t", "1", "--repeat", "1", "-o"]).arg(&out);
        command
    };
    let resume = || {
        let mut command = punctual();
        command.args(["bench", "nqueens", "--resume"]).arg(&out);
        command
    };
    // Longer than the second after which parts are synced, so that there is something to resume from.
    let mut ended = killed(&mut begin("17"), Duration::from_millis(1400));
    for _ in 0..60 {
        if ended {
            break;
        }
        ended = killed(&mut resume(), Duration::from_millis(1400));
    }
    assert!(ended, "84 s are enough for 17 queens");
    let json = json(&out);
    assert_eq!(counted(&json), [(1, 95_815_104)]);
    let log = std::fs::read_to_string(out.join("bench.jsonl")).unwrap();
    let parts = log.lines().filter(|l| l.contains("\"record\":\"parts\"")).count();
    eprintln!("gone on {} times, {parts} records of parts", json["repetitions"][0]["resumed"]);
    let mut known = std::collections::BTreeSet::new();
    for line in log.lines().filter(|l| l.contains("\"record\":\"parts\"")) {
        let record: Value = serde_json::from_str(&line[9..]).unwrap();
        for part in record["done"].as_array().unwrap() {
            assert!(known.insert(part[0].as_u64().unwrap()), "part {} was counted twice", part[0]);
        }
    }
}

#[test]
#[ignore = "live: timing"]
fn an_interrupted_run_keeps_what_it_has_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut command = punctual();
    command.args(["bench", "nqueens", "-n", "12", "-t", "1", "--repeat", "100000", "-o"]).arg(&out);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let log = out.join("bench.jsonl");
    while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains("\"record\":\"repetition\"")) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (code, text, err) = answer(child.wait_with_output().unwrap());
    assert!(code == 130 && text.contains("of 100,000 repetitions are there"), "{code} {text} {err}");
    assert!(err.contains("punctual bench nqueens --resume"), "{err}");
    let json = json(&out);
    assert!(json["interrupted"] == true && !counted(&json).is_empty());
    let (code, _, err) = answer(punctual().args(["bench", "disk", "-o"]).arg(&out).output().unwrap());
    assert!(code == 2 && err.contains("not empty"), "{err}");
}

#[test]
fn wrong_usage_says_what_there_is() {
    for (words, reported) in [
        (vec!["nqueens", "-n", "28"], "1 to 27"),
        (vec!["nqueens", "--fill=-1"], "--fill"),
        (vec!["nqueens", "--resume", "/nonexistent"], "not a run directory"),
        (vec!["nqueens", "--resume", "x", "-n", "9"], "cannot be used with"),
        (vec!["memory", "--threads", "9999"], "taskset"),
        (vec!["disk", "--dir", "/nonexistent"], "--dir DIR"),
        (vec!["switch", "--cpus", "0,8000"], "CPU 8000"),
        (vec!["network", "--to", "127.0.0.1:1", "--repeat", "1"], "punctual serve --store DIR"),
        (vec!["network", "--size", "0"], "64 bytes to 64 MiB"),
    ] {
        let (code, _, err) = run(&[&["bench"], &words[..]].concat());
        assert!((code == 2 || code == 4) && err.contains(reported), "{words:?}: {code} {err}");
    }
}
