//! Tests `punctual sched`: the built-in experiments, files, errors. No test asserts a duration, since other tests run
//! at the same time.

use crate::common;

use common::{answer, may_be_real_time, punctual, run};
use serde_json::Value;
use std::path::Path;

/// A small experiment without real-time threads, which runs on any machine.
const SMALL: &str = r#"
name = "small"
about = "an ordinary thread that finds edges, and one that sleeps"
[[threads]]
name = "edges"
policy = "other"
cpu = "pinned"
workload = "canny"
amount = 1.0
[[threads]]
name = "sleeper"
policy = "other"
nice = 3
cpu = "free"
workload = "sleep"
amount = 1.0
"#;

fn sched(file: &Path, more: &[&str], out: &Path) -> (i32, String, String) {
    answer(punctual().arg("sched").arg(file).args(["--scale", "0.05", "-o"]).arg(out).args(more).output().unwrap())
}

#[test]
#[ignore = "live: timing"]
fn a_run_is_recorded_and_every_format_shows_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out, image) =
        (folder.path().join("small.toml"), folder.path().join("run"), folder.path().join("edges.pgm"));
    std::fs::write(&file, SMALL).unwrap();
    let (code, text, err) = sched(&file, &["--repeat", "2", "--image", image.to_str().unwrap()], &out);
    assert!([0, 1, 3].contains(&code), "{code} {err}");
    for said in ["[NRT thread #", "] edges Workload time: ", "] sleeper Ends (Elapsed: ", "repetition 2", "predicted"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let pgm = std::fs::read(&image).unwrap();
    assert!(pgm.starts_with(b"P5\n640 480\n255\n") && pgm[15..].contains(&255));
    let shown = |format: &str| {
        let (code, text, err) = answer(punctual().arg("report").arg(&out).args(["-f", format]).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""));
        text
    };
    assert!(text.starts_with(&shown("text")));
    let html = shown("html");
    assert!(
        html.contains("<svg role=\"img\"") && html.contains("Repetition 2") && html.matches("<script").count() == 1
    );
    assert_eq!(shown("csv").lines().count(), 5);
    let json: Value = serde_json::from_str(&shown("json")).unwrap();
    let result = &json["result"];
    assert_eq!(result["schema"], "punctual.sched/2");
    for repetition in result["repetitions"].as_array().unwrap() {
        for thread in repetition["threads"].as_array().unwrap() {
            assert_eq!(thread["whole"], true);
            let ns = |key: &str| thread[key].as_u64().unwrap();
            assert_eq!(ns("begins_ns") + ns("workload_ns"), ns("elapsed_ns"));
        }
    }
    let run: Value = serde_json::from_slice(&std::fs::read(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(
        (&run["kind"], &run["complete"], &run["schema_version"]),
        (&"sched".into(), &true.into(), &"1.8".into())
    );
    if !result["untraced"].is_null() {
        assert_eq!(code, 3, "what is not traced is never a pass");
        eprintln!("not tested: accounts of a trace: {}", result["untraced"]);
    }
}

#[test]
#[ignore = "live: timing"]
fn real_time_threads_end_in_their_order_or_are_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = punctual().args(["sched", "case-3", "--scale", "0.05", "--json", "-o"]).arg(&out).output().unwrap();
    let (code, text, err) = answer(output);
    let json: Value = serde_json::from_str(&text).unwrap();
    if !may_be_real_time() {
        eprintln!("not tested: real-time policies, which this process may not use");
        assert!(code == 4 && err.contains("CAP_SYS_NICE"), "{err}");
        return;
    }
    assert!([0, 1, 3].contains(&code), "{code} {err}");
    let threads = &json["result"]["repetitions"][0]["threads"];
    let end = |n: usize| ["released_ns", "elapsed_ns"].map(|key| threads[n][key].as_u64().unwrap()).iter().sum::<u64>();
    assert!(end(0) < end(1), "FIFO: the first to come is the first to end");
}

#[test]
fn what_is_wrong_is_named_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let file = folder.path().join("wrong.toml");
    let cases = [
        ("priority = 1", "other", "does not use priority"),
        ("colour = 1", "other", "colour"),
        ("", "fifo", "needs a priority"),
        ("runtime_ms = 5", "deadline", "needs period_ms"),
        ("", "best", "not a scheduling policy"),
    ];
    for (line, policy, said) in cases {
        std::fs::write(&file, SMALL.replace("policy = \"other\"\ncpu", &format!("policy = \"{policy}\"\n{line}\ncpu")))
            .unwrap();
        let (code, _, err) = sched(&file, &[], &out);
        assert!(code == 2 && err.contains(said), "{said}: {code} {err}");
    }
    std::fs::write(folder.path().join("x.json"), r#"{"tasks": {"a": {"run": 5, "barrier": "b"}}}"#).unwrap();
    let (code, _, err) = sched(&folder.path().join("x.json"), &[], &out);
    assert!(code == 2 && err.contains("`tasks.a.barrier`"), "{err}");
    std::fs::write(&file, SMALL).unwrap();
    let (code, _, err) = sched(&file, &["--cpu", "8000"], &out);
    assert!(code == 2 && err.contains("taskset"), "{err}");
    assert!(!out.exists());
    let (code, _, err) = run(&["sched", "case-9"]);
    assert!(code == 2 && err.contains("--list"), "{err}");
    let (code, _, err) = run(&["sched", "1", "--scale", "0"]);
    assert!(code == 2 && err.contains("0.01 to 600"), "{err}");
}

#[test]
fn the_list_names_every_experiment() {
    let (code, example, _) = run(&["sched", "--example"]);
    assert!(code == 0 && example.contains("[[threads]]") && example.contains("deadline_ms"), "{example}");
    let (code, text, _) = run(&["sched", "--list"]);
    assert!(code == 0 && text.lines().count() == 9 && text.contains("case-3-io"), "{text}");
}
