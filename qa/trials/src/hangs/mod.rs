//! `cargo trials hangs`: stops or starves everything that a command waits for, one thing after the other. Each command
//! must end within the time in its arguments plus 10 s, and report what delayed it.

use crate::built::missing;
use rustix::process::Signal;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Accepted delay beyond the time in the arguments. [`NOTICED`] is added for the time that this program needs to notice
/// the end.
const GRACE: Duration = Duration::from_secs(10);
const NOTICED: Duration = Duration::from_secs(2);
/// Time limit of a command that computes with the 5 % of a CPU that a real-time thread leaves: it ends later, although
/// it waits for nothing.
const COMPUTING: Duration = Duration::from_secs(60);
/// Maximum number of children of one command that are stopped.
const MAX_CHILDREN: usize = 10;

/// A command, and the time in its arguments, s. `OUT` stands for a new directory, `FOLDER` for an existing one.
pub struct Case {
    pub name: &'static str,
    pub words: &'static [&'static str],
    pub given: u64,
}

pub const CASES: &[Case] = &[
    Case { name: "prove all", words: &["prove", "-D", "4s", "--load", "all", "--out", "OUT"], given: 4 },
    Case {
        name: "prove, traced",
        words: &["prove", "-D", "4s", "--load", "cpu", "--trace", "always", "--out", "OUT"],
        given: 4,
    },
    Case {
        name: "measure cmd:",
        words: &["measure", "-D", "3s", "--load", "cmd:while :; do sleep 0.1; done", "--out", "OUT"],
        given: 3,
    },
    Case { name: "check", words: &["check", "-D", "3s", "--", "sh", "-c", "while :; do sleep 0.1; done"], given: 3 },
    Case { name: "watch -D", words: &["watch", "-D", "4s", "--out", "OUT"], given: 4 },
    Case { name: "explain --live", words: &["explain", "--live", "-D", "3s", "--out", "OUT"], given: 3 },
    Case {
        name: "events",
        words: &[
            "events",
            "periodic-1ms",
            "alarms",
            "page-faults",
            "pi-inversion",
            "priority-order",
            "fifo-order",
            "rr-order",
            "queue",
            "eventfd",
            "pipe",
            "signal",
            "udp",
            "-D",
            "3s",
            "--out",
            "OUT",
        ],
        given: 3,
    },
    Case {
        name: "bench network",
        words: &["bench", "network", "-D", "3s", "--repeat", "1", "--store", "FOLDER", "--out", "OUT"],
        given: 3,
    },
    Case {
        name: "bench network, queens",
        words: &[
            "bench", "network", "-D", "3s", "--repeat", "1", "--store", "FOLDER", "--beside", "nqueens", "--out", "OUT",
        ],
        given: 3,
    },
    Case { name: "bench switch", words: &["bench", "switch", "--repeat", "1", "--out", "OUT"], given: 10 },
    Case {
        name: "bench memory",
        words: &["bench", "memory", "--repeat", "1", "--size", "64", "--out", "OUT"],
        given: 10,
    },
    Case { name: "cyclictest", words: &["cyclictest", "-D", "3", "-q", "-a", "-t", "-p", "70"], given: 3 },
    Case { name: "selftest", words: &["selftest"], given: 5 },
    Case { name: "audit --probe", words: &["audit", "--probe"], given: 5 },
];

/// Stop and starve what commands wait for, and check that each command ends in time; needs root
///
/// Build first: cargo build --release. Needs chrt and taskset (util-linux), and two CPUs.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Commands to try, by their names in the table; by default all
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Program to test
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|e| e.to_string())?;
    let trial = Trial {
        punctual: &wanted.punctual,
        place: place.path(),
        tried: 0.into(),
        late: Default::default(),
        usual: Default::default(),
    };
    let is_wanted = |case: &&Case| wanted.names.is_empty() || wanted.names.iter().any(|name| name == case.name);
    for case in CASES.iter().filter(is_wanted) {
        trial.undisturbed(case)?;
        trial.each_child_stopped(case)?;
        trial.beside_a_spinner(case)?;
        // Commands that only read wait for their pager, as filters do.
        if case.words[0] != "audit" {
            trial.read_by_nobody(case)?;
        }
    }
    if wanted.names.is_empty() {
        trial.peer_stopped()?;
    }
    let late = trial.late.into_inner();
    println!("{} tried, {} waited beyond the limit", trial.tried.get(), late.len());
    if late.is_empty() { Ok(()) } else { Err(late.join("; ")) }
}

struct Trial<'a> {
    punctual: &'a Path,
    place: &'a Path,
    tried: std::cell::Cell<u32>,
    late: std::cell::RefCell<Vec<String>>,
    /// Duration of the command on this machine if nothing is stopped or starved.
    usual: std::cell::Cell<Duration>,
}

/// A running command, whose standard error goes to a file.
struct Run {
    child: Child,
    began: Instant,
    said: PathBuf,
}

impl Trial<'_> {
    fn start(&self, before: &[&str], case: &Case, stdout: Stdio) -> Result<Run, String> {
        let number = self.tried.get();
        self.tried.set(number + 1);
        let path = |name: &str| self.place.join(format!("{name}-{number}"));
        let (out, folder, said) = (path("out"), self.place.join("store"), path("said"));
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let words = case.words.iter().map(|word| match *word {
            "OUT" => out.display().to_string(),
            "FOLDER" => folder.display().to_string(),
            other => other.to_owned(),
        });
        let program = self.punctual.display().to_string();
        let mut all = before.iter().map(|word| (*word).to_owned()).chain([program]).chain(words);
        let mut command = Command::new(all.next().unwrap_or_default());
        let errors = File::create(&said).map_err(|e| e.to_string())?;
        command.args(all).stdin(Stdio::null()).stdout(stdout).stderr(errors);
        let child = command.spawn().map_err(|e| missing(self.punctual, &e))?;
        Ok(Run { child, began: Instant::now(), said })
    }

    fn undisturbed(&self, case: &Case) -> Result<(), String> {
        self.usual.set(COMPUTING);
        let run = self.start(&[], case, Stdio::null())?;
        let began = run.began;
        self.end("undisturbed", case, run)?;
        self.usual.set(began.elapsed());
        Ok(())
    }

    /// Waits for the end of the command, and prints how it ended.
    fn end(&self, what: &str, case: &Case, mut run: Run) -> Result<(), String> {
        let limit = Duration::from_secs(case.given).max(self.usual.get()) + GRACE + NOTICED;
        let in_time = ended_within(&mut run.child, limit.saturating_sub(run.began.elapsed()))?;
        let ended = in_time.map_or_else(|| ended_within(&mut run.child, COMPUTING), |status| Ok(Some(status)))?;
        let took = run.began.elapsed().as_secs_f64();
        let said = fs::read_to_string(&run.said).unwrap_or_default();
        let last = said.lines().rfind(|line| !line.is_empty()).unwrap_or("").trim();
        let how = match ended {
            Some(status) if is_panic(&status, &said) => "PANIC".to_owned(),
            Some(status) => {
                let late = if in_time.is_some() { "" } else { ", late" };
                status.code().map_or_else(|| status.to_string(), |code| format!("code {code}{late}"))
            }
            None => "HANGS".to_owned(),
        };
        println!("{:22} {what:40} {how:12} {took:5.1} s  {}", case.name, last.chars().take(160).collect::<String>());
        if in_time.is_none() || how == "PANIC" {
            let _ = run.child.kill();
            let _ = run.child.wait();
            self.late.borrow_mut().push(format!("{}, {what}: {how}", case.name));
        }
        Ok(())
    }

    fn each_child_stopped(&self, case: &Case) -> Result<(), String> {
        for number in 0..MAX_CHILDREN {
            let run = self.start(&[], case, Stdio::null())?;
            let Some(pid) = child_number(&run, number, Duration::from_secs(case.given)) else {
                return self.end(if number == 0 { "has no child" } else { "has no more children" }, case, run);
            };
            let name = name_of(pid);
            // The process may have ended already.
            let _ = signal(pid, Signal::STOP);
            self.end(&format!("child {number} ({name}) stopped"), case, run)?;
            let _ = signal(pid, Signal::KILL);
        }
        Ok(())
    }

    fn beside_a_spinner(&self, case: &Case) -> Result<(), String> {
        for (what, before) in [("FIFO 80 on CPU 1", &[][..]), ("FIFO 80 on its only CPU", &["taskset", "-c", "1"])] {
            let spinner = Spinner::start()?;
            let run = self.start(before, case, Stdio::null())?;
            let ended = self.end(what, case, run);
            drop(spinner);
            ended?;
        }
        Ok(())
    }

    fn read_by_nobody(&self, case: &Case) -> Result<(), String> {
        let (_reader, writer) = full_pipe()?;
        let run = self.start(&[], case, writer.into())?;
        self.end("standard output is a full pipe", case, run)
    }

    fn peer_stopped(&self) -> Result<(), String> {
        self.usual.set(Duration::ZERO);
        let serve = Case { name: "serve", words: &["serve", "--port", "7391", "--store", "FOLDER"], given: 0 };
        let mut peer = self.start(&[], &serve, Stdio::null())?;
        std::thread::sleep(Duration::from_millis(500));
        let words = &["bench", "network", "--to", "127.0.0.1:7391", "-D", "3s", "--repeat", "1", "--out", "OUT"];
        let case = Case { name: "bench network --to", words, given: 3 };
        let run = self.start(&[], &case, Stdio::null())?;
        std::thread::sleep(Duration::from_millis(1500));
        signal(peer.child.id() as i32, Signal::STOP)?;
        let stopped = self.end("its peer stopped", &case, run);
        let again = self.start(&[], &case, Stdio::null())?;
        let still = self.end("its peer stopped before", &case, again);
        let _ = peer.child.kill();
        let _ = peer.child.wait();
        stopped.and(still)
    }
}

/// Returns true if the command panicked or was ended by a signal that indicates a crash (such as SIGSEGV or SIGABRT).
pub fn is_panic(status: &ExitStatus, said: &str) -> bool {
    said.contains("panicked at") || matches!(status.signal(), Some(4 | 6 | 7 | 8 | 11))
}

pub fn ended_within(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>, String> {
    let give_up = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(Some(status));
        }
        if Instant::now() > give_up {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the command has this many children, and returns the PID of the last; `None` after the time limit.
fn child_number(run: &Run, number: usize, most: Duration) -> Option<i32> {
    while run.began.elapsed() < most.max(Duration::from_secs(1)) {
        let mut all = punctual_watchdog::proc::descendants(run.child.id() as i32);
        all.sort_unstable();
        // Long enough for a load to have started.
        if run.began.elapsed() > Duration::from_millis(600)
            && let Some(pid) = all.get(number)
        {
            return Some(*pid);
        }
        if run.began.elapsed() > Duration::from_millis(1500) {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

fn name_of(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

struct Spinner(Child);

impl Spinner {
    fn start() -> Result<Spinner, String> {
        let words = ["-f", "80", "taskset", "-c", "1", "sh", "-c", "while :; do :; done"];
        let child = Command::new("chrt").args(words).stdin(Stdio::null()).spawn().map_err(|e| format!("chrt: {e}"))?;
        std::thread::sleep(Duration::from_millis(200));
        Ok(Spinner(child))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn full_pipe() -> Result<(OwnedFd, OwnedFd), String> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| e.to_string())?;
    rustix::io::ioctl_fionbio(&writer, true).map_err(|e| e.to_string())?;
    while rustix::io::write(&writer, &[0; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).map_err(|e| e.to_string())?;
    Ok((reader, writer))
}

fn signal(pid: i32, which: Signal) -> Result<(), String> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or("no process")?;
    rustix::process::kill_process(pid, which).map_err(|e| format!("kill: {e}"))
}
