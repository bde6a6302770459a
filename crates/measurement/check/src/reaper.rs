//! Starts a program below a reaper process, so that all processes it leaves behind, including daemons, remain
//! descendants of the reaper and end with it.

use crate::start::Stopped;
use punctual_uapi::{Sig, SignalSet, Waited, block, wait};
use punctual_watchdog::proc;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, set_parent_process_death_signal,
};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// First argument of the process that starts the program and waits for all of its processes.
pub const REAPER_ARG: &str = "__app-reaper";

/// Exit code if the program cannot be started, as in a shell.
const CANNOT_RUN: i32 = 127;

/// A program below a reaper process. It has not executed its first instruction until [`Reaped::run`].
#[derive(Debug)]
pub struct Reaped {
    /// The reaper, which ends when the last process of the program has ended. If this process ends, also by SIGKILL,
    /// the reaper kills the program's processes.
    pub reaper: Child,
    pub pid: i32,
    /// The reaper writes lines: the process ID of the program, then its status as wait(2) returns it.
    reports: ChildStdout,
    status: Option<ExitStatus>,
}

impl Reaped {
    /// Starts the reaper and waits until the program can run. The program's standard output is redirected to standard
    /// error.
    ///
    /// # Errors
    /// Those of fork(2), and of execve(2) of this program.
    pub fn start(words: &[OsString]) -> io::Result<Reaped> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut reaper = command.arg(REAPER_ARG).args(words).stdout(Stdio::piped()).spawn()?;
        let limit = punctual_watchdog::limit_child(&reaper, "the start of the program", punctual_watchdog::SHORT);
        let failed = || io::Error::other("the process that starts the program ended");
        let mut reports = reaper.stdout.take().ok_or_else(failed)?;
        let pid = number(&mut reports);
        limit.ended()?;
        match pid {
            Some(pid) => Ok(Reaped { reaper, pid, reports, status: None }),
            None => {
                let _ = punctual_watchdog::wait(
                    &mut reaper,
                    "the process that starts the program",
                    punctual_watchdog::SHORT,
                );
                Err(failed())
            }
        }
    }

    /// Lets the program run.
    ///
    /// # Errors
    /// Those of kill(2).
    pub fn run(&self) -> io::Result<()> {
        Pid::from_raw(self.pid).map_or(Ok(()), |pid| Ok(kill_process(pid, Signal::CONT)?))
    }

    /// Returns how the program's first process ended; `None` if it has not.
    pub fn status(&mut self) -> Option<ExitStatus> {
        let mut polled = [PollFd::new(&self.reports, PollFlags::IN)];
        let is_there = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count > 0);
        if self.status.is_none() && is_there {
            self.status = number(&mut self.reports).map(ExitStatus::from_raw);
        }
        self.status
    }

    /// Sends a signal to all processes of the program.
    pub fn signal(&self, signal: Signal) {
        send(self.reaper.id().cast_signed(), signal);
    }

    /// Returns true if all processes of the program have ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.reaper.try_wait(), Ok(None))
    }

    /// Kills what is left of the program, and waits for its end.
    pub fn kill(mut self) {
        if let Some(pid) = Pid::from_raw(self.reaper.id().cast_signed()).filter(|_| !self.has_ended()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = punctual_watchdog::wait(&mut self.reaper, "the program", punctual_watchdog::SHORT);
    }
}

/// Reads a line with a number; `None` if the writer has ended.
fn number(reports: &mut ChildStdout) -> Option<i32> {
    let (mut line, mut byte) = (String::new(), [0]);
    while reports.read_exact(&mut byte).is_ok() && byte[0] != b'\n' {
        line.push(char::from(byte[0]));
    }
    line.parse().ok()
}

/// Main function of the reaper process: starts its arguments, stopped, and adopts the processes whose parents end.
/// SIGTERM, which the kernel sends if the measuring process dies, kills them all. Returns the exit code of the command,
/// or 128 plus the number of the signal that ended it.
pub fn reaper_main(arguments: impl Iterator<Item = OsString>) -> i32 {
    let words: Vec<OsString> = arguments.collect();
    // A signal that the terminal sends to the program must not end this process first.
    let signals = SignalSet::new(&[Sig::Term, Sig::Int, Sig::Hup, Sig::Chld]);
    let dies = set_parent_process_death_signal(Some(Signal::TERM));
    if block(&signals).is_err() || dies.is_err() || set_child_subreaper(Some(getpid())).is_err() {
        return CANNOT_RUN;
    }
    let Ok(stopped) = Stopped::start(&words) else { return CANNOT_RUN };
    let first = Pid::from_child(&stopped.child);
    // If nobody reads the pipe, nobody will let the program continue.
    let (mut code, mut is_over) = (0, report(first.as_raw_nonzero().get()).is_err());
    loop {
        // Waits for any child: waitpid() without a process would wait only for children in this process group.
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == first => {
                // The measuring process may no longer read.
                let _ = report(status.as_raw());
                let status = ExitStatus::from_raw(status.as_raw());
                code = status.code().or(status.signal().map(|number| 128 + number)).unwrap_or(CANNOT_RUN);
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(_) => return code,
            Ok(None) => {
                // Processes may have been forked meanwhile.
                if is_over {
                    send(getpid().as_raw_nonzero().get(), Signal::KILL);
                }
                is_over |= matches!(wait(&signals, None), Waited::Signal(Sig::Term));
            }
        }
    }
}

fn report(number: i32) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{number}").and_then(|()| out.flush())
}

/// Sends a signal to all descendants of the reaper. The error for a process that has ended meanwhile is ignored.
fn send(reaper: i32, signal: Signal) {
    for pid in proc::descendants(reaper) {
        let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, signal));
    }
}
