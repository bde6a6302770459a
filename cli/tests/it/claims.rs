//! Tests claims on real, short runs.

use crate::common;
use common::{may_be_real_time, run, shown};
use serde_json::Value;

/// Judges one run again for each claim: the verdict must not depend on whether a claim was made before or after the
/// run.
#[test]
#[ignore = "live: timing"]
fn one_run_passes_fails_and_cannot_tell() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let out = out.to_str().unwrap();
    let (code, text, err) = run(&["measure", "-D", "1s", "-c", "max < 10s", "--out", out, "--json"]);
    let real_time = may_be_real_time();
    // A run of an ordinary user cannot pass.
    assert_eq!(code, if real_time { 0 } else { 3 }, "{text}{err}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "punctual.measure/1");
    assert_eq!(document["exit_code"], code);
    let (code, _, _) = run(&["report", out]);
    assert_eq!(code, 0);

    for (claim, expected) in [("max < 1us", 1), ("P(>1s) < 1e-12", 3)] {
        let out = place.path().join(claim.replace(|c: char| !c.is_alphanumeric(), ""));
        let (code, text, err) = run(&["measure", "-D", "300ms", "-c", claim, "--out", out.to_str().unwrap()]);
        assert_eq!(code, expected, "{claim}: {text}{err}");
    }
}

#[test]
#[ignore = "live: timing"]
fn fail_wins_over_inconclusive() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let args = ["measure", "-D", "300ms", "-c", "P(>1s) < 1e-12", "-c", "max < 1us", "--quiet", "--out"];
    let (code, text, err) = run(&[&args[..], &[out.to_str().unwrap()]].concat());
    assert_eq!((code, text.as_str()), (1, ""), "{err}");
}

#[test]
#[ignore = "live: timing"]
fn a_load_that_is_prevented_from_running_is_inconclusive() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let out = out.to_str().unwrap();
    let (code, text, err) = run(&["measure", "-D", "600ms", "-l", "idle,cmd:exit 7", "-c", "max < 10s", "--out", out]);
    assert_eq!(code, 3, "{text}{err}");
    assert!(text.contains("did not run") || text.contains("did not start"), "{text}");
    let phases = shown(std::path::Path::new(out))["result"]["phases"].as_array().unwrap().len();
    assert_eq!(phases, 2);
}

#[test]
#[ignore = "live: timing"]
fn every_released_period_ran_or_was_skipped() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let out = out.to_str().unwrap();
    run(&["measure", "-D", "1s", "-i", "500us", "-l", "idle,cpu", "--warmup", "20ms", "--out", out]);
    for phase in shown(std::path::Path::new(out))["result"]["phases"].as_array().unwrap() {
        for cpu in phase["cpus"].as_array().unwrap() {
            let n = |key: &str| cpu[key].as_u64().unwrap();
            assert_eq!(n("released"), 1_000);
            assert_eq!(n("released"), n("ran") + n("skipped"));
        }
    }
}

/// The audit runs at the same time as the measuring threads, and must not report them as threads of another program.
#[test]
#[ignore = "live: timing"]
fn the_audit_does_not_accuse_the_measuring_threads() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    run(&["prove", "-D", "200ms", "-l", "idle", "--trace", "never", "--quiet", "--out", out.to_str().unwrap()]);
    let findings = std::fs::read_to_string(out.join("findings.json")).unwrap();
    assert!(findings.contains("rogue-rt-task"), "{findings}");
    // Only the threads of other runs are foreign.
    for cpu in shown(&out)["result"]["phases"][0]["cpus"].as_array().unwrap() {
        let thread = format!("thread {}", cpu["tid"]);
        assert!(!findings.contains(&thread), "{thread} {findings}");
    }
}
