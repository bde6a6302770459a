//! Tests `--via` with every wakeup source that needs no device, for a second each.

use crate::common;
use common::{answer, is_emulated, punctual, run, shown};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Serializes the tests: each measures all CPUs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
#[ignore = "live: timing"]
fn every_wakeup_source_is_measured_and_reported() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let ways = ["nanosleep", "relative", "timerfd", "posix-timer", "futex", "signal", "eventfd", "udp"];
    for way in ways {
        let out = folder.path().join(way);
        let done = punctual().args(["measure", "-D", "1s", "--via", way, "--out"]).arg(&out).output().unwrap();
        let (code, said, err) = answer(done);
        assert!(code == 0 || err.contains("starved") || (code == 3 && is_emulated()), "{way}: {code} {err}");
        assert!(!said.contains("clock_nanosleep"), "{said}");
        let text = std::fs::read_to_string(out.join("run.json")).unwrap();
        let recorded: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(recorded["settings"]["via"], way);
        let clock = recorded["settings"]["clock"].as_str().unwrap();
        assert_eq!(clock.contains("clock_nanosleep"), matches!(way, "nanosleep" | "relative"), "{clock}");
        for cpu in recorded["phases"][0]["cpus"].as_array().unwrap() {
            let figure = |name: &str| cpu[name].as_u64().unwrap();
            assert_eq!(figure("released"), figure("ran") + figure("skipped"), "{way}: {cpu}");
            assert!(figure("ran") > 0, "{way}: {cpu}");
        }
        assert!(shown(&out).is_object());
    }
}

#[test]
#[ignore = "live: timing"]
fn what_cannot_be_measured_says_what_to_type() {
    let _alone = alone();
    let (code, _, err) = run(&["measure", "-D", "1s", "--via", "smoke"]);
    assert!(code == 2 && err.contains("posix-timer"), "{code} {err}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let done =
        punctual().args(["measure", "-D", "1s", "-a", "0", "--via", "serial:/dev/null", "--out"]).arg(&out).output();
    let (code, _, err) = answer(done.unwrap());
    assert!(code != 0 && err.contains("/proc/tty/driver/serial"), "{code} {err}");
}
