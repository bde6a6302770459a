//! Tests `measure --via busy-poll`, `timerlat` and `hwlat`.

use crate::common;
use common::{answer, may_be_real_time, punctual, run, shown};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Serializes the tests: each keeps CPUs busy, or uses a tracer that exists only once.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn measure(way: &str, out: &Path, more: &[&str]) -> (i32, String, String) {
    let out = out.display().to_string();
    run(&[&["measure", "--via", way, "--out", &out], more].concat())
}

#[test]
#[ignore = "live: timing"]
fn the_gaps_of_a_busy_poll_add_up_to_the_time() {
    if common::is_not_tested("it faults pages in for itself, and is slow") {
        return;
    }
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let more = ["-D", "1s", "--policy", "other", "--cpus", "0", "--full", "--claim", "max < 1h"];
    let (code, text, err) = measure("busy-poll", &out, &more);
    assert_eq!(code, 0, "{text}{err}");
    assert!(text.contains("busy-poll gap") && text.contains("read without a pause"), "{text}");
    let document = shown(&out);
    let phase = &document["result"]["phases"][0];
    let cpu = &phase["cpus"][0];
    assert_eq!(phase["label"], "busy-poll gap");
    assert_eq!((cpu["released"].as_u64(), cpu["skipped"].as_u64()), (cpu["ran"].as_u64(), Some(0)));
    let sum = cpu["mean_ns"].as_f64().unwrap() * cpu["ran"].as_f64().unwrap();
    assert!((5e8..3e9).contains(&sum), "{sum} {cpu}");
    assert!(document["result"]["run"]["settings"]["period_ns"].is_null());
}

#[test]
#[ignore = "live: timing"]
fn a_busy_poll_ends_within_a_second_of_a_signal() {
    if common::is_not_tested("it faults pages in for itself, and is slow") {
        return;
    }
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let mut command = punctual();
    command.args(["measure", "--via", "busy-poll", "--policy", "other", "-D", "60s", "--out"]).arg(&out);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let begun = Instant::now();
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let (code, text, err) = answer(child.wait_with_output().unwrap());
    // The threads end immediately; writing the run takes some time on a busy machine.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(code, 130, "{text}{err}");
    let document = shown(&out);
    let phase = &document["result"]["phases"][0];
    let recorded = phase["end_mono_ns"].as_u64().unwrap() - phase["start_mono_ns"].as_u64().unwrap();
    assert!(recorded < 5_000_000_000 && phase["cpus"][0]["ran"].as_u64().unwrap() > 1000, "{phase}");
}

#[test]
#[ignore = "live: timing"]
fn real_time_on_every_cpu_is_refused() {
    let cpus = punctual_uapi::affinity(0).unwrap();
    if !may_be_real_time() || cpus.len() < 2 {
        return eprintln!("not tested: no real-time scheduling, or one CPU");
    }
    let place = tempfile::tempdir().unwrap();
    let (code, _, err) = measure("busy-poll", &place.path().join("run"), &["--cpus", &cpus.to_string(), "-D", "1s"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("Leave one out, for example --cpus"), "{err}");
}

#[test]
fn wrong_words_are_told_with_the_right_ones() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    for (way, more, says) in [
        ("oslat", &[][..], "busy-poll, timerlat, hwlat"),
        ("timerlat", &["-i", "50us"], "100us to 1s"),
        ("timerlat", &["--policy", "deadline"], "choose --policy fifo"),
        ("hwlat", &["--policy", "fifo"], "the kernel's own"),
        ("busy-poll", &["--trace", "always"], "leave out --trace"),
        ("busy-poll", &["--tui"], "--tui"),
    ] {
        let (code, _, err) = measure(way, &out, more);
        // If the policy itself is refused first, that is the error.
        assert!(code == 2 && err.contains(says) || code == 4 && err.contains("SCHED_DEADLINE"), "{way} {code} {err}");
    }
    let (code, _, err) = run(&["prove", "--via", "hwlat"]);
    assert!(code == 2 && err.contains("punctual measure --via hwlat"), "{err}");
}

/// Expects two or three kinds of records if the kernel has the tracer and it may be used, otherwise a message that says
/// how to get the tracer.
#[test]
#[ignore = "live: tracefs, timing"]
fn a_tracer_measures_or_says_where_to_get_it() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    for way in ["timerlat", "hwlat"] {
        let out = place.path().join(way);
        let (code, text, err) = measure(way, &out, &["-D", "2s"]);
        if code == 0 {
            let document = shown(&out);
            let phases = document["result"]["phases"].as_array().unwrap();
            assert!(phases.iter().all(|p| !p["label"].is_null()), "{document}");
            continue;
        }
        assert_eq!(code, 4, "{text}{err}");
        let config = format!("CONFIG_{}_TRACER", way.to_uppercase());
        assert!(
            err.contains(&config) && err.contains("linux-image-rt") || err.contains("trac") || err.contains("root"),
            "{err}"
        );
        assert!(!out.exists());
    }
}
