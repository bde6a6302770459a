//! Runs a daemon without hardware, in a temporary folder.

#![allow(dead_code)] // each test file uses some of these

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use tempfile::TempDir;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_rf-switch");

/// Runs the program to its end. Returns exit code, stdout and stderr.
pub fn output(words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(PROGRAM).args(words).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn pipe(&self) -> PathBuf {
        self.path("rtp1")
    }

    pub fn pending(&self) -> PathBuf {
        self.path("rtp1.pending")
    }

    pub fn write(&self, text: &str) {
        File::options().write(true).open(self.pipe()).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Starts a daemon on a simulated line, with T = 20 µs unless `words` contain another value: a message takes 10 ms.
    pub fn daemon(&self, words: &[&str]) -> Daemon {
        let mut command = Command::new(PROGRAM);
        command.args(["--dry-run", "--json", "--replace", "0", "--pipe"]).arg(self.pipe()).args(words);
        if !words.contains(&"--t") {
            command.args(["--t", "20us"]);
        }
        Daemon::spawn(&mut command, self.path("stderr"))
    }
}

pub struct Daemon {
    pub child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: PathBuf,
}

impl Daemon {
    /// Starts the daemon. Returns once it reads its FIFO.
    pub fn spawn(command: &mut Command, stderr: PathBuf) -> Daemon {
        let errors = File::create(&stderr).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut daemon = Daemon { child, stdout, stderr };
        while !daemon.said().contains("; reads ") {
            assert_eq!(daemon.child.try_wait().unwrap(), None, "{}", daemon.said());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        daemon
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap()
    }

    pub fn signal(&self, name: &str) {
        let signal = match name {
            "USR1" => Signal::USR1,
            "TERM" => Signal::TERM,
            "INT" => Signal::INT,
            "HUP" => Signal::HUP,
            other => panic!("{other}"),
        };
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn report(&mut self) -> Value {
        self.signal("USR1");
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: `{line}` {}", self.said()))
    }

    /// Waits, for at most a minute, until the values in the daemon's report satisfy the condition. Returns the report.
    pub fn until(&mut self, enough: impl Fn(&Value) -> bool) -> Value {
        let begun = std::time::Instant::now();
        loop {
            let report = self.report();
            if enough(&report["phases"][0]) {
                return report["phases"][0].clone();
            }
            assert!(begun.elapsed().as_secs() < 60, "it never comes: {report} {}", self.said());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// Sends SIGTERM. Returns the exit status and the final report.
    pub fn end(mut self) -> (ExitStatus, Value) {
        self.signal("TERM");
        let status = self.child.wait().unwrap();
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        (status, serde_json::from_str(text.lines().last().unwrap()).unwrap())
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Kills the daemon if a test has failed.
impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn count(phase: &Value, name: &str) -> u64 {
    phase[name].as_u64().unwrap_or_else(|| panic!("{name} in {phase}"))
}

pub fn packages(path: &Path) -> Vec<Vec<punctual_rf_switch::waveform::Pulse>> {
    punctual_rf_switch::ook::read(&std::fs::read_to_string(path).unwrap()).unwrap()
}
