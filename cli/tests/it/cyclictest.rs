//! Tests `cyclictest` as scripts use the program of rt-tests.

use crate::common;

use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// Returns options for ordinary scheduling if real-time scheduling is refused: the output has the same form.
fn priority() -> &'static [&'static str] {
    let tried = Command::new(env!("CARGO_BIN_EXE_punctual")).args(["cyclictest", "-q", "-p", "5", "-l", "1"]).output();
    if tried.is_ok_and(|output| output.status.success()) { &["-p", "5"] } else { &[] }
}

fn cyclictest(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual")).arg("cyclictest").args(priority()).args(words).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Linaro's test-definitions use `grep "^T:" | awk` with the value after each key; the last column is Max.
#[test]
#[ignore = "live: timing"]
fn the_summary_is_read_by_linaros_way() {
    let output = cyclictest(&["-q", "-S", "-i", "500", "-l", "100"]);
    let text = text(&output);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("T:")).collect();
    assert!(!rows.is_empty() && output.status.code() == Some(0), "{text}");
    for row in rows {
        let behind =
            |key: &str| row.split(key).nth(1).unwrap().split_whitespace().next().unwrap().parse::<u64>().unwrap();
        let (min, avg, max) = (behind("Min:"), behind("Avg:"), behind("Max:"));
        assert!(min <= avg && avg <= max && behind("C:") > 0, "{row}");
    }
}

/// OSADL's mklatencyplot skips comments, converts blanks to tabs, and takes the largest of `Max Latencies`.
#[test]
#[ignore = "live: timing"]
fn the_histogram_is_read_by_osadls_way() {
    let text = text(&cyclictest(&["-q", "-S", "-h", "400", "-l", "100"]));
    let mut counted = 0;
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    for (at, row) in rows.enumerate() {
        let fields: Vec<u64> = row.split([' ', '\t']).map(|field| field.parse().unwrap()).collect();
        assert_eq!(fields[0], at as u64);
        counted += fields[1];
    }
    let named = |name: &str| -> Vec<u64> {
        let line = text.lines().find(|line| line.contains(name)).unwrap();
        line.split_once(':').unwrap().1.split_whitespace().map(|field| field.parse().unwrap()).collect()
    };
    assert_eq!(counted, named("# Total:")[0]);
    // As in rt-tests, the run ends when the first thread has this many samples; another thread may have fewer.
    let (totals, overflows) = (named("# Total:"), named("Histogram Overflows"));
    let cycles: Vec<u64> = totals.iter().zip(&overflows).map(|(binned, over)| binned + over).collect();
    assert_eq!(cycles.iter().max(), Some(&100), "{cycles:?}");
    assert!(named("Max Latencies")[0] >= named("Min Latencies")[0]);
}

/// rteval, KernelCI and others read `thread` → number → `max`, `histogram`.
#[test]
#[ignore = "live: timing"]
fn the_json_is_read_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let (json, hist) = (folder.path().join("a.json"), folder.path().join("a.hist"));
    let words = [format!("--json={}", json.display()), format!("--histfile={}", hist.display())];
    cyclictest(&["-q", "-t", "2", "-i", "500", "-l", "60", "-h", "1000", &words[0], &words[1]]);
    let document: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(document["num_threads"], 2);
    assert!(
        document["cmdline:"].as_str().unwrap().starts_with("cyclictest ") && document["sysinfo"]["release"].is_string()
    );
    for n in ["0", "1"] {
        let thread = &document["thread"][n];
        let binned: u64 = thread["histogram"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(binned + thread["overflows"].as_u64().unwrap(), thread["cycles"].as_u64().unwrap());
    }
    assert!(std::fs::read_to_string(hist).unwrap().starts_with("# Histogram\n000000 "));
}

#[test]
#[ignore = "live: timing"]
fn every_way_to_sleep_counts_its_cycles() {
    for way in [&[][..], &["-r"], &["-s"], &["-x"], &["-x", "-r"], &["-x", "-s"], &["-c", "1"], &["-A", "50"]] {
        let output = cyclictest(&[&["-q", "-l", "20", "-i", "500"], way].concat());
        let text = text(&output);
        assert!(text.contains("C:     20 "), "{way:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn wrong_words_end_with_1_and_say_what_to_write() {
    for (words, part) in [
        (&["-smp"][..], "--smp"),
        (&["-D", "1x"], "-D needs"),
        (&["-c", "2"], "-c needs"),
        (&["-a", "4000"], "not online"),
        (&["--json=/nowhere/at/all.json", "-l", "1"], "/nowhere/at"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_punctual")).arg("cyclictest").args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(part), "{words:?}: {said}");
    }
    assert_eq!(
        Command::new(env!("CARGO_BIN_EXE_punctual")).args(["cyclictest", "--help"]).status().unwrap().code(),
        Some(0)
    );
}

/// get_cyclictest_snapshot(8) reads /dev/shm/cyclictestPID after it has sent SIGUSR2.
#[test]
#[ignore = "live: timing"]
fn a_snapshot_does_not_outlive_a_killed_run() {
    if common::is_not_tested("every process has a second thread, before signals are handled") {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    let mut child =
        command.args(["cyclictest", "-q", "-D", "60"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let shown = std::path::PathBuf::from(format!("/dev/shm/cyclictest{}", child.id()));
    let pause = || std::thread::sleep(std::time::Duration::from_millis(50));
    pause();
    for _ in 0..200 {
        pause();
        if child.try_wait().unwrap().is_some() || shown.exists() {
            break;
        }
        // Until the measuring thread runs, the signal would end the process.
        let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).map_or(0, Iterator::count);
        if threads > 1 {
            Command::new("kill").args(["-USR2", &child.id().to_string()]).status().unwrap();
        }
    }
    assert!(std::fs::read_to_string(&shown).is_ok_and(|text| text.starts_with("T: 0 (")), "{}", shown.display());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(shown.exists());
    // Any command restores what killed processes have left behind.
    Command::new(env!("CARGO_BIN_EXE_punctual")).args(["cyclictest", "--help"]).output().unwrap();
    assert!(!shown.exists());
}

#[test]
#[ignore = "live: timing"]
fn a_limit_and_signals_are_answered() {
    let broken = text(&cyclictest(&["-q", "-b", "0", "-D", "20"]));
    assert!(broken.contains("# Break thread: ") && broken.contains("# Break value: "), "{broken}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    let child =
        command.args(["cyclictest", "-q", "-D", "60"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    for signal in ["-USR1", "-INT"] {
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("# cyclictest current status:\nT: 0 ("), "{said}");
    assert!(output.status.code() == Some(0) && text(&output).contains("T: 0 ("));
}
