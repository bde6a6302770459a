//! No process or file remains when a load is stopped, or when its parent is killed.

use crate::common;

use common::{Host, alone, disk_folder};
use std::fs;
use std::time::Duration;

/// A command that leaves its session, process group and parent, ignores all signals that it can, and forks
/// continuously.
const ESCAPING: &str = "cmd:trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 0.01; done' &) ; \
                        while :; do (sleep 30 &); sleep 0.05; done";

const LOADS: [&str; 9] =
    ["cpu", "memory", "io", "loopback", "scheduler", "timers", "all", "cmd:while :; do :; done", ESCAPING];

#[test]
#[ignore = "live: timing"]
fn nothing_is_left_of_a_killed_caller() {
    let _one = alone();
    for load in LOADS {
        let folder = disk_folder();
        let mut host = Host::start(&["run", load, "60", &format!("scratch={}", folder.path().display())]);
        let pids = host.ready();
        std::thread::sleep(Duration::from_millis(200));
        let living = host.processes();
        assert!(pids.iter().all(|pid| living.contains(pid)), "{load}: {pids:?} {living:?}");
        host.kill();
        host.assert_nothing_left();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{load}");
    }
}

#[test]
#[ignore = "live: timing"]
fn nothing_is_left_of_a_caller_killed_while_it_starts() {
    let _one = alone();
    for (i, load) in LOADS.iter().chain(&LOADS).enumerate() {
        let folder = disk_folder();
        let mut host = Host::start(&["run", load, "60", &format!("scratch={}", folder.path().display())]);
        std::thread::sleep(Duration::from_millis(i as u64));
        host.kill();
        host.assert_nothing_left();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{load}");
    }
}

#[test]
#[ignore = "live: timing"]
fn nothing_is_left_of_a_stopped_command() {
    let _one = alone();
    let mut host = Host::start(&["run", ESCAPING, "0.7"]);
    host.ready();
    std::thread::sleep(Duration::from_millis(300));
    // Expects the host, the load's process, two shells and their sleeps to run.
    assert!(host.processes().len() >= 5, "{:?}", host.processes());
    let report = host.report();
    assert!(report.ran, "{report:?}");
}
