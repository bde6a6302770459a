//! Tests runs that are ended by signals and by kill -9.

use crate::common;
use common::{answer, punctual, shown};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Serializes the tests: each loads all CPUs and measures them at real-time priority, and enabling a trace has to wait
/// for all CPUs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(out: &Path, loads: &str) -> Child {
    let child = punctual()
        .args(["prove", "--duration", "60s", "--load", loads, "--out"])
        .arg(out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    // The first phase is written to the segment once its threads run.
    while !std::fs::read_to_string(out.join("segments/000001.log")).is_ok_and(|t| t.contains("\"record\":\"phase\"")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(1000));
    child
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

#[test]
#[ignore = "live: timing"]
fn a_signal_ends_a_run_with_its_results() {
    let _alone = alone();
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("run");
        let child = start(&out, "cpu");
        let pid = child.id();
        send(&child, signal);
        let (code, text, err) = answer(child.wait_with_output().unwrap());
        assert_eq!(code, 128 + number, "{text}{err}");
        assert!(text.contains("punctual report "), "{text}");
        let document = shown(&out);
        let phases = document["result"]["phases"].as_array().unwrap();
        assert!(phases[0]["cpus"][0]["ran"].as_u64().unwrap() > 100, "{document}");
        assert!(out.join("report.html").exists());
        assert_eq!(children_left(pid), 0);
    }
}

#[test]
#[ignore = "live: timing"]
fn a_killed_run_is_readable_and_leaves_nothing_running() {
    let _alone = alone();
    for _ in 0..3 {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("run");
        let mut child = start(&out, "scheduler");
        let pid = child.id();
        std::thread::sleep(Duration::from_millis(100));
        send(&child, Signal::KILL);
        child.wait().unwrap();
        let begun = Instant::now();
        while children_left(pid) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(5), "the load runs on");
            std::thread::sleep(Duration::from_millis(20));
        }
        let document = shown(&out);
        assert!(document["result"]["phases"].is_array(), "{document}");
    }
}

/// Returns the number of processes of the binary under test, other than `but`, whose parent has ended or is `but`.
fn children_left(but: u32) -> usize {
    let exe = std::fs::canonicalize(env!("CARGO_BIN_EXE_punctual")).unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| {
            let folder = entry.path();
            let parent = std::fs::read_to_string(folder.join("stat"))
                .ok()
                .and_then(|stat| stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok());
            let ours = std::fs::read_link(folder.join("exe")).is_ok_and(|theirs| theirs == exe);
            ours && parent.is_some_and(|p| p == but || p == 1)
        })
        .count()
}

/// Tests a session leader, as a service manager, cron or a container starts it: the first terminal that it opens would
/// become its controlling terminal, and it would get SIGHUP when that terminal closes.
#[test]
#[ignore = "live: timing"]
fn a_session_leader_without_a_terminal_ends_as_others_do() {
    let folder = tempfile::tempdir().unwrap();
    for (n, words) in [
        "events pty udp timerfd rt-pipe queue -D 500ms --out",
        "measure -D 300ms --no-context --out",
        "bench nqueens -n 6 --repeat 1 --out",
        "bench network --size 4 -D 30ms --repeat 1 --out",
        "bench switch --rounds 20 --repeat 1 --out",
        "watch -D 2s --block 1s --trace never --out",
        "events --list",
        "undo --list",
    ]
    .into_iter()
    .enumerate()
    {
        let words = words.split(' ').map(str::to_owned);
        let ended = |leader: bool| {
            let out = words.clone().next_back().filter(|last| last == "--out");
            let out = out.map(|_| folder.path().join(format!("{n}-{leader}")).display().to_string());
            let (program, first) = (env!("CARGO_BIN_EXE_punctual"), ["-w", env!("CARGO_BIN_EXE_punctual")]);
            let mut command = std::process::Command::new(if leader { "setsid" } else { program });
            let command = command.args(first.iter().filter(|_| leader)).args(words.clone()).args(out);
            answer(command.stdin(std::process::Stdio::null()).output().unwrap())
        };
        let ((leader, _, err), (other, ..)) = (ended(true), ended(false));
        // A busy machine makes either run inconclusive.
        assert!(
            leader == other || [leader, other].iter().all(|code| [0, 3].contains(code)),
            "{n}: {leader} {other} {err}"
        );
    }
}
