//! Tests that an ordinary user with CAP_SYS_NICE and CAP_IPC_LOCK can measure completely, that a missing capability is
//! named, and that loads have neither capability.
//!
//! The tests need root, to drop privileges with setpriv(1) of util-linux; otherwise each reports that it did not run.

use crate::common;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An unused user and group ID.
const USER: &str = "54321";
const BOTH: &str = ",+sys_nice,+ipc_lock";

/// A directory to which the user may write, with a copy of the binary, since the build directory may be accessible only
/// to root.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// Creates the directory. Returns `None`, after printing a message, if the test cannot run.
    fn new() -> Option<Place> {
        let may = rustix::process::geteuid().is_root()
            && Command::new("setpriv").arg("--version").output().is_ok_and(|o| o.status.success())
            && held("sys_nice")
            && held("ipc_lock");
        if !may {
            eprintln!("not tested: takes root with CAP_SYS_NICE and CAP_IPC_LOCK, and setpriv (util-linux)");
            return None;
        }
        let place = Place { folder: tempfile::Builder::new().prefix("capabilities").tempdir_in("/tmp").unwrap() };
        fs::set_permissions(place.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_punctual"), place.binary()).unwrap();
        fs::set_permissions(place.binary(), fs::Permissions::from_mode(0o755)).unwrap();
        Some(place)
    }

    fn binary(&self) -> PathBuf {
        self.folder.path().join("punctual")
    }

    /// Runs the binary as that user with these capabilities, and without resource limits that would have the same
    /// effect.
    fn run(&self, capabilities: &str, words: &[&str]) -> Output {
        self.run_under("0", capabilities, words)
    }

    /// Like [`Place::run`], with this value added to the nice value.
    fn run_under(&self, nice: &str, capabilities: &str, words: &[&str]) -> Output {
        let sets = format!("-all{capabilities}");
        Command::new("nice")
            .args(["-n", nice, "prlimit"])
            .args(["--memlock=65536:65536", "--rtprio=0:0", "setpriv", "--reuid", USER, "--regid", USER])
            .args(["--clear-groups", "--inh-caps", &sets, "--ambient-caps", &sets, "--bounding-set", &sets])
            .arg(self.binary())
            .args(words)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .output()
            .unwrap()
    }

    /// Measures for half a second and returns the stored run.
    fn measured(&self, capabilities: &str, load: &str) -> Value {
        let out = self.folder.path().join(format!("run{}", capabilities.replace([',', '+'], "-")));
        let output = self.run(capabilities, &["measure", "-D", "500ms", "-l", load, "--out", out.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // Exit code 3: a shared machine may stall a load or fault a page in.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{:?} {said}", output.status);
        serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap()
    }
}

/// Returns true if this process has the capability and can pass it on.
fn held(name: &str) -> bool {
    let shown = Command::new("setpriv").arg("--dump").output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let line = shown.ok().and_then(|s| s.lines().find(|l| l.contains("bounding set")).map(str::to_owned));
    line.is_some_and(|line| line.contains(name))
}

fn policies(run: &Value) -> Vec<&str> {
    let cpus = run["phases"][0]["cpus"].as_array().unwrap();
    cpus.iter().map(|cpu| cpu["got"]["policy"].as_str().unwrap()).collect()
}

#[test]
#[ignore = "live: root, setpriv, prlimit"]
fn both_capabilities_are_all_a_full_measurement_takes() {
    let Some(place) = Place::new() else { return };
    let run = place.measured(BOTH, "cpu");
    assert!(policies(&run).iter().all(|policy| *policy == "fifo"), "{run}");
    assert!(!run.to_string().contains("no_real_time") && !run.to_string().contains("CAP_"), "{run}");
    assert!(!run.to_string().contains("could not be locked"), "{run}");
}

#[test]
#[ignore = "live: root, setpriv, prlimit"]
fn a_missing_cap_ipc_lock_is_named_and_the_policy_kept() {
    let Some(place) = Place::new() else { return };
    let run = place.measured(",+sys_nice", "idle");
    assert!(policies(&run).iter().all(|policy| *policy == "fifo"), "{run}");
    let notes = run["notes"].to_string();
    assert!(notes.contains("could not be locked") && notes.contains("CAP_IPC_LOCK"), "{notes}");
    assert!(!run.to_string().contains("CAP_SYS_NICE"), "{run}");
}

#[test]
#[ignore = "live: root, setpriv, prlimit"]
fn a_missing_cap_sys_nice_is_named_and_the_policy_is_an_ordinary_one() {
    let Some(place) = Place::new() else { return };
    let run = place.measured(",+ipc_lock", "idle");
    assert!(policies(&run).iter().all(|policy| *policy == "other"), "{run}");
    assert_eq!(run["problems"][0]["kind"], "no_real_time");
    assert!(run["problems"][0]["text"].as_str().unwrap().contains("CAP_SYS_NICE"), "{run}");
    assert!(!run.to_string().contains("could not be locked"), "{run}");
}

#[test]
#[ignore = "live: root, setpriv, prlimit"]
fn a_command_that_is_a_load_inherits_no_capability() {
    if common::is_not_tested("commands are not loads there, it refuses PR_SET_CHILD_SUBREAPER") {
        return;
    }
    let Some(place) = Place::new() else { return };
    let seen = place.folder.path().join("seen");
    let script = place.folder.path().join("load.sh");
    let text = format!(
        "#!/bin/sh\ngrep ^Cap /proc/self/status > {0}.new && mv {0}.new {0}\nwhile :; do :; done\n",
        seen.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let run = place.measured(BOTH, &format!("cmd:{}", script.display()));
    assert!(policies(&run).iter().all(|policy| *policy == "fifo"), "{run}");
    let sets = fs::read_to_string(&seen).unwrap();
    for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert!(sets.contains(&format!("{name}:\t0000000000000000")), "{sets}");
    }
}

#[test]
#[ignore = "live: root, setpriv, prlimit"]
fn built_in_loads_have_no_capability_and_get_none_again() {
    if common::is_not_tested("every process has a second thread") {
        return;
    }
    let Some(place) = Place::new() else { return };
    let mut running = {
        let sets = format!("-all{BOTH}");
        Command::new("setpriv")
            .args(["--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps", &sets, "--ambient-caps", &sets])
            .arg(place.binary())
            .args(["measure", "-D", "20s", "-l", "cpu", "--out"])
            .arg(place.folder.path().join("run"))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let status = load_of(running.id());
    running.kill().unwrap();
    running.wait().unwrap();
    let status = status.expect("no load with threads was seen in 10 s");
    for line in
        ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1"]
    {
        assert!(status.contains(line), "{line}: {status}");
    }
}

/// Returns the status of the first child that is a running load, recognised by its name and its threads.
fn load_of(parent: u32) -> Option<String> {
    for _ in 0..200 {
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
            let is_child = status.contains(&format!("PPid:\t{parent}\n"));
            let works = Path::new(&entry.path()).join("task").read_dir().is_ok_and(|tasks| tasks.count() > 1);
            if is_child && works {
                return Some(status);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    None
}

#[test]
#[ignore = "live: root, setpriv, prlimit"]
fn an_ordinary_user_under_nice_measures_with_the_nice_value_that_cannot_be_lowered() {
    let Some(place) = Place::new() else { return };
    let out = place.folder.path().join("niced");
    let output = place.run_under("7", "", &["measure", "-D", "500ms", "-l", "idle", "--out", out.to_str().unwrap()]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    let cpus = run["phases"][0]["cpus"].as_array().unwrap();
    let nices: Vec<i64> = cpus.iter().map(|cpu| cpu["got"]["nice"].as_i64().unwrap()).collect();
    // The nice value is relative to that of the test process. A negative sum becomes 0, which every user may set.
    let wanted = (own_nice() + 7).clamp(0, 19);
    assert!(!nices.is_empty() && nices.iter().all(|nice| *nice == wanted), "{wanted}: {run}");
    assert_eq!(run["problems"][0]["kind"], "no_real_time");
}

/// Returns the nice value of this process: field 19 of /proc/PID/stat (proc_pid_stat(5)).
fn own_nice() -> i64 {
    let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
    stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(16)?.parse().ok()).unwrap()
}
