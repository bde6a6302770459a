#![allow(dead_code)]

use punctual_model::LoadReport;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Serializes the tests, because loads disturb each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process that runs a load, marked so that all its descendants can be found whatever their parent.
pub struct Host {
    pub child: Child,
    out: BufReader<ChildStdout>,
    mark: String,
}

impl Host {
    pub fn start(args: &[&str]) -> Host {
        Host::start_in(&[], args)
    }

    /// Starts the process. `before` is a command that runs it, or empty.
    pub fn start_in(before: &[&str], args: &[&str]) -> Host {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("PUNCTUAL_TEST={}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let (key, value) = mark.split_once('=').unwrap();
        let words: Vec<&str> =
            before.iter().copied().chain([env!("CARGO_BIN_EXE_loads-test-host")]).chain(args.iter().copied()).collect();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .env(key, value)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Host { child, out, mark }
    }

    /// Waits until the load runs. Returns the load's processes.
    pub fn ready(&mut self) -> Vec<i32> {
        let line = self.line();
        let pids = line.strip_prefix("ready").unwrap_or_else(|| panic!("not ready: {line}{}", self.rest()));
        pids.split_whitespace().map(|p| p.parse().unwrap()).collect()
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    fn rest(&mut self) -> String {
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        text
    }

    pub fn report(mut self) -> LoadReport {
        let text = self.rest();
        self.child.wait().unwrap();
        let json = text.find('{').unwrap_or_else(|| panic!("no report: {text}"));
        let report = serde_json::from_str(&text[json..]).unwrap();
        self.assert_nothing_left();
        report
    }

    /// Returns all living descendants of the process.
    pub fn processes(&self) -> Vec<i32> {
        let pids = fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| self.is_marked(*pid)).collect()
    }

    fn is_marked(&self, pid: i32) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|pair| pair == self.mark.as_bytes())
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Checks that all descendants end within a second.
    pub fn assert_nothing_left(&self) {
        let began = Instant::now();
        while !self.processes().is_empty() {
            let left: Vec<String> = self.processes().into_iter().map(command_line).collect();
            assert!(began.elapsed() < Duration::from_secs(1), "left: {left:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in self.processes() {
            send(pid, Signal::KILL);
        }
    }
}

fn command_line(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " "))
}

pub fn send(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

pub fn run(args: &[&str]) -> LoadReport {
    Host::start(args).report()
}

/// Creates a directory on a disk, not on a file system in memory.
pub fn disk_folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub fn why(report: &LoadReport) -> &str {
    assert!(!report.ran, "{report:?}");
    report.why_not.as_deref().unwrap()
}
