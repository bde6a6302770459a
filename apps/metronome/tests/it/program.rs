//! Tests the binary with a simulated line.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_metronome"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Parses the program's output: one JSON object per line.
fn events(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
#[ignore = "live: timing"]
fn every_release_and_every_edge_is_accounted_for_in_every_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("runs");
    let mut command = program();
    command.args(["--line", "sim", "-D", "300ms", "--settle", "50ms", "--loads", "idle,cpu", "--compare", "--json"]);
    // If real-time scheduling is refused, one policy remains, and the program reports this.
    let output = command.arg("--allow-ordinary").arg("--out").arg(&out).output().unwrap();
    let events = events(&output);
    // On a busy machine a load of 300 ms may not be shown to have run; that must be reported.
    let proven = events.iter().all(|event| event["load_report"]["ran"] == true);
    assert_eq!(output.status.code(), Some(if proven { 0 } else { 3 }), "{output:?}");
    let narrowed = text(&output.stderr).contains("measures an ordinary thread");
    if narrowed {
        println!("NOT TESTED with SCHED_FIFO: it is refused here");
    }
    assert_eq!(events.len(), if narrowed { 4 } else { 8 });
    for event in &events {
        assert_eq!(number(&event["released"]), number(&event["ran"]) + number(&event["skipped"]), "{event}");
        assert_eq!(event["accounted_for"], true);
        let edges = &event["edges"];
        assert_eq!(event["ran"], edges["seen"], "{event}");
        assert_eq!((number(&edges["unseen"]), number(&edges["strays"])), (0, 0), "{event}");
        let doubts = event["doubts"].to_string();
        assert_eq!(event["load_report"]["ran"] == true, !doubts.contains("the load did not run"), "{event}");
        // All releases but the first, which is due a millisecond or one period after the start.
        assert!(number(&event["released"]) >= 290_000_000 / number(&event["period_ns"]) - 1, "{event}");
        // An edge never comes before its task has woken.
        assert!(number(&edges["latency_ns"]["max"]) >= number(&event["lateness_ns"]["max"]), "{event}");
    }
    let short = events.iter().find(|event| event["period_ns"] == 360_000 && event["load"] == "cpu").unwrap();
    if !narrowed {
        assert_eq!(
            (&short["paper_worst_ns"]["edges"], &short["paper_worst_ns"]["task"]),
            (&26_000.into(), &36_000.into())
        );
    }
    runs(&out, narrowed);
    // A second run with the same folder is refused before it measures for an hour.
    let mut again = program();
    again.args(["--line", "sim", "-D", "1h", "--loads", "idle", "--policy", "ordinary", "--allow-ordinary"]);
    let output = again.arg("--out").arg(&out).output().unwrap();
    assert!(output.status.code() == Some(4) && text(&output.stderr).contains("is not empty"), "{output:?}");
}

fn runs(folder: &Path, narrowed: bool) {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let all = ["35ms-fifo-99", "35ms-other", "360us-fifo-99", "360us-other"];
    assert_eq!(names, if narrowed { vec![all[1], all[3]] } else { all.to_vec() });
    for name in names {
        let recording = punctual_rundir::read(&folder.join(&name)).unwrap();
        assert!(recording.damage.is_empty() && recording.run.complete, "{name}: {:?}", recording.damage);
        let loads: Vec<&str> = recording.run.phases.iter().map(|phase| phase.load.as_str()).collect();
        assert_eq!(loads, ["idle", "cpu"]);
        let phase = &recording.run.phases[1];
        let unproven = phase.problems.iter().any(|problem| problem.kind == punctual_model::ProblemKind::LoadDidNotRun);
        assert_eq!(phase.load_report.as_ref().map(|report| report.ran), Some(!unproven));
        assert!(recording.run.notes.iter().any(|note| note.contains("edges were seen")));
        for phase in &recording.run.phases {
            let result = &phase.cpus[0];
            assert_eq!(result.released, Some(result.ran + result.skipped.unwrap()));
            let distribution = recording.distribution(&phase.id, result.cpu).unwrap();
            assert_eq!(Some(distribution.corrected().count()), result.released);
        }
    }
}

#[test]
fn the_papers_table_stands_beside_ours() {
    let mut command = program();
    command.args(["--line", "sim", "-D", "200ms", "--settle", "0", "--loads", "idle", "--policy", "ordinary"]);
    let output = command.args(["--allow-ordinary", "--period", "35ms", "--period", "1ms"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = text(&output.stdout);
    // `OTHER nice 5` where the tests run under nice(1).
    let row = |period: &str, what: &str| {
        let is_it =
            |line: &&str| line.starts_with(&format!("{period}   OTHER")) && line.contains(&format!("  {what} "));
        text.lines().find(is_it).unwrap_or_else(|| panic!("{period} {what} in {text}")).to_owned()
    };
    assert!(row("35.0 ms", "edges").ends_with("(260 µs)"), "{text}");
    assert!(row("35.0 ms", "in the task").ends_with("(–)"), "{text}");
    assert!(row("1.00 ms", "edges").ends_with("(–)"), "{text}");
    assert!(text.contains("minimum 4.00 µs, mean 19.0 µs, maximum 61.0 µs"), "{text}");
}

#[test]
fn sigterm_ends_it_in_order_and_keeps_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("runs");
    let mut command = program();
    command.args(["--line", "sim", "--loads", "idle", "--settle", "0", "--period", "1ms", "--policy", "ordinary"]);
    let mut child = command.args(["-D", "60s", "--json", "--allow-ordinary"]).arg("--out").arg(&out).spawn().unwrap();
    // Signals are blocked before the checks are reported.
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut String::new()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(150));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    let event: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!((&event["accounted_for"], &event["doubts"][0]), (&true.into(), &"ended early by SIGTERM".into()));
    // `1ms-other`, or another name where the tests run under nice(1).
    let only = out.read_dir().unwrap().next().unwrap().unwrap().path();
    let run = punctual_rundir::read(&only).unwrap().run;
    assert!(!run.complete && run.phases[0].problems.iter().any(|problem| problem.text.contains("SIGTERM")));
}

#[test]
fn what_it_cannot_have_is_an_error_with_the_next_step() {
    for (words, code, word) in [
        (&["--line", "gpiochip99:1"][..], 4, "gpiochip99"),
        (&["--line", "/dev/gpiochip-absent:1"], 4, "ls /dev/gpiochip*"),
        (&["--line", "/sys/devices/platform/absent/pull"], 4, "gpio-sim"),
        (&["--line", "no-such-line-anywhere"], 4, "no-such-line-anywhere"),
        (&["--line", "sim", "--cpu", "8000"], 4, "CPU 8000"),
        (&["--line", "sim", "--loads", "network", "--settle", "0"], 2, "--peer"),
        (&[], 2, "--line sim"),
    ] {
        let output = program().args(["--allow-ordinary", "-D", "100ms"]).args(words).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(code) && said.contains(word), "{words:?}: {output:?}");
    }
}

/// Runs the program as the user nobody, who has no permission to use real-time priorities.
#[test]
#[ignore = "live: root, timing"]
fn without_privilege_it_refuses_or_says_what_it_goes_on_without() {
    if !rustix::process::geteuid().is_root() {
        println!("not tested: giving up privileges needs root; run the tests as root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let copy = folder.path().join("metronome");
    std::fs::copy(env!("CARGO_BIN_EXE_metronome"), &copy).unwrap();
    let nobody = |words: &[&str]| {
        let mut command = Command::new(&copy);
        command.uid(65534).gid(65534).args(["--line", "sim", "-D", "100ms", "--loads", "idle", "--settle", "0"]);
        command.args(words).output().unwrap()
    };
    let refused = nobody(&[]);
    let said = text(&refused.stderr);
    assert!(refused.status.code() == Some(4), "{said}");
    assert!(said.contains("CAP_SYS_NICE") && said.contains("--allow-ordinary"), "{said}");
    let allowed = nobody(&["--allow-ordinary"]);
    let said = text(&allowed.stderr);
    assert!(allowed.status.success() && said.contains("measures an ordinary thread"), "{said}");
    assert!(said.contains("memory is not locked"), "{said}");
    let ordinary = nobody(&["--policy", "ordinary"]);
    assert!(ordinary.status.success() && text(&ordinary.stderr).contains("memory is not locked"), "{ordinary:?}");
}

/// The program accepts the options that the systemd unit passes to it.
#[test]
fn the_unit_starts_it_with_options_it_has() {
    let unit = include_str!("../../systemd/metronome.service");
    let line = unit.lines().find_map(|line| line.split_once("METRONOME_OPTIONS=--")).unwrap().1;
    let words = format!("metronome --{} --out runs", line.trim_end_matches('"'));
    let asked = metronome::parse(words.split(' ').map(Into::into)).unwrap();
    let metronome::Asked::Run(options) = asked else { panic!("{asked:?}") };
    assert_eq!((options.scheduling.len(), options.duration.as_secs_f64()), (2, 600.0));
}
