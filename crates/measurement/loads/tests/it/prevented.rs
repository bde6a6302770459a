//! A load that is prevented from running reports the reason and the remedy, and is never reported as running.

use crate::common;

use common::{Host, alone, disk_folder, run, send, why};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

fn assert_says(args: &[&str], words: &[&str]) {
    let report = run(args);
    let text = why(&report);
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

#[test]
#[ignore = "live: timing"]
fn a_scratch_folder_that_cannot_be_used() {
    let _one = alone();
    assert_says(&["run", "io", "1", "scratch=/nonexistent"], &["/nonexistent", "No such file"]);
    assert_says(&["run", "io", "1", "scratch=/proc/self/status"], &["/proc/self/status"]);
    assert_says(&["run", "io", "1", "scratch=/proc"], &["/proc"]);
    assert_says(&["run", "io", "1", "cap=100"], &["100 bytes"]);
}

#[test]
#[ignore = "live: timing"]
fn a_scratch_folder_in_memory() {
    let _one = alone();
    assert_says(&["run", "io", "1", "scratch=/dev/shm"], &["tmpfs, which is memory", "--scratch DIR"]);
    assert_says(&["run", "all", "1", "scratch=/dev/shm"], &["io: ", "--scratch DIR"]);
}

#[test]
#[ignore = "live: root, setpriv"]
fn a_scratch_folder_without_rights() {
    let _one = alone();
    let folder = disk_folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let scratch = format!("scratch={}", folder.path().display());
    if common::is_root() {
        // Root may write everywhere, unless it lacks CAP_DAC_OVERRIDE.
        let before =
            ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", "--reuid=1", "--clear-groups"];
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let report = Host::start_in(&before, &["run", "io", "1", &scratch]).report();
        assert!(why(&report).contains("not permitted"), "{report:?}");
    } else {
        assert_says(&["run", "io", "1", &scratch], &["not permitted"]);
    }
}

#[test]
#[ignore = "live: timing"]
fn the_network_without_a_peer_or_with_a_wrong_one() {
    let _one = alone();
    assert_says(&["run", "network", "1"], &["--peer HOST", "punctual serve"]);
    assert_says(&["run", "network", "1", "peer=127.0.0.1"], &["does not pass a network card", "loopback"]);
    assert_says(&["run", "network", "1", "peer=no such host"], &["not known"]);
}

#[test]
#[ignore = "live: timing"]
fn commands_that_fail() {
    let _one = alone();
    assert_says(&["run", "cmd:false", "1"], &["exit code 1"]);
    assert_says(&["run", "cmd:echo 'no \x1b[31mpaper' >&2; exit 7", "1"], &["exit code 7: no  [31mpaper"]);
    assert_says(&["run", "cmd:nosuchcommand", "1"], &["not found"]);
    assert_says(&["run", "cmd:kill -9 $$", "1"], &["signal 9"]);
    // The command fails after the load was ready.
    assert_says(&["run", "cmd:seq 100000 >/dev/null; sleep 0.5; seq 100000 >/dev/null; exit 3", "2"], &["exit code 3"]);
    assert_says(&["run", "cmd:sleep 100", "3"], &["made no progress in 3.00 s", "idle"]);
}

#[test]
#[ignore = "live: timing"]
fn a_limit_on_processes() {
    let _one = alone();
    assert_says(&["run", "cpu", "1", "nproc=1"], &["ulimit -u"]);
}

#[test]
#[ignore = "live: timing"]
fn a_load_that_is_stopped() {
    let _one = alone();
    let mut host = Host::start(&["run", "cpu", "3"]);
    let pid = host.ready()[0];
    std::thread::sleep(Duration::from_millis(300));
    send(pid, Signal::STOP);
    let report = host.report();
    // On a busy machine the worker may complete no unit of work before it is stopped.
    let is_reported =
        ["made no progress for 2.", "made no progress in 3.00 s"].iter().any(|text| why(&report).contains(text));
    assert!(is_reported && why(&report).contains("stopped"), "{report:?}");
    assert!(report.longest_silence_ns > 2_000_000_000);
}

#[test]
#[ignore = "live: timing"]
fn a_load_that_was_stopped_and_goes_on() {
    let _one = alone();
    let mut host = Host::start(&["run", "timers", "3.5"]);
    let pid = host.ready()[0];
    send(pid, Signal::STOP);
    std::thread::sleep(Duration::from_millis(2600));
    send(pid, Signal::CONT);
    let report = host.report();
    assert!(why(&report).contains("made no progress for 2."), "{report:?}");
}

#[test]
#[ignore = "live: timing"]
fn a_command_whose_host_is_stopped() {
    let _one = alone();
    let mut host = Host::start(&["run", "cmd:while :; do :; done", "2.5"]);
    let pid = host.ready()[0];
    send(pid, Signal::STOP);
    let report = host.report();
    assert!(why(&report).contains("stopped"), "{report:?}");
}

#[test]
#[ignore = "live: timing"]
fn a_load_that_is_killed() {
    let _one = alone();
    for load in ["memory", "cmd:while :; do :; done"] {
        let mut host = Host::start(&["run", load, "0.5"]);
        let pid = host.ready()[0];
        send(pid, Signal::KILL);
        let report = host.report();
        assert!(why(&report).contains("signal 9"), "{report:?}");
    }
}

#[test]
fn what_is_no_load() {
    let _one = alone();
    let mut host = Host::start(&["__load"]);
    assert_eq!(host.child.wait().unwrap().code(), Some(2));
    let mut host = Host::start(&["__load", "{}"]);
    assert_eq!(host.child.wait().unwrap().code(), Some(2));
    let mut host = Host::start(&["__load", "exit"]);
    assert_eq!(host.child.wait().unwrap().code(), Some(0));
}
