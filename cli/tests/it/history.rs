//! Tests `history`: duplicates, shifts, exit codes of gates, kills and damaged files.

use crate::common;

use common::{answer, punctual};
use punctual_model::*;
use punctual_units::{CpuId, Histogram, Nanos, Scheduling};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const DAY: u64 = 86_400_000_000_000;

/// Creates the run of one day: 20,000 wakeups on each of two CPUs, with latencies around `level`, ns. Returns its path.
fn made(folder: &Path, day: u64, kernel: &str, level: u64) -> PathBuf {
    let out = folder.join(format!("{day:03}"));
    let run = described(day, kernel);
    let mut writer = punctual_rundir::Writer::create(&out, run, false).unwrap();
    let mut result = CpuResult {
        cpu: CpuId(0),
        tid: None,
        got: Some(Scheduling::Other { nice: 0 }),
        released: Some(20_000),
        ran: 20_000,
        skipped: Some(0),
        min_ns: None,
        max_ns: None,
        mean_ns: None,
        page_faults: None,
        involuntary_switches: None,
        run_delay_ns: None,
        blur: None,
        episodes: Vec::new(),
        blocks: Vec::new(),
    };
    let mut histogram = Histogram::new();
    (0..20_000u64).for_each(|n| histogram.record(level / 4 + level * n / 20_000));
    (result.min_ns, result.max_ns) = (histogram.min(), histogram.max());
    let phase = Phase {
        id: "1-idle".into(),
        load: "idle".into(),
        label: None,
        value: None,
        period_ns: None,
        start_mono_ns: Some(0),
        end_mono_ns: Some(20_000_000_000),
        planned_ns: Some(Nanos::from_secs(20)),
        cpus: vec![result.clone(), CpuResult { cpu: CpuId(1), ..result }],
        load_report: None,
        busy_with_others: None,
        traced: None,
        rounds: Vec::new(),
        problems: Vec::new(),
    };
    let kept = Distribution { raw: histogram, skipped: Histogram::new() };
    writer.phase_done(phase, &[(CpuId(0), kept.clone()), (CpuId(1), kept)], Vec::new()).unwrap();
    writer.finish().unwrap();
    out
}

fn described(day: u64, kernel: &str) -> Run {
    let stamp = Stamp { mono_ns: 5, boot_ns: 5, real_ns: 1_767_225_600_000_000_000 + day * DAY };
    Run {
        complete: true,
        ended_by: Some(EndedBy::Duration),
        started: Some(stamp),
        host: Some("bench-3".into()),
        command: vec!["punctual".into()],
        settings: Settings {
            clock: Some("CLOCK_MONOTONIC".into()),
            scheduling: Some(Scheduling::Other { nice: 0 }),
            period_ns: Some(Nanos::from_millis(1)),
            cpus: "0-1".parse().unwrap(),
            alignment: Some(Alignment::Staggered),
            duration_ns: Some(Nanos::from_secs(20)),
            warmup_ns: Some(Nanos::ZERO),
            loads: vec!["idle".into()],
            worst_kept: 8,
            claims: vec![Claim::none_missed()],
            ..Settings::default()
        },
        machine: MachineFacts {
            kernel_release: Some(kernel.into()),
            board: Some("Raspberry Pi 4 Model B".into()),
            cpus_online: Some("0-3".parse().unwrap()),
            ..MachineFacts::default()
        },
        ..Run::new(Tool { name: "punctual".into(), version: Some("0".into()) }, Kind::Latency)
    }
}

fn history(db: &Path, args: &[&str]) -> (i32, String, String) {
    answer(punctual().arg("history").args(args).arg("--db").arg(db).output().unwrap())
}

fn json(db: &Path, args: &[&str], expected: i32) -> Value {
    let (code, out, err) = history(db, &[&["--json"], args].concat());
    assert_eq!(code, expected, "{args:?}: {out}{err}");
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["exit_code"], code);
    punctual_testing::schema::holds(&value);
    value["result"].clone()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Creates 24 runs with latencies around 40 µs, followed by 8 with around 64 µs and another kernel.
fn shifted(folder: &Path) -> Vec<PathBuf> {
    let level = |day: u64| 40_000 + 600 * (day * 7 % 11);
    let old = (0..24).map(|day| made(folder, day, "6.12.9", level(day)));
    old.chain((24..32).map(|day| made(folder, day, "6.12.10", level(day) * 8 / 5))).collect()
}

#[test]
fn a_shift_is_told_with_its_kernel() {
    let place = tempfile::tempdir().unwrap();
    let (runs, db) = (place.path().join("runs"), place.path().join("h.db"));
    shifted(&runs);
    let (code, out, err) = history(&db, &["add", path(&runs)]);
    assert!(code == 0 && out.contains("32 of 32 runs are new"), "{out}{err}");
    let (code, out, _) = history(&db, &["add", path(&runs), path(&runs.join("003"))]);
    assert!(code == 0 && out.contains("0 of 33 runs are new"), "{out}");

    let found = json(&db, &["--figure", "p99.9", "--alarms", "4/year"], 0);
    let series = &found["groups"][0]["series"][0];
    assert_eq!((series["points"].as_array().unwrap().len(), series["shifts"].as_array().unwrap().len()), (32, 1));
    let shift = &series["shifts"][0];
    assert_eq!(
        (&shift["at"], &shift["kernel_before"], &shift["kernel"]),
        (&24.into(), &"6.12.9".into(), &"6.12.10".into())
    );
    assert_eq!(found["groups"][0]["runs"][24]["id"], shift["run"]);
    assert!(found["groups"][0]["runs"][0]["temperature_max_mc"].is_null());

    let page = place.path().join("page.html");
    let (code, out, _) = history(&db, &["--figure", "p99.9,max", "--alarms", "4/year", "--html", path(&page)]);
    assert_eq!(code, 0);
    let plain = out.replace('\n', " ");
    assert!(plain.contains("the first run at which the tail shifted") && plain.contains("6.12.9 → 6.12.10"), "{out}");
    assert!(out.contains('█') && !out.contains('\x1b'), "{out}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<title id=") && html.contains("<desc id=") && html.contains("class=\"event\""), "{html}");
    assert!(html.matches("<script").count() == 1 && html.contains("prefers-color-scheme:dark"));

    let points = |args: &[&str]| json(&db, args, 0)["groups"][0]["series"][0]["points"].as_array().unwrap().len();
    assert_eq!(points(&["--kernel", "6.12.10"]), 8);
    assert_eq!(points(&["--machine", "raspberry", "--since", "2026-01-30"]), 3);
    assert_eq!(history(&db, &["--load", "cpu"]).0, 2);
    assert_eq!(json(&db, &["remove", shift["run"].as_str().unwrap()], 0)["removed"], shift["run"]);
    assert_eq!(points(&["--kernel", "6.12.10"]), 7);
}

#[test]
fn gates_and_their_exit_codes() {
    let place = tempfile::tempdir().unwrap();
    let (runs, db) = (place.path().join("runs"), place.path().join("h.db"));
    let all = shifted(&runs);
    let (slow, fine) = (path(&all[24]), path(&all[23]));
    history(&db, &["add", path(&runs)]);
    let (code, out, _) = history(&db, &["gate", slow, "--baseline", "6.12.9"]);
    assert!(code == 1 && out.starts_with("WORSE  Run "), "{out}");
    let (code, out, _) = history(&db, &["gate", fine]);
    assert!(code == 0 && out.starts_with("NOT WORSE  Run ") && out.contains("by the rank of the run"), "{out}");
    // The same comparison through `history --baseline`.
    assert_eq!(history(&db, &["--baseline", "24", slow]).0, 1);
    assert_eq!(history(&db, &["gate", slow, "--tolerance", "90%"]).0, 0);

    let ids = json(&db, &[], 0)["groups"][0]["runs"].as_array().unwrap().clone();
    let id = |n: usize| ids[n]["id"].as_str().unwrap()[..10].to_owned();
    let (a, b) = (id(0), id(1));
    let set = json(&db, &["baseline", "set", "release", &a, &b], 0);
    assert_eq!((&set["name"], set["runs"].as_array().unwrap().len()), (&"release".into(), 2));
    assert_eq!(json(&db, &["baseline", "list"], 0)["baselines"][0]["name"], "release");
    let two = json(&db, &["gate", slow, "--baseline", "release"], 3);
    assert_eq!((&two["outcome"], &two["runs_needed"]), (&"inconclusive".into(), &2.into()));
    assert!(two["sentences"][0].as_str().unwrap().contains("2 more baseline runs are needed"), "{two}");
    let six: Vec<String> = (0..6).map(id).collect();
    let model = json(&db, &["gate", &id(24), "--baseline", &six.join(",")], 1);
    assert_eq!(model["method"], "log_normal");
    assert_eq!(json(&db, &["baseline", "remove", "release"], 0)["removed"], "release");
    assert_eq!(history(&db, &["gate", slow, "--baseline", "release"]).0, 2);

    let mut other = described(40, "6.12.11");
    other.settings.period_ns = Some(Nanos::from_micros(500));
    let out = runs.join("other");
    punctual_rundir::Writer::create(&out, other, false).unwrap().finish().unwrap();
    let refused = json(&db, &["gate", path(&out)], 2);
    assert_eq!(refused["outcome"], "not_comparable");
    assert!(refused["sentences"][0].as_str().unwrap().contains("period is 500 µs instead of 1.00 ms"), "{refused}");
}

#[test]
fn what_is_wrong_is_said() {
    let place = tempfile::tempdir().unwrap();
    let db = place.path().join("h.db");
    let (code, _, err) = history(&db, &[]);
    assert!(code == 2 && err.contains("history add"), "{err}");
    let (code, _, err) = history(&db, &["add", path(place.path())]);
    assert!(code == 2 && err.contains("contains no run directory"), "{err}");
    std::fs::write(&db, "certainly not a database, whatever its name says").unwrap();
    for args in [&[][..], &["add", path(place.path())], &["gate", "x"], &["baseline", "list"], &["remove", "x"]] {
        let (code, _, err) = history(&db, args);
        assert!(code == 2 && err.contains("is damaged") && err.contains("mv "), "{args:?} {err}");
    }
    for args in
        [&["--figure", "p42"][..], &["--since", "tomorrow"], &["--baseline", "3"], &["gate", "x", "--tolerance", "-1"]]
    {
        assert_eq!(history(&db, args).0, 2, "{args:?}");
    }
}

/// After a kill at any instant the history has only complete runs; adding the runs again adds the missing ones.
#[test]
fn kill_9_while_adding() {
    let place = tempfile::tempdir().unwrap();
    let (runs, db) = (place.path().join("runs"), place.path().join("h.db"));
    (0..60).for_each(|day| drop(made(&runs, day, "6.12.9", 40_000)));
    let mut held = 0;
    for delay in [1, 5, 20, 40, 80, 160, 320] {
        let mut adding = punctual();
        adding.args(["history", "add"]).arg(&runs).arg("--db").arg(&db).stdout(Stdio::null());
        let mut child = adding.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        if db.exists() && std::fs::metadata(&db).unwrap().len() > 0 {
            let (code, out, err) = history(&db, &["--json"]);
            assert!(code == 0 || err.contains("no run in the history"), "{delay}: {err}");
            let value: Value = serde_json::from_str(&out).unwrap();
            let now = value["result"]["groups"][0]["runs"].as_array().map_or(0, Vec::len);
            assert!(now >= held, "{delay}: {held} then {now}");
            held = now;
        }
    }
    let (code, _, err) = history(&db, &["add", path(&runs)]);
    assert_eq!(code, 0, "{err}");
    let all = json(&db, &[], 0);
    let runs = all["groups"][0]["runs"].as_array().unwrap();
    assert!(runs.len() == 60 && runs.iter().all(|r| r["cells"].as_array().unwrap().len() == 2));
}

#[test]
#[ignore = "live: timing"]
fn a_measurement_adds_itself_and_its_verdict_stays() {
    let place = tempfile::tempdir().unwrap();
    let (db, out) = (place.path().join("h.db"), place.path().join("run"));
    let measure = |out: &Path, db: &str| {
        let args = ["measure", "-D", "200ms", "-c", "max < 1ns", "--quiet"];
        answer(punctual().args(args).arg(format!("--history={db}")).arg("--out").arg(out).output().unwrap())
    };
    let (code, _, err) = measure(&out, path(&db));
    assert_eq!(code, 1, "{err}");
    let run = json(&db, &[], 0)["groups"][0]["runs"][0].clone();
    assert_eq!((&run["outcome"], &run["claims"][0]["outcome"]), (&"fail".into(), &"fail".into()));
    assert!(run["kernel"]["release"].is_string() && run["cells"][0]["max_ns"].as_u64() > Some(0));
    let (_, text, _) = history(&db, &["add", path(&out)]);
    assert!(text.contains("known already"), "{text}");
    let (code, _, err) = measure(&place.path().join("other"), "/dev/null/h.db");
    assert!(code == 1 && err.contains("was not added to the history"), "{code} {err}");
}

#[test]
fn other_tools_files_are_runs_too() {
    let place = tempfile::tempdir().unwrap();
    let db = place.path().join("h.db");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/analysis/import/tests/fixtures/ct-2.4.json");
    let run = place.path().join("run");
    let imported = punctual().arg("import").arg(&file).arg("--out").arg(&run).output().unwrap();
    assert!(imported.status.success());
    let added = json(&db, &["add", path(&file), path(&run)], 0);
    assert_eq!((&added["runs"][0]["what"], &added["runs"][1]["what"]), (&"added".into(), &"known already".into()));
    let found = json(&db, &["--figure", "max"], 0);
    assert_eq!(found["groups"][0]["runs"][0]["settings"]["measured_by"], "cyclictest");
}
