//! Every load runs, proves that it ran, is an ordinary process, and leaves nothing behind.

use crate::common;

use common::{Host, alone, disk_folder, is_root, run};
use std::fs;

const LOADS: [&str; 6] = ["cpu", "memory", "io", "loopback", "scheduler", "timers"];

fn scratch(folder: &tempfile::TempDir) -> String {
    format!("scratch={}", folder.path().display())
}

#[test]
#[ignore = "live: timing"]
fn every_load_runs_and_proves_it() {
    let _one = alone();
    let folder = disk_folder();
    for load in LOADS {
        let report = run(&["run", load, "0.7", &scratch(&folder), "cap=50000000"]);
        assert!(report.ran, "{report:?}");
        assert_eq!((report.load.as_str(), report.why_not.as_deref()), (load, None));
        assert!(report.workers > 0 && report.beats > 10 && !report.proofs.is_empty(), "{report:?}");
        assert!(report.proofs.iter().all(|p| p.holds()) && report.rates.iter().any(|r| r.value > 0.0), "{report:?}");
        assert_eq!(report.written_bytes > 0, load == "io");
        assert!(report.written_bytes <= 50_000_000);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
#[ignore = "live: timing"]
fn all_of_them_run_together() {
    let _one = alone();
    let folder = disk_folder();
    let report = run(&["run", "all", "3", &scratch(&folder)]);
    assert!(report.ran, "{report:?}");
    for load in LOADS {
        assert!(report.rates.iter().any(|r| r.what.starts_with(&format!("{load}: ")) && r.value > 0.0), "{load}");
        assert!(report.proofs.iter().any(|p| p.what.starts_with(&format!("{load}: "))), "{load}");
    }
}

#[test]
fn nothing_runs_when_idle() {
    let _one = alone();
    let mut host = Host::start(&["run", "idle", "0.1"]);
    assert!(host.ready().is_empty());
    let report = host.report();
    assert!(report.ran && report.workers == 0);
}

fn field(pid: i32, file: &str, key: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    text.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_else(|| panic!("no {key} in {text}")).trim().to_string()
}

#[test]
#[ignore = "live: root, timing"]
fn loads_are_ordinary_unprivileged_and_the_first_to_die() {
    let _one = alone();
    let folder = disk_folder();
    let fifo = if is_root() { "fifo=10" } else { "workers=1" };
    for load in LOADS {
        let mut host = Host::start(&["run", load, "0.3", &scratch(&folder), "workers=1", fifo]);
        let pid = host.ready()[0];
        assert_eq!(field(pid, "oom_score_adj", ""), "1000");
        if is_root() {
            assert_eq!(field(pid, "status", "Uid:"), "65534\t65534\t65534\t65534", "{load}");
            assert_eq!(field(pid, "status", "Groups:"), "", "{load}");
        }
        assert_eq!(field(pid, "status", "CapPrm:"), "0000000000000000", "{load}");
        for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
            let tid: i32 = thread.unwrap().file_name().to_str().unwrap().parse().unwrap();
            let (scheduling, _) = punctual_uapi::scheduling(tid).unwrap();
            assert_eq!(scheduling, punctual_units::Scheduling::Other { nice: 0 }, "{load}");
        }
        assert!(host.report().ran, "{load}");
    }
}

#[test]
#[ignore = "live: timing"]
fn the_write_cap_holds() {
    let _one = alone();
    let folder = disk_folder();
    let report = run(&["run", "io", "1.5", &scratch(&folder), "cap=2000000"]);
    assert!(report.ran && report.written_bytes <= 2_000_000 && report.written_bytes > 100_000, "{report:?}");
}

#[test]
#[ignore = "live: timing"]
fn little_memory_is_enough() {
    let _one = alone();
    let report = run(&["run", "memory", "0.5", "memory=1500000"]);
    assert!(report.ran && report.workers == 1, "{report:?}");
    assert!(report.notes.iter().any(|n| n.contains("copies over")), "{report:?}");
}

#[test]
#[ignore = "live: timing"]
fn a_command_runs_and_is_counted() {
    let _one = alone();
    let report = run(&["run", "cmd:while :; do :; done", "1"]);
    assert!(report.ran && report.load == "cmd:while :; do :; done", "{report:?}");
    assert!(report.rates.iter().any(|r| r.what == "CPU time" && r.value > 0.05), "{report:?}");
}

#[test]
#[ignore = "live: timing"]
fn a_command_that_ends_well_is_started_again_and_that_is_said() {
    let _one = alone();
    let report = run(&["run", "cmd:seq 1000 >/dev/null", "0.5"]);
    assert!(report.ran && report.notes.iter().any(|n| n.contains("started again")), "{report:?}");
    assert!(report.rates.iter().any(|r| r.what == "runs ended" && r.value > 2.0), "{report:?}");
}

#[test]
#[ignore = "live: timing"]
fn a_commands_output_goes_nowhere_and_does_not_block_it() {
    let _one = alone();
    assert!(run(&["run", "cmd:yes; false", "0.5"]).ran);
    assert!(run(&["run", "cmd:yes >&2", "0.5"]).ran);
}
