//! Tests chains of USDT probes with a program whose probes are known.

use crate::common::{punctual, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CHAIN: &str = "chain(usdt:demo:taken:arg1 > usdt:demo:given:arg1)";

fn built(folder: &Path, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/usdt.c");
    let program = folder.join("usdt");
    assert!(Command::new("cc").args(options).arg("-o").arg(&program).arg(source).status().unwrap().success());
    program
}

/// Returns the uprobes of this program that the kernel has, read through a mount in another namespace.
fn uprobes() -> Vec<String> {
    let list = "mount -t tracefs nodev /sys/kernel/tracing && cat /sys/kernel/tracing/uprobe_events";
    let output =
        Command::new("unshare").args(["--mount", "--propagation", "private", "sh", "-c", list]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| line.contains("usdt_demo_")).map(str::to_owned).collect()
}

#[test]
#[ignore = "live: root, tracefs, cc, timing"]
fn a_chain_of_usdt_probes_is_measured_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&["-O2"][..], &["-O0", "-no-pie"], &["-O2", "-s"]] {
        let program = built(folder.path(), options);
        let program = program.to_str().unwrap();
        let (_, listed, errors) = run(&["prove", "--app", program, "--show-cycles", "--json"]);
        let found: Value = serde_json::from_str(&listed).unwrap_or_else(|e| panic!("{e}: {errors}"));
        let probes = found["result"]["probes"].as_array().unwrap();
        let has = |name: &str| probes.iter().any(|one| one["name"] == name && one["arguments"] == 1);
        assert!(has("usdt:demo:taken") && has("usdt:demo:given"), "{probes:?}");
        let out = folder.path().join("run");
        let claim = format!("{CHAIN} < 10s");
        let words = ["prove", "--app", program, "--claim", &claim, "-l", "idle", "-D", "2s", "--json", "-o"];
        let (code, answer, errors) = run(&[&words[..], &[out.to_str().unwrap()]].concat());
        let result: Value = serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{e}: {errors}"));
        let application = &result["result"]["application"];
        let (chain, cycles) = (&application["chains"][0], &application["cycles"][0]);
        let passes = chain["passes"].as_u64().unwrap();
        assert!(code == 0 && (900..=1_001).contains(&passes) && chain["unanswered"] == 0, "{code} {chain} {errors}");
        // The flags of a probe's event say that it is in an NMI, but the thread works on.
        assert!(cycles["ran_ns"].as_u64().unwrap() >= 195_000 * passes, "{cycles}");
        assert_eq!(uprobes(), [""; 0], "{options:?}");
        // The worst value is that of the claim, not the longer response of the thread.
        let (_, text, _) = run(&["report", out.to_str().unwrap()]);
        let text: Vec<&str> = text.split_whitespace().collect();
        let worst = "(chain usdt:demo:taken:arg1 > usdt:demo:given:arg1 while idle)";
        assert!(text.join(" ").contains(worst), "{text:?}");
        std::fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
#[ignore = "live: root, tracefs, cc, timing"]
fn probes_left_by_a_killed_run_are_removed_by_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), &["-O2"]);
    let claim = format!("{CHAIN} < 10s");
    let mut measuring = punctual()
        .args(["prove", "--app", program.to_str().unwrap(), "--claim", &claim, "-l", "idle", "-D", "60s", "-o"])
        .arg(folder.path().join("run"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    // The probes are defined once before the measurement, to see whether the kernel accepts them.
    let mut seen = 0;
    while seen < 20 && Instant::now() < until {
        seen = if uprobes().len() == 2 { seen + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(50));
    }
    measuring.kill().unwrap();
    measuring.wait().unwrap();
    assert_eq!((seen, uprobes().len()), (20, 2));
    let (_, _, errors) = run(&["--version"]);
    assert!(errors.contains("remove the uprobe punctual/usdt_demo_"), "{errors}");
    assert_eq!(uprobes(), [""; 0]);
}

#[test]
#[ignore = "live: root, tracefs, cc"]
fn a_probe_that_is_not_there_is_refused_with_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), &["-O2"]);
    let program = program.to_str().unwrap();
    for (point, said) in [
        ("usdt:demo:gone", "usdt:demo:given, usdt:demo:taken"),
        ("usdt:demo:given:arg2", "has no argument 2"),
        ("control", "control is a thread and usdt:demo:taken a mark"),
    ] {
        let claim = format!("chain(usdt:demo:taken > {point}) < 1ms");
        let (code, _, errors) = run(&["prove", "--app", program, "--claim", &claim, "-D", "1s"]);
        assert!(code == 2 && errors.contains(said), "{code} {errors}");
    }
}
