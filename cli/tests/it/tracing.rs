//! Tests that late wakeups are traced during the measurement and explained, and that nothing is left behind. Needs root
//! and tracefs.

use crate::common;

use common::{may_be_real_time, punctual};
use punctual_rt::{Attributes, monotonic};
use punctual_units::{CpuId, Nanos, Priority, Scheduling};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// Serializes the tests, which compare settings of the whole machine.
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn may_trace() -> bool {
    let may = may_be_real_time() && std::fs::read_dir(INSTANCES).is_ok();
    if !may {
        eprintln!("not tested: tracing needs root and tracefs");
    }
    may
}

/// Keeps `cpu` busy at FIFO 99 for `length`, with a thread of this name.
pub fn hog(name: &str, cpu: CpuId, length: Nanos) {
    let priority = Priority::try_from(99).unwrap();
    let body = move || {
        Attributes { scheduling: Scheduling::Fifo { priority }, cpu: Some(cpu), lock_stack: false }.apply().unwrap();
        let begun = monotonic();
        while monotonic() - begun < length {
            std::hint::spin_loop();
        }
    };
    std::thread::Builder::new().name(name.into()).spawn(body).unwrap().join().unwrap();
}

fn instances_of(pid: u32) -> Vec<PathBuf> {
    let all = std::fs::read_dir(INSTANCES).into_iter().flatten().flatten().map(|entry| entry.path());
    let name = format!("punctual-{pid}");
    all.filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&name))).collect()
}

/// Returns the settings of the main trace: every file that can be read without blocking and does not change by itself.
fn settings() -> BTreeMap<PathBuf, Vec<u8>> {
    let moving = [
        "trace",
        "trace_pipe",
        "saved_cmdlines",
        "saved_tgids",
        "README",
        "snapshot",
        "trace_marker",
        "trace_marker_raw",
    ];
    let mut all = BTreeMap::new();
    let mut folders = vec![PathBuf::from("/sys/kernel/tracing")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let skip = moving.contains(&name.as_str()) || ["per_cpu", "instances"].contains(&name.as_str());
            // Lists of functions change as modules and programs are loaded and unloaded.
            let list = name.contains("filter_functions")
                || name.ends_with("_functions")
                || name == "hist"
                || name == "printk_formats";
            if entry.file_type().unwrap().is_dir() && !skip {
                folders.push(entry.path());
            } else if !skip && !list {
                all.insert(entry.path(), std::fs::read(entry.path()).unwrap_or_default());
            }
        }
    }
    all
}

pub fn causes(out: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(out.join("causes.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn hog_found(out: &Path) -> Result<(), String> {
    let child = punctual()
        .args(["prove", "-D", "3s", "--load", "idle", "-a", "0", "--quiet", "--out"])
        .arg(out)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(2_000));
    hog("rogue99", CpuId(0), Nanos::from_millis(20));
    child.wait_with_output().unwrap();
    let causes = causes(out);
    let first = causes.first().ok_or("nothing explained")?;
    let victim = &first["victim"];
    let main = &victim["causes"][0];
    let sum: u64 = victim["causes"].as_array().unwrap().iter().map(|cause| cause["ns"].as_u64().unwrap()).sum();
    assert_eq!(
        (sum, &victim["latency_ns"]),
        (first["latency_ns"].as_u64().unwrap(), &first["latency_ns"]),
        "labels add up"
    );
    let named = main["class"] == "higher_priority" && main["comm"] == "rogue99";
    let share = main["share"].as_f64().unwrap();
    if !named || share < 0.9 || main["prio"] != 99 {
        return Err(victim.to_string());
    }
    Ok(())
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn prove_names_an_injected_hog_and_tracefs_is_as_before() {
    let _alone = alone();
    if !may_trace() {
        return;
    }
    let before = settings();
    let mut last = String::new();
    // On a shared machine, a stall of the machine itself may be longer than the hog.
    for _ in 0..3 {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("run");
        match hog_found(&out) {
            Ok(()) => {
                assert_eq!(settings(), before);
                return shown(&out);
            }
            Err(why) => last = why,
        }
    }
    panic!("{last}");
}

/// Checks the page of a first run: every load, half a minute, all causes and timelines.
#[test]
#[ignore = "live: timing, tracefs"]
fn the_page_of_half_a_minute_is_small() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    punctual().args(["prove", "-D", "30s", "--quiet", "-o"]).arg(&out).output().unwrap();
    let page = std::fs::read(out.join("report.html")).unwrap();
    println!("{} bytes, {} wakeups explained", page.len(), causes(&out).len());
    assert!(page.len() <= 400_000, "{} bytes", page.len());
}

/// Shows the run as text, as a page, as a timeline, and in Perfetto's format.
fn shown(out: &Path) {
    let report = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(report.contains("rogue99") && report.contains("id=\"why\""));
    let perfetto = out.with_extension("perfetto");
    let output = punctual().args(["explain", "--timeline", "--perfetto"]).arg(&perfetto).arg(out).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("1-idle, ") && text.contains("rogue99 (RT 99"), "{text}");
    assert!(text.contains("T4 it reads its clock"), "{text}");
    let explained = std::fs::read(&perfetto).unwrap();
    let reported = out.with_extension("reported");
    let words = ["report", "--format", "perfetto", "--out"];
    let output = punctual().args(words).arg(&reported).arg(out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for trace in [explained, std::fs::read(&reported).unwrap()] {
        let found = punctual_testing::protobuf::schema::check(&trace);
        let count = |message| found.get(message).copied().unwrap_or(0);
        assert!(count("sched_switch") > 0 && count("sched_waking") > 0, "{found:?}");
        assert!(count("TrackEvent") >= 2 && count("DebugAnnotation") >= 2, "the verdict is there: {found:?}");
    }
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn what_a_killed_run_left_is_removed_at_the_next_start() {
    let _alone = alone();
    if !may_trace() {
        return;
    }
    let before = settings();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let mut child = punctual()
        .args(["prove", "-D", "60s", "--load", "cpu", "--quiet", "--out"])
        .arg(&out)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let kept = || {
        std::fs::read_dir(out.join("traces"))
            .into_iter()
            .flatten()
            .flatten()
            .any(|e| e.path().extension() == Some("json".as_ref()))
    };
    while instances_of(child.id()).is_empty() || !kept() {
        assert!(begun.elapsed() < Duration::from_secs(30), "no trace is made");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Waits until a checkpoint contains the traced wakeup.
    std::thread::sleep(Duration::from_millis(2_500));
    child.kill().unwrap();
    child.wait().unwrap();
    let pid = child.id();
    assert_eq!(instances_of(pid).len(), 1);
    // Another process of the program may have removed the instance already; it only has to be gone.
    let output = punctual().args(["explain"]).arg(&out).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(instances_of(pid).is_empty(), "{said}");
    assert!(said.contains(&format!("process {pid}")) || said.is_empty(), "{said}");
    assert_eq!(settings(), before);
    // The traces of a killed run are explained as well.
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("1-cpu, "), "{text}{said}");
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn threads_are_watched_live_by_name() {
    let _alone = alone();
    if !may_trace() {
        return;
    }
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let theirs = over.clone();
    let sleeper = std::thread::Builder::new().name("sleeper42".into()).spawn(move || {
        let priority = Priority::try_from(42).unwrap();
        Attributes { scheduling: Scheduling::Rr { priority }, cpu: None, lock_stack: false }.apply().unwrap();
        while !theirs.load(std::sync::atomic::Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(40));
        }
    });
    let output = punctual()
        .args(["explain", "--live", "--task", "sleeper42", "--duration", "1500ms", "--json"])
        .output()
        .unwrap();
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    sleeper.unwrap().join().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let victims = document["result"]["victims"].as_array().unwrap();
    assert!(output.status.success() && victims.len() == 10, "{document}");
    assert!(victims.iter().all(|victim| victim["policy"] == "RR" && victim["prio"] == 42), "{document}");
    assert!(document["result"]["wakeups"].as_u64().unwrap() >= 20, "{document}");
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn without_the_right_to_trace_it_says_why_and_goes_on() {
    // A process started by another test would hold the copy of the binary open.
    let _alone = alone();
    let nobody = |args: &[&str], out: &Path| {
        let place = out.parent().unwrap();
        let binary = place.join("punctual");
        std::fs::copy(env!("CARGO_BIN_EXE_punctual"), &binary).unwrap();
        let mut command = Command::new(binary);
        if rustix::process::geteuid().is_root() {
            use std::os::unix::fs::{PermissionsExt, chown};
            use std::os::unix::process::CommandExt;
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
            chown(place, Some(65534), Some(65534)).unwrap();
            command.uid(65534).gid(65534);
        }
        command.args(args).arg("--out").arg(out).output().unwrap()
    };
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let run = ["prove", "-D", "300ms", "--load", "idle", "--quiet"];
    let output = nobody(&run, &out);
    assert!([1, 3].contains(&output.status.code().unwrap()), "{output:?}");
    let document: Value = serde_json::from_slice(&std::fs::read(out.join("run.json")).unwrap()).unwrap();
    let why = document["tracing"]["why_not"].as_str().unwrap();
    assert!(why.contains("root") || why.contains("tracefs"), "{why}");
    let refused = nobody(&[&run[..], &["--trace", "always"]].concat(), &place.path().join("again"));
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
}
