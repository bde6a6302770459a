//! Tests `--tui` in a pseudoterminal (pty(7)), and without a terminal.

use crate::common;
use common::{answer, punctual, shown};
use rustix::fd::OwnedFd;
use rustix::io::{dup, read, write};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A run in a terminal of 80 × 24.
struct Shown {
    child: Child,
    keyboard: OwnedFd,
    terminal: OwnedFd,
    seen: Arc<Mutex<String>>,
}

impl Shown {
    fn start(out: &Path, words: &[&str]) -> Shown {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        let open = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
        tcsetwinsize(&keyboard, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let mut command = punctual();
        command.args(words).arg("--out").arg(out).env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
        let child =
            command.stdin(Stdio::from(open())).stderr(Stdio::from(open())).stdout(Stdio::piped()).spawn().unwrap();
        let (seen, screen) = (Arc::<Mutex<String>>::default(), dup(&keyboard).unwrap());
        let theirs = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0u8; 4096];
            while let Ok(n @ 1..) = read(&screen, &mut bytes) {
                theirs.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        });
        Shown { child, keyboard, terminal: open().into(), seen }
    }

    /// Waits until `text` has been drawn since the previous call.
    fn sees(&self, text: &str) {
        let begun = Instant::now();
        loop {
            let mut seen = self.seen.lock().unwrap();
            if let Some(at) = seen.find(text) {
                seen.drain(..at + text.len());
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "no `{text}` after {} bytes", seen.len());
            drop(seen);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn types(&self, keys: &str) {
        write(&self.keyboard, keys.as_bytes()).unwrap();
    }

    fn raw(&self) -> bool {
        !tcgetattr(&self.terminal).unwrap().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Returns exit code and standard output, after checking that the terminal is restored.
    fn ends(self) -> (i32, String) {
        let Shown { child, terminal, seen, .. } = self;
        let (code, out, _) = answer(child.wait_with_output().unwrap());
        assert!(
            tcgetattr(&terminal)
                .unwrap()
                .local_modes
                .contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
        );
        let begun = Instant::now();
        while !seen.lock().unwrap().contains("\x1b[?1049l") {
            assert!(begun.elapsed() < Duration::from_secs(5), "the screen was not given back");
            std::thread::sleep(Duration::from_millis(20));
        }
        (code, out)
    }
}

#[test]
#[ignore = "live: timing"]
fn keys_mark_go_on_and_end() {
    if common::is_not_tested("it does not know TCGETS2") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let shown_run = Shown::start(&out, &["measure", "--tui", "-D", "120s", "-l", "idle,cpu", "--policy", "other"]);
    shown_run.sees("\x1b[?1049h");
    shown_run.sees("median");
    assert!(shown_run.raw());
    std::thread::sleep(Duration::from_millis(1200));
    shown_run.types("m");
    shown_run.sees("mark 1 set");
    shown_run.types("p");
    shown_run.sees("DISPLAY PAUSED");
    shown_run.types(" n");
    // Only changes are drawn: here, the load's name in bold.
    shown_run.sees("[1mcpu");
    std::thread::sleep(Duration::from_millis(1500));
    shown_run.types("q");
    let (code, text) = shown_run.ends();
    assert_eq!(code, 130, "{text}");
    let document = shown(&out);
    let run = &document["result"]["run"];
    assert_eq!(run["ended_by"]["name"], "SIGINT", "{run}");
    let phases = document["result"]["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 2);
    assert_eq!(phases[0]["problems"].as_array().unwrap().iter().filter(|p| p["kind"] == "interrupted").count(), 0);
    let events = std::fs::read_to_string(out.join("events.jsonl")).unwrap();
    assert!(events.contains("{\"event\":\"mark\"") && events.contains("\"phase\":\"1-idle\"}"), "{events}");
    assert_eq!(events.matches("\"event\":\"ended_early\"").count(), 1);
    assert_eq!(phases[0]["problems"].as_array().unwrap().iter().filter(|p| p["kind"] == "ended_early").count(), 1);
    let notes = std::fs::read_to_string(out.join("run.json")).unwrap();
    assert!(notes.contains("the live view drew"), "{notes}");
}

#[test]
#[ignore = "live: timing"]
fn a_run_whose_last_load_is_ended_by_the_user_is_complete() {
    if common::is_not_tested("it does not know TCGETS2") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let words = ["measure", "--tui", "-D", "120s", "--no-context", "--json", "--policy", "other"];
    let shown_run = Shown::start(&out, &words);
    shown_run.sees("context not sampled");
    tcsetwinsize(&shown_run.keyboard, Winsize { ws_row: 5, ws_col: 20, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    shown_run.sees("q p m n ?");
    std::thread::sleep(Duration::from_millis(700));
    shown_run.types("n");
    let (code, text) = shown_run.ends();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["result"]["run"]["complete"], true, "{code} {text}");
    // A machine short of memory may evict a page of the program during the run: that is reported and prevents a pass.
    let faulted = text.contains("page faults: its memory is not locked");
    assert_eq!(code, if faulted { 3 } else { 0 }, "{text}");
}

/// A user who ends a load early has seen its results, so a quantile of that load can make a claim fail but not hold.
#[test]
#[ignore = "live: timing"]
fn a_claim_on_a_load_that_its_user_ended_does_not_hold() {
    if common::is_not_tested("it does not know TCGETS2") {
        return;
    }
    for (claim, code) in [("p50 < 1000s", 3), ("max < 1ns", 1)] {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("run");
        let words = ["prove", "--tui", "-D", "120s", "-l", "idle", "--policy", "other", "--full", "--claim", claim];
        let shown_run = Shown::start(&out, &words);
        shown_run.sees("median");
        std::thread::sleep(Duration::from_millis(1200));
        shown_run.types("n");
        let (ended, text) = shown_run.ends();
        assert_eq!(ended, code, "{claim}: {text}");
        // One text begins a sentence with this, and lines are wrapped.
        assert!(text.contains("nded early by the user after its results were seen"), "{text}");
    }
}

#[test]
#[ignore = "live: timing, tracefs"]
fn causes_are_shown_after_each_load() {
    if common::is_not_tested("it does not know TCGETS2") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let shown_run = Shown::start(&out, &["prove", "--tui", "-D", "60s", "-l", "cpu,idle", "--trace", "always"]);
    shown_run.sees("Causes of late wakeups are shown after each load.");
    std::thread::sleep(Duration::from_millis(2500));
    shown_run.types("n");
    // Only changed text is drawn: the line differs from the previous one from here on.
    shown_run.sees("far: Under `cpu`:");
    shown_run.types("q");
    assert_eq!(shown_run.ends().0, 130);
}

#[test]
#[ignore = "live: timing"]
fn a_signal_gives_the_terminal_back() {
    if common::is_not_tested("it does not know TCGETS2") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let shown_run = Shown::start(&out, &["measure", "--tui", "-D", "120s", "--policy", "other"]);
    shown_run.sees("median");
    std::thread::sleep(Duration::from_millis(700));
    kill_process(Pid::from_raw(shown_run.child.id() as i32).unwrap(), Signal::TERM).unwrap();
    assert_eq!(shown_run.ends().0, 143);
}

/// Without `--tui`, a terminal shows one status line that is overwritten, and is erased before anything else is
/// printed, also after a signal.
#[test]
#[ignore = "live: root, tracefs"]
fn one_line_moves_and_is_taken_away() {
    let place = tempfile::tempdir().unwrap();
    let run = Shown::start(&place.path().join("run"), &["measure", "-D", "60s", "-l", "idle", "--policy", "other"]);
    run.sees("\rpreparing\x1b[K");
    run.sees("\r[1/1] idle: measuring, ");
    run.sees("\r[1/1] idle: measuring, ");
    kill_process(Pid::from_child(&run.child), Signal::INT).unwrap();
    run.sees("\r\x1b[K[1/1] idle for 60.0 s … ");
    run.sees("analysing the claims");
    let (code, _, _) = answer(run.child.wait_with_output().unwrap());
    assert_eq!(code, 130);
    let begun = Instant::now();
    while !run.seen.lock().unwrap().ends_with("\r\x1b[K") {
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", run.seen.lock().unwrap());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn no_terminal_is_said_before_anything_is_made() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let output =
        punctual().args(["measure", "--tui", "-D", "1s", "--out"]).arg(&out).stdin(Stdio::null()).output().unwrap();
    let (code, _, err) = answer(output);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("is not a terminal") && err.contains("ssh -t"), "{err}");
    assert!(!out.exists());
}
