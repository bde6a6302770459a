//! Tests that without a mounted tracefs root traces through a private mount, and that no mount table changes. Each
//! program runs in a mount namespace in which tracefs and debugfs are unmounted: unshare(1) of util-linux.

use crate::common::{may_be_real_time, punctual};
use crate::tracing::{alone, causes, hog};
use punctual_units::{CpuId, Nanos};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Returns the command that runs `script` with sh(1) in a mount namespace without tracefs and debugfs; `$0` is the
/// program.
fn unmounted(script: &str) -> Command {
    let mut command = Command::new("unshare");
    let script = format!("umount -a -t tracefs 2> /dev/null; umount -a -t debugfs 2> /dev/null; {script}");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]).arg(punctual().get_program());
    command
}

/// Returns the trace instances of a process, read through a mount in another namespace.
fn instances_of(pid: u32) -> Vec<String> {
    let list = "mount -t tracefs nodev /sys/kernel/tracing && ls /sys/kernel/tracing/instances";
    let output = unmounted(list).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|name| name.starts_with(&format!("punctual-{pid}"))).map(String::from).collect()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Checks the main cause of the worst wakeup, and that nothing was mounted before, during and after the run.
fn hog_found(place: &Path) -> Result<(), String> {
    let out = place.join("run");
    let script = "cat /proc/self/mountinfo > \"$1/before\"; \"$0\" prove -D 5s --load idle -a 0 --quiet --out \"$1/run\"; \
                  code=$?; cat /proc/self/mountinfo > \"$1/after\"; exit $code";
    let child = unmounted(script).arg(place).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(3_500));
    hog("rogue99", CpuId(0), Nanos::from_millis(20));
    let during = text(Path::new(&format!("/proc/{}/mountinfo", child.id())));
    let output = child.wait_with_output().unwrap();
    assert!(!during.is_empty() && !during.contains("tracefs"), "{during}");
    assert_eq!((text(&place.join("before")), text(&place.join("after"))), (during.clone(), during), "mounts differ");
    let document: Value = serde_json::from_str(&text(&out.join("run.json"))).unwrap();
    assert_eq!(document["tracing"]["why_not"], Value::Null, "{output:?}");
    assert_eq!(document["tracing"]["tracefs"], "own detached mount");
    let causes = causes(&out);
    let victim = &causes.first().ok_or("nothing explained")?["victim"];
    let main = &victim["causes"][0];
    match main["class"] == "higher_priority" && main["comm"] == "rogue99" && main["prio"] == 99 {
        true => Ok(()),
        false => Err(victim.to_string()),
    }
}

#[test]
#[ignore = "live: root, tracefs"]
fn prove_names_an_injected_hog_through_a_mount_of_its_own() {
    let _alone = alone();
    assert!(may_be_real_time());
    let mut last = String::new();
    // On a shared machine, a stall of the machine itself may be longer than the hog.
    for _ in 0..3 {
        match hog_found(tempfile::tempdir().unwrap().path()) {
            Ok(()) => return,
            Err(why) => last = why,
        }
    }
    panic!("{last}");
}

#[test]
#[ignore = "live: root, tracefs"]
fn explain_live_says_which_tracefs_it_used() {
    let _alone = alone();
    let words = ["explain", "--live", "--all-rt", "--duration", "500ms", "--json"];
    let output = unmounted("exec \"$0\" \"$@\"").args(words).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    assert!(document["result"].to_string().contains("own detached mount"), "{document}");
}

#[test]
#[ignore = "live: root, tracefs"]
fn an_instance_in_an_own_mount_is_removed_at_the_next_start_after_a_kill() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let words = ["prove", "-D", "60s", "--load", "idle", "--quiet", "--out"];
    let mut child = unmounted("exec \"$0\" \"$@\"").args(words).arg(&out).stderr(Stdio::null()).spawn().unwrap();
    let (pid, begun) = (child.id(), Instant::now());
    while instances_of(pid).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "no trace is made");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(instances_of(pid), [format!("punctual-{pid}")]);
    let script =
        "cat /proc/self/mountinfo > \"$1/before\"; \"$0\" explain --help; cat /proc/self/mountinfo > \"$1/after\"";
    let output = unmounted(script).arg(place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(instances_of(pid), [""; 0], "{said}");
    // Another process of the program may have removed the instance already; it only has to be gone.
    assert!(said.contains(&format!("remove instances/punctual-{pid} in tracefs")) || said.is_empty(), "{said}");
    assert_eq!(text(&place.path().join("before")), text(&place.path().join("after")));
}
