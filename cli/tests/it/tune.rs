//! Tests `tune` on this machine: it finds an injected fault, leaves harmless settings unchanged, and restores
//! everything that it tries.

use crate::common;

use common::alone::Alone;
use punctual_rt::Attributes;
use punctual_units::{CpuId, Priority, Scheduling};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Files that the harmless rules change, and these rules: no measurement in these tests depends on them.
const FILES: &[&str] = &[
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/hung_task_timeout_secs",
];
const HARMLESS: &[&str] = &["mem-dirty-limits", "sched-autogroup"];
/// Options for short blocks, with a statistic on which other tests and a busy host have little influence.
const SHORT: &[&str] = &["-p", "80", "-a", "1", "-l", "idle", "--block", "200ms", "-D", "500ms", "--objective", "p90"];

impl Alone {
    fn begin_tune() -> Option<Alone> {
        Alone::holding(FILES, || std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) && hog(80).is_some())
    }

    fn out(&self) -> PathBuf {
        self.place.path().join("run")
    }

    fn tune(&self, ids: &[&str], more: &[&str]) -> (i32, Value) {
        let _ = std::fs::remove_dir_all(self.out());
        let out = self.out().display().to_string();
        self.json(&[&["tune"], ids, SHORT, more, &["-o", &out]].concat())
    }

    /// Returns a profile that disables every rule except these, and adds other rules.
    fn profile(&self, on: &[&str], own: &str) -> String {
        let off = include_str!("../../../crates/system/audit/rules.txt").lines().filter(|id| !on.contains(id));
        let off: String = off.map(|id| format!("{id} = \"off\"\n")).collect();
        let path = self.place.path().join("profile.toml");
        std::fs::write(&path, format!("extends = \"control-loop\"\n[severity]\n{off}\n{own}")).unwrap();
        path.display().to_string()
    }

    /// Starts a search, and returns while a fix is being tried.
    fn on_trial(&self) -> Child {
        let out = self.out().display().to_string();
        let words = [&["tune"], HARMLESS, SHORT, &["-o", &out]].concat();
        let mut child = self.punctual(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while self.values()[0] != "3\n" {
            assert!(begun.elapsed() < Duration::from_secs(30) && child.try_wait().unwrap().is_none());
            sleep(Duration::from_millis(2));
        }
        sleep(Duration::from_millis(60));
        child
    }
}

/// A thread of this process that occupies CPU 1 for 5 ms of every 20 ms.
struct Hog {
    tid: i32,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn hog(priority: u8) -> Option<Hog> {
    hog_while(priority, None)
}

/// Starts the thread with this priority. If a file is given, the thread occupies its CPU only while the file contains
/// 1.
fn hog_while(priority: u8, knob: Option<PathBuf>) -> Option<Hog> {
    let (stop, tid) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI32::new(0)));
    let (its_stop, its_tid) = (Arc::clone(&stop), Arc::clone(&tid));
    let thread = std::thread::spawn(move || {
        let scheduling = Scheduling::Fifo { priority: Priority::try_from(priority).unwrap() };
        let attributes = Attributes { scheduling, cpu: Some(CpuId(1)), lock_stack: false };
        let is_granted = attributes.apply().is_ok();
        its_tid.store(if is_granted { rustix::thread::gettid().as_raw_nonzero().get() } else { -1 }, Relaxed);
        while is_granted && !its_stop.load(Relaxed) {
            let is_off = |path| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "0");
            if !knob.as_ref().is_some_and(is_off) {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(5) {}
            }
            sleep(Duration::from_millis(15));
        }
    });
    while tid.load(Relaxed) == 0 {
        sleep(Duration::from_millis(1));
    }
    let hog = Hog { tid: tid.load(Relaxed), stop, thread: Some(thread) };
    (hog.tid > 0).then_some(hog)
}

impl Hog {
    fn scheduling(&self) -> String {
        punctual_uapi::scheduling(self.tid).unwrap().0.to_string()
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

#[test]
#[ignore = "live: root, timing"]
fn an_injected_fault_is_found_and_the_harmless_is_left() {
    if common::is_not_tested("it faults pages in for itself: every measurement is in doubt") {
        return;
    }
    let Some(alone) = Alone::begin_tune() else { return };
    let before = alone.values();
    let hog = hog(85).unwrap();
    let (code, document) = alone.tune(&["rogue-rt-task", "mem-dirty-limits"], &["--claim", "max < 100s"]);
    assert_eq!((code, &document["result"]["tuned"]["kept"]), (0, &serde_json::json!([])), "{document:#}");
    assert_eq!(document["result"]["tuned"]["ended"]["how"], "claims_hold");
    assert!(hog.scheduling().contains("85"));

    let (code, document) = alone.tune(&["rogue-rt-task", "mem-dirty-limits"], &["--claim", "max < 1500us"]);
    let tuned = &document["result"]["tuned"];
    assert_eq!(tuned["kept"], serde_json::json!(["rogue-rt-task"]), "{document:#}");
    let kept = tuned["trials"].as_array().unwrap().iter().find(|trial| trial["kind"]["kept"] == true).unwrap();
    assert!(kept["interval_ns"][1].as_f64().unwrap() < -1e6, "{kept:#}");
    assert!(hog.scheduling().contains("79"), "{}", hog.scheduling());
    assert_eq!(alone.values(), before);
    assert!(matches!(code, 0 | 3), "{document:#}");
    let recorded: Value = serde_json::from_slice(&std::fs::read(alone.out().join("tune.json")).unwrap()).unwrap();
    assert_eq!(recorded["kept"], tuned["kept"]);
    assert!(std::fs::read_to_string(alone.out().join("report.html")).unwrap().contains("rogue-rt-task"));

    assert_eq!(alone.json(&["undo"]).0, 0);
    assert!(hog.scheduling().contains("85"));
}

/// A rule of the profile: while a file contains 1, the thread uses its CPU. `DIR` is replaced by the directory of all
/// files.
const KNOB: &str = r#"
[[rule]]
id = "own-knob"
title = "A knob of our own"
group = "sched"
severity = "high"
why = "The hog obeys it."
sources = ["KSRC"]
reads = { knob = { file = "DIR/knob", as = "integer" } }
case = [
  { when = { knob = 0 }, state = "PASS", say = "off" },
  { when = { knob = 1 }, state = "FAIL", say = "on" },
  { state = "UNKNOWN", say = "not known" },
]
fix = { now = [{ write = { file = "DIR/knob", value = "0" } }], persist = [{ file = { path = "DIR/conf.d/knob.conf", content = "knob = 0" } }], undo = "1" }
"#;

#[test]
#[ignore = "live: root, timing"]
fn what_helps_is_persisted_and_undone_with_its_files() {
    let Some(alone) = Alone::begin_tune() else { return };
    let (knob, folder) = (alone.place.path().join("knob"), alone.place.path().join("conf.d"));
    std::fs::write(&knob, "1\n").unwrap();
    let profile = alone.profile(HARMLESS, &KNOB.replace("DIR", &alone.place.path().display().to_string()));
    let before = alone.values();
    let _hog = hog_while(85, Some(knob.clone())).unwrap();
    // Without rule names, every FAIL and WARN that the profile does not disable is tried.
    let known =
        ["knob", "conf.d/knob.conf"].map(|name| format!("--i-know={}", alone.place.path().join(name).display()));
    let words = ["--persist", "--claim", "max < 1500us", &known[0], &known[1]];
    let (_, document) = alone.tune(&["--for", &profile], &words);
    let tuned = &document["result"]["tuned"];
    assert_eq!(tuned["kept"], serde_json::json!(["own-knob"]), "{document:#}");
    assert_eq!(std::fs::read_to_string(&knob).unwrap(), "0\n");
    let file = std::fs::read_to_string(folder.join("60-punctual-own-knob.conf")).unwrap();
    assert!(file.contains("punctual undo own-knob") && file.contains("knob = 0"), "{file}");
    // Drop-in files are written for kept fixes, never for those on trial.
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    assert!(!tuned["trials"].to_string().contains("conf.d"), "{tuned:#}");
    assert_eq!(alone.values(), before);

    assert_eq!(alone.json(&["undo"]).0, 0);
    assert_eq!(std::fs::read_to_string(&knob).unwrap(), "1\n");
    assert!(!folder.exists());
}

#[test]
#[ignore = "live: root, timing"]
fn what_takes_from_others_is_tried_only_where_that_is_said() {
    let Some(alone) = Alone::begin_tune() else { return };
    // Changing this knob has no effect, because no hog reads it here.
    std::fs::write(alone.place.path().join("knob"), "1\n").unwrap();
    let own = KNOB.replace("DIR", &alone.place.path().display().to_string());
    let profile = alone.profile(&["rogue-rt-task"], &own);
    let hog = hog(85).unwrap();
    let dry = ["tune", "--dry-run", "--for", &profile, "-p", "80", "-a", "1"];
    let known =
        ["knob", "conf.d/knob.conf"].map(|name| format!("--i-know={}", alone.place.path().join(name).display()));
    // The profile is not built in, and the knob is not a known latency setting.
    let (_, document) = alone.json(&dry);
    let plan = &document["result"];
    assert_eq!(plan["candidates"], serde_json::json!([]), "{document:#}");
    assert!(plan["not_tried"].to_string().contains("--i-know='/"), "{document:#}");
    let (_, document) = alone.json(&[&dry[..], &[&known[0], &known[1]]].concat());
    let plan = &document["result"];
    assert_eq!(plan["candidates"].as_array().unwrap().len(), 1, "{document:#}");
    assert_eq!(
        (&plan["candidates"][0]["rule"], &plan["not_tried"][0][0]),
        (&"own-knob".into(), &"rogue-rt-task".into())
    );
    assert!(plan["not_tried"][0][1].as_str().unwrap().contains("--disruptive"), "{document:#}");

    let (_, document) =
        alone.tune(&["--for", &profile], &["--disruptive", "--claim", "max < 1500us", &known[0], &known[1]]);
    assert_eq!(document["result"]["tuned"]["kept"], serde_json::json!(["rogue-rt-task"]), "{document:#}");
    assert!(hog.scheduling().contains("79"), "{}", hog.scheduling());
    assert_eq!(alone.json(&["undo"]).0, 0);
    assert!(hog.scheduling().contains("85"));
}

#[test]
#[ignore = "live: root, timing"]
fn when_time_is_up_nothing_on_trial_stays_and_the_last_run_is_made() {
    let Some(alone) = Alone::begin_tune() else { return };
    let before = alone.values();
    // Enough time for a block or two, not for the three pairs of a screening.
    let (code, document) = alone.tune(HARMLESS, &["--time-limit", "1s"]);
    let tuned = &document["result"]["tuned"];
    assert_eq!((&tuned["ended"]["how"], &tuned["kept"]), (&"time_up".into(), &serde_json::json!([])), "{document:#}");
    assert!(!tuned["before_ns"].as_array().unwrap().is_empty(), "{document:#}");
    assert_eq!(alone.values(), before);
    assert!(matches!(code, 0 | 1 | 3) && document["result"]["verdict"].is_object(), "{code}: {document:#}");
    assert!(alone.out().join("tune.json").is_file() && alone.out().join("report.html").is_file());
}

/// Each of the two searches may keep a fix by chance with a probability of 5 %.
#[test]
#[ignore = "live: root, timing"]
fn without_a_fault_nothing_is_changed() {
    let Some(alone) = Alone::begin_tune() else { return };
    let before = alone.values();
    let mut kept = 0;
    for _ in 0..2 {
        let (_, document) = alone.tune(HARMLESS, &[]);
        let tuned = &document["result"]["tuned"];
        if tuned["kept"] == serde_json::json!([]) {
            assert_eq!(alone.values(), before, "{document:#}");
            assert_eq!(tuned["ended"]["how"], "nothing_helps");
            return;
        }
        kept += 1;
        assert_eq!(alone.json(&["undo"]).0, 0);
        assert_eq!(alone.values(), before);
    }
    panic!("{kept} of {kept} searches kept something");
}

#[test]
#[ignore = "live: root, timing"]
fn a_signal_takes_back_what_is_on_trial() {
    let Some(alone) = Alone::begin_tune() else { return };
    let before = alone.values();
    let child = alone.on_trial();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(alone.values(), before);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("SIGINT") && said.contains("as before"), "{said}");
    assert!(!alone.out().exists());
}

#[test]
#[ignore = "live: root, timing"]
fn what_a_killed_search_left_on_trial_is_undone_at_the_next_start() {
    let Some(alone) = Alone::begin_tune() else { return };
    let before = alone.values();
    let mut child = alone.on_trial();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(alone.values(), before, "killed while a change was on trial");
    let output = alone.punctual(&["undo", "--list"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("has been undone"));
    assert_eq!(alone.values(), before);
}

#[test]
#[ignore = "live: root, timing"]
fn a_dry_run_tells_and_does_nothing() {
    let Some(alone) = Alone::begin_tune() else { return };
    let before = alone.values();
    let (code, document) = alone.json(&["tune", "--dry-run", "mem-dirty-limits", "cpu-smt"]);
    assert_eq!(code, 0);
    assert_eq!(document["result"]["candidates"][0]["rule"], "mem-dirty-limits", "{document:#}");
    assert_eq!(document["result"]["not_tried"][0][0], "cpu-smt");
    assert!(document["result"]["least_ns"].as_u64().unwrap() > 6_000_000_000);
    assert_eq!(alone.values(), before);
    assert!(!alone.place.path().join("changes").exists());
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_measured() {
    let there = tempfile::tempdir().unwrap();
    let there = there.path().display().to_string();
    for words in [
        &["tune", "no-such-rule"][..],
        &["tune", "--objective", "mean"],
        &["tune", "--block", "20ms"],
        &["tune", "--policy", "deadline"],
        &["tune", "--for", "no-such-profile"],
        &["tune", "-o", &there],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_punctual")).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
