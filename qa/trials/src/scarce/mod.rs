//! `cargo trials scarce`: runs each command with too few processes or file descriptors, or too little memory or disk
//! space. None may panic or hang, and what a command leaves must be readable.

use crate::built::missing;
use crate::hangs::{ended_within, is_panic};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Name and arguments of each command. `OUT` stands for a new directory, `RUN` for an existing run.
const COMMANDS: &[(&str, &[&str])] = &[
    ("prove", &["prove", "-D", "1s", "--load", "cpu,io", "--out", "OUT"]),
    ("prove, traced", &["prove", "-D", "1s", "--load", "idle", "--trace", "always", "--out", "OUT"]),
    ("measure", &["measure", "-D", "1s", "--out", "OUT"]),
    ("explain --live", &["explain", "--live", "-D", "1s", "--out", "OUT"]),
    ("watch", &["watch", "-D", "2s", "--out", "OUT"]),
    (
        "events",
        &[
            "events",
            "periodic-1ms",
            "alarms",
            "priority-order",
            "pi-inversion",
            "queue",
            "udp",
            "-D",
            "1s",
            "--out",
            "OUT",
        ],
    ),
    (
        "bench network",
        &["bench", "network", "-D", "1s", "--repeat", "1", "--store", "FOLDER", "--beside", "nqueens", "--out", "OUT"],
    ),
    ("bench memory", &["bench", "memory", "--size", "1", "--repeat", "1", "--out", "OUT"]),
    ("bench switch", &["bench", "switch", "--rounds", "1000", "--repeat", "1", "--out", "OUT"]),
    ("sched", &["sched", "case-1", "--out", "OUT"]),
    ("cyclictest", &["cyclictest", "-D", "1", "-q", "-a", "-t"]),
    ("selftest", &["selftest"]),
    ("serve", &["serve", "--port", "7392", "--store", "FOLDER"]),
    ("audit", &["audit"]),
    ("audit --probe", &["audit", "--probe"]),
    ("report", &["report", "RUN", "--format", "html", "--out", "OUT"]),
    ("explain", &["explain", "RUN"]),
    ("compare", &["compare", "RUN", "RUN"]),
    ("history", &["history", "add", "RUN", "--db", "OUT"]),
];

/// Time allowed in addition to the duration in the arguments, including an allowance for a busy machine.
const LIMIT: Duration = Duration::from_secs(17);

#[derive(Clone, Copy)]
enum Scarce {
    Processes(u32),
    Descriptors(u32),
    Memory(u64),
    Disk(u64),
}

impl Scarce {
    fn all() -> Vec<Scarce> {
        let processes = (3..=8).map(Scarce::Processes);
        let descriptors = [16, 18, 20, 24, 28, 32].into_iter().map(Scarce::Descriptors);
        let memory = [4, 8, 16, 32].into_iter().map(Scarce::Memory);
        processes.chain(descriptors).chain(memory).chain([16, 64, 256, 1024].into_iter().map(Scarce::Disk)).collect()
    }

    fn shown(self) -> String {
        match self {
            Scarce::Processes(n) => format!("pids.max {n}"),
            Scarce::Descriptors(n) => format!("ulimit -n {n}"),
            Scarce::Memory(mib) => format!("memory {mib} MiB"),
            Scarce::Disk(kib) => format!("tmpfs {kib} KiB"),
        }
    }
}

/// Run commands with too few processes or file descriptors, or too little memory or disk space; as root
///
/// Build first: cargo build --release. Needs prlimit (util-linux) and control groups of either version.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Commands to try, by their names in the table; all by default
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Program to test
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|e| e.to_string())?;
    let run = place.path().join("run");
    let made = Command::new(&wanted.punctual).args(["measure", "-D", "500ms", "--quiet", "--out"]).arg(&run).status();
    made.map_err(|e| missing(&wanted.punctual, &e))?;
    let (mut tried, mut failed) = (0, Vec::new());
    let is_wanted = |name: &str| wanted.names.is_empty() || wanted.names.iter().any(|wanted| wanted == name);
    for (name, words) in COMMANDS.iter().filter(|(name, _)| is_wanted(name)) {
        let mut codes: BTreeMap<String, u32> = BTreeMap::new();
        for scarce in Scarce::all() {
            tried += 1;
            match one(&wanted.punctual, place.path(), &run, words, scarce, tried) {
                Ok(code) => *codes.entry(code).or_default() += 1,
                Err(why) => {
                    println!("FAILED  {name}, {}: {why}", scarce.shown());
                    failed.push(format!("{name}, {}", scarce.shown()));
                }
            }
        }
        let codes: Vec<String> = codes.into_iter().map(|(code, n)| format!("{n} {code}")).collect();
        println!("{name:16} {}", codes.join(", "));
    }
    println!("{tried} runs, {} failed", failed.len());
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Runs one command and returns how it ended. Returns an error if it panicked or hung, or if something that it left
/// cannot be read.
fn one(punctual: &Path, place: &Path, run: &Path, words: &[&str], scarce: Scarce, n: u32) -> Result<String, String> {
    let failed = |e: std::io::Error| e.to_string();
    let folder = place.join(format!("{n}"));
    fs::create_dir(&folder).map_err(failed)?;
    let _disk = match scarce {
        Scarce::Disk(kib) => Some(Disk::mount(&folder, kib)?),
        _ => None,
    };
    let store = folder.join("store");
    // If there is not enough space for it, the command reports this.
    let _ = fs::create_dir(&store);
    let out = folder.join("out");
    let words = words.iter().map(|word| match *word {
        "OUT" => out.clone().into_os_string(),
        "RUN" => run.to_owned().into_os_string(),
        "FOLDER" => store.clone().into_os_string(),
        other => other.into(),
    });
    let group = match scarce {
        Scarce::Processes(n) => Some(Group::make("pids", "pids.max", "pids.max", n.into())?),
        Scarce::Memory(mib) => Some(Group::make("memory", "memory.limit_in_bytes", "memory.max", mib << 20)?),
        _ => None,
    };
    let said = place.join(format!("said-{n}"));
    let mut command = match (&group, scarce) {
        (Some(group), _) => {
            let mut command = Command::new("sh");
            command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.0.join("cgroup.procs")).arg(punctual);
            command
        }
        (None, Scarce::Descriptors(n)) => {
            let mut command = Command::new("prlimit");
            command.arg(format!("--nofile={n}:{n}")).arg(punctual);
            command
        }
        _ => Command::new(punctual),
    };
    let errors = File::create(&said).map_err(failed)?;
    let mut child = command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .map_err(|e| missing(punctual, &e))?;
    let (began, mut is_ended) = (Instant::now(), false);
    let status = match ended_within(&mut child, Duration::from_secs(4))? {
        Some(status) => Some(status),
        // Servers and watches have to be ended by a signal.
        None => {
            is_ended = true;
            if let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            ended_within(&mut child, LIMIT.saturating_sub(began.elapsed()))?
        }
    };
    let text = fs::read_to_string(&said).unwrap_or_default();
    let last = text.lines().next_back().unwrap_or("").to_owned();
    let Some(status) = status else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("hangs: {last}"));
    };
    if is_panic(&status, &text) {
        return Err(format!("{status}: {last}"));
    }
    // The kernel kills a process that runs out of memory. The signal sent here kills a process that could not start a
    // thread to handle it.
    let ended = is_ended && status.signal() == Some(rustix::process::Signal::TERM.as_raw());
    if status.signal().is_some() && !ended && !matches!(scarce, Scarce::Memory(_)) {
        return Err(format!("{status}: {last}"));
    }
    // A verdict goes to standard output, and a signal was sent from here, but a refusal must be explained.
    if matches!(status.code(), Some(2 | 4)) && text.trim().is_empty() {
        return Err(format!("{status} without a message"));
    }
    let left = readable(punctual, &out)?;
    let by = if ended { "SIGTERM" } else { "the kernel" };
    let killed = || format!("ended by {by} ({})", if left > 0 { "its files are readable" } else { "it left no files" });
    Ok(status.code().map_or_else(killed, |code| format!("code {code}")))
}

/// Reads every run, watch and history that was left, without limits. Returns their number.
fn readable(punctual: &Path, out: &Path) -> Result<usize, String> {
    let runs = out.join("runs");
    let below = fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_one = |path: &PathBuf| ["run.json", "watch.json"].iter().any(|name| path.join(name).exists());
    let directories = below.chain([out.to_owned()]).filter(is_one);
    let mut commands: Vec<Command> = directories.map(|directory| words(punctual, &["report"], &directory)).collect();
    if fs::read(out).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3")) {
        commands.push(words(punctual, &["history", "--db"], out));
    }
    for command in &mut commands {
        let read = command.arg("--json").output().map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&read.stderr).trim().to_owned();
        // Nothing was measured.
        if !read.status.success() && !said.contains("ended before its first result") {
            return Err(format!("its files are unreadable: {}: {said}", read.status));
        }
    }
    Ok(commands.len())
}

fn words(punctual: &Path, words: &[&str], path: &Path) -> Command {
    let mut command = Command::new(punctual);
    command.args(words).arg(path);
    command
}

/// A control group with one limit, of version 1 or 2.
struct Group(PathBuf);

impl Group {
    fn make(controller: &str, one: &str, two: &str, limit: u64) -> Result<Group, String> {
        let root = Path::new("/sys/fs/cgroup");
        let (above, file) = match root.join("cgroup.controllers").exists() {
            true => (root.to_owned(), two),
            false => (root.join(controller), one),
        };
        let group = Group(above.join(format!("punctual-scarce-{}", std::process::id())));
        let failed = |e: std::io::Error| format!("{}: {e}", group.0.display());
        fs::create_dir_all(&group.0).map_err(failed)?;
        fs::write(group.0.join(file), limit.to_string()).map_err(failed)?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Waits until the last process has ended.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

struct Disk(PathBuf);

impl Disk {
    fn mount(folder: &Path, kib: u64) -> Result<Disk, String> {
        let size = format!("size={kib}k");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).status();
        match done.map_err(|e| format!("mount: {e}"))?.success() {
            true => Ok(Disk(folder.to_owned())),
            false => Err("cannot mount a tmpfs".into()),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
