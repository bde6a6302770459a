//! Tests `punctual bound` on recordings.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A section of 5 µs, two wakeups by a timer, and a preemption at the end of a section, as the kernel prints them.
const RECORDING: &str = "\
# tracer: nop
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
            work-10      [000] d....     1.000000: irq_disable: caller=work+0x1/0x9 parent=0x0
            work-10      [000] d....     1.000005: irq_enable: caller=work+0x5/0x9 parent=0x0
            work-10      [000] d....     1.000100: irq_disable: caller=irqentry_enter+0x1/0x9 parent=0x0
            work-10      [000] d.h..     1.000101: preempt_disable: caller=irq_enter_rcu+0x1/0x9 parent=0x0
            work-10      [000] d.h..     1.000102: local_timer_entry: vector=236
            work-10      [000] dNh..     1.000103: sched_waking: comm=high pid=99 prio=1 target_cpu=000
            work-10      [000] dNh..     1.000104: preempt_enable: caller=irq_exit_rcu+0x1/0x9 parent=0x0
            work-10      [000] dN.1.     1.000105: preempt_disable: caller=preempt_schedule_irq+0x1/0x9 parent=0x0
            work-10      [000] dN.1.     1.000106: irq_enable: caller=preempt_schedule_irq+0x2/0x9 parent=0x0
            work-10      [000] dN.1.     1.000107: irq_disable: caller=__schedule+0x1/0x9 parent=0x0
            work-10      [000] d..2.     1.000108: sched_switch: prev_comm=work prev_pid=10 prev_prio=120 prev_state=R+ ==> next_comm=high next_pid=99 next_prio=1
            high-99      [000] d..1.     1.000109: irq_enable: caller=finish_task_switch+0x1/0x9 parent=0x0
            high-99      [000] ...1.     1.000110: preempt_enable: caller=schedule+0x1/0x9 parent=0x0
            high-99      [000] ...1.     1.000120: preempt_disable: caller=schedule+0x1/0x9 parent=0x0
            high-99      [000] d..1.     1.000121: irq_disable: caller=__schedule+0x1/0x9 parent=0x0
            high-99      [000] d..2.     1.000122: sched_switch: prev_comm=high prev_pid=99 prev_prio=1 prev_state=S ==> next_comm=work next_pid=10 next_prio=120
            work-10      [000] d..1.     1.000123: irq_enable: caller=finish_task_switch+0x1/0x9 parent=0x0
            work-10      [000] d..1.     1.000124: irq_disable: caller=preempt_schedule_irq+0x1/0x9 parent=0x0
            work-10      [000] d..1.     1.000125: preempt_enable: caller=preempt_schedule_irq+0x1/0x9 parent=0x0
            work-10      [000] d....     1.000126: irq_enable: caller=irqentry_exit+0x1/0x9 parent=0x0
";

fn bound(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual")).arg("bound").args(words).stdin(Stdio::null()).output().unwrap()
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn document(output: &Output) -> Value {
    let document = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    punctual_testing::schema::holds(&document);
    document
}

#[test]
fn the_bound_comes_first_and_its_composition_below() {
    let recording = file(RECORDING);
    let output = bound(&[recording.path().to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    punctual_testing::golden(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bound.txt"), &text);
    assert!(text.lines().count() <= 22, "{text}");
}

#[test]
fn the_document_has_the_parts_and_the_deadline_decides_the_exit_code() {
    let recording = file(RECORDING);
    let path = recording.path().to_str().unwrap();
    let whole = document(&bound(&[path, "--json"]));
    let limit = whole["result"]["bound_ns"].as_u64().unwrap();
    let parts = whole["result"]["cpus"][0]["parts"].as_array().unwrap();
    let longest: Vec<u64> = parts.iter().map(|part| part["longest_ns"].as_u64().unwrap()).collect();
    // Microseconds are up to 999 ns too short: poid 5 µs, dst 5 µs, no paie.
    assert_eq!(longest[..3], [5999, 5999, 0], "{whole:#}");
    for (deadline, code) in [(limit + 1, 0), (limit, 1)] {
        let output = bound(&[path, "--deadline", &format!("{deadline}ns"), "--json"]);
        assert_eq!((output.status.code(), document(&output)["exit_code"].as_i64()), (Some(code), Some(code.into())));
    }
}

#[test]
fn a_recording_without_the_events_is_inconclusive_and_says_how_to_record_them() {
    let without: String =
        RECORDING.lines().filter(|line| !line.contains("preempt_")).map(|l| format!("{l}\n")).collect();
    let output = bound(&[file(&without).path().to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("no preemptirq:preempt_disable, preemptirq:preempt_enable") && text.contains("trace-cmd record"),
        "{text}"
    );
}

#[test]
fn what_is_no_recording_is_wrong_usage() {
    for path in [concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "/nowhere/trace.dat"] {
        let output = bound(&[path, "--json"]);
        assert_eq!(output.status.code(), Some(2));
        document(&output);
    }
}
