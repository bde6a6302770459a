//! Tests runs that continue until their claims are decided.

use crate::common;
use common::{may_be_real_time, run, shown};
use serde_json::Value;
use std::path::Path;

fn until(out: &Path, args: &[&str]) -> (i32, String, String) {
    let common = ["measure", "--until-decided", "--full", "--no-sync", "--out", out.to_str().unwrap()];
    let (code, text, err) = run(&[&common[..], args].concat());
    // Lines are wrapped at arbitrary places.
    (code, text.split_whitespace().collect::<Vec<_>>().join(" "), err)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("{key} in {value}"))
}

#[test]
#[ignore = "live: timing"]
fn a_run_ends_when_its_claim_is_decided() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let args = ["-D", "400ms", "--time-limit", "60s", "-l", "idle,cpu", "-c", "P(>5s) < 1e-2", "-c", "max < 10s"];
    let mut tries = 0;
    let (code, text, err) = loop {
        let said = until(&out, &args);
        tries += 1;
        // A busy machine may give a load no CPU for a while, which rightly prevents a pass.
        if !said.1.contains("was given no CPU") || tries == 4 {
            break said;
        }
        std::fs::remove_dir_all(&out).unwrap();
    };
    if !may_be_real_time() {
        // An ordinary thread can never pass, so there is nothing to wait for.
        assert!(code == 3 && text.contains("could not have decided"), "{text}{err}");
        return;
    }
    assert_eq!(code, 0, "{text}{err}");
    assert!(
        err.contains("look 1 after 400 ms") && err.contains("to go") && err.contains("2 of 2 claims decided"),
        "{err}"
    );
    assert!(text.contains("every claim was decided after"), "{text}");
    let result = &shown(&out)["result"];
    let run = &result["run"];
    assert_eq!(run["settings"]["until_decided"]["max_ns"], 60_000_000_000u64);
    assert_eq!((&run["complete"], &run["ended_by"]["how"]), (&Value::Bool(true), &Value::from("duration")));
    let looks = list(run, "looks");
    assert!(list(&looks[0], "open").len() == 1 && list(looks.last().unwrap(), "open").is_empty(), "{looks:?}");
    let phases = list(result, "phases");
    assert_eq!(phases.len(), 2);
    for phase in phases {
        assert_eq!(list(phase, "rounds").len(), looks.len());
        for cpu in list(phase, "cpus") {
            // Rounds of 200, 200, 400 … periods. A single check at 95 % would need 299 periods, these repeated checks
            // at least 418.
            assert_eq!(cpu["released"], 200u64 << (looks.len() - 1));
            assert_eq!(cpu["released"].as_u64(), Some(cpu["ran"].as_u64().unwrap() + cpu["skipped"].as_u64().unwrap()));
            assert_eq!(cpu["corrected"]["count"], cpu["released"]);
        }
    }
}

#[test]
#[ignore = "live: timing"]
fn a_refuted_maximum_ends_it_at_once() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let begun = std::time::Instant::now();
    let (code, text, err) = until(&out, &["-D", "40s", "-l", "idle,cpu", "-c", "max < 1us"]);
    assert_eq!(code, 1, "{text}{err}");
    assert!(text.contains("ended at once"), "{text}");
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    let result = &shown(&out)["result"];
    assert_eq!(list(result, "phases").len(), 1);
    let cut = list(result, "problems").iter().chain(list(&list(result, "phases")[0], "problems"));
    assert_eq!(cut.filter(|p| p["kind"] == "interrupted").count(), 0);
}

#[test]
#[ignore = "live: timing"]
fn what_is_open_at_the_end_of_time_stays_open() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let (code, text, err) = until(&out, &["-D", "200ms", "--time-limit", "500ms", "-c", "P(>1s) < 1e-9"]);
    assert_eq!(code, 3, "{text}{err}");
    if may_be_real_time() {
        assert!(
            err.contains("not decided within --time-limit") && text.contains("undecided after 500 ms"),
            "{text}{err}"
        );
    }
}

#[test]
fn there_must_be_something_to_decide() {
    for args in [
        &["measure", "--until-decided"][..],
        &["prove", "--until-decided"],
        &["measure", "-c", "hard", "--time-limit", "9s"],
    ] {
        let (code, text, err) = run(args);
        assert_eq!(code, 2, "{args:?}: {text}");
        assert!(err.contains("--claim") || err.contains("--until-decided"), "{err}");
    }
    let (code, _, err) = run(&["measure", "--until-decided", "-c", "hard", "-D", "2s", "--time-limit", "1s"]);
    assert!(code == 2 && err.contains("--duration"), "{err}");
}

/// Keeps the maxima of blocks of one second instead of 5 minutes.
#[test]
#[ignore = "live: timing"]
fn maxima_of_blocks_are_kept_and_shown() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let out = out.to_str().unwrap();
    let (_, text, err) = run(&["measure", "-D", "5s", "--full", "--no-sync", "--maxima-block", "1s", "--out", out]);
    assert!(text.contains("blocks of 1.00 s"), "{text}{err}");
    let result = &shown(Path::new(out))["result"];
    let blocks = list(&result["maxima"], "blocks");
    let phase = &list(result, "phases")[0];
    for cpu in list(phase, "cpus") {
        let mine: Vec<&Value> = blocks.iter().filter(|b| b["cpu"] == cpu["cpu"]).collect();
        assert!(mine.len() >= 3, "{blocks:?}");
        // The maximum over all blocks equals the maximum of the phase.
        assert_eq!(mine.iter().filter_map(|b| b["max_ns"].as_u64()).max(), cpu["raw"]["max_ns"].as_u64());
        assert!(mine.windows(2).all(|pair| pair[0]["to_mono_ns"] == pair[1]["from_mono_ns"]));
    }
    let (code, page, _) = run(&["report", out, "--format", "html"]);
    assert!(code == 0 && page.contains("maxima-chart"));
    let (code, view, err) = run(&["report", out, "--linuxcnc"]);
    assert!(code == 0 && view.contains("servo thread, 1,000,000 ns") && view.contains("Max jitter"), "{view}{err}");
    assert_eq!(run(&["report", out, "--linuxcnc", "--json"]).0, 2);
}
