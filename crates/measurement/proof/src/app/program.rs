//! The processes of an application, started or attached to.

use crate::error::ProofError;
use punctual_check::{Stopped, Subject};
use punctual_rt::monotonic;
use punctual_uapi as uapi;
use punctual_units::{Nanos, Scheduling};
use punctual_watchdog::proc;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::Child;

/// Time allowed for the application to end after SIGTERM.
const FOR_END: Nanos = Nanos::from_secs(2);

/// A thread of the application.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Thread {
    pub pid: i32,
    pub tid: i32,
    pub name: String,
    pub scheduling: Scheduling,
}

/// The kernel's name of a thread.
pub(super) fn comm(pid: i32, tid: i32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

pub(super) struct Program {
    /// Name for display.
    pub name: String,
    subject: Subject,
    child: Option<Child>,
    ended: Option<String>,
}

impl Program {
    /// Starts the command, or finds the processes.
    ///
    /// # Errors
    /// There is no such program or process, or it cannot be started.
    pub fn start(name: String, subject: Subject) -> Result<Program, ProofError> {
        subject.pids().map_err(ProofError::Usage)?;
        let child = match &subject {
            Subject::Command(words) => {
                let started = Stopped::start(words).and_then(Stopped::run);
                Some(started.map_err(|e| ProofError::Environment(format!("cannot start {name}: {e}")))?)
            }
            Subject::Pid(_) | Subject::Cgroup(_) => None,
        };
        Ok(Program { name, subject, child, ended: None })
    }

    fn pids(&self) -> Vec<i32> {
        match &self.child {
            Some(child) => {
                let own = child.id().cast_signed();
                std::iter::once(own).chain(proc::descendants(own)).collect()
            }
            None => self.subject.pids().unwrap_or_default(),
        }
    }

    /// The current threads of the application's processes.
    pub fn threads(&self) -> Vec<Thread> {
        let thread = |pid: i32, tid: i32| {
            let (scheduling, _) = uapi::scheduling(tid).ok()?;
            Some(Thread { pid, tid, name: comm(pid, tid)?, scheduling })
        };
        self.pids()
            .into_iter()
            .flat_map(|pid| proc::threads(pid).into_iter().filter_map(move |tid| thread(pid, tid)))
            .collect()
    }

    /// Returns how the program ended, for example `exited with code 1`; `None` if it has not ended.
    pub fn ended(&mut self) -> Option<String> {
        if self.ended.is_none() {
            self.ended = match &mut self.child {
                Some(child) => child.try_wait().ok().flatten().map(|status| status.to_string()),
                None => self.subject.pids().is_err().then(|| "its processes ended".to_owned()),
            };
        }
        self.ended.clone()
    }
}

impl Drop for Program {
    /// Ends a program that was started, with everything it has started.
    fn drop(&mut self) {
        let pids = self.pids();
        let Some(child) = &mut self.child else { return };
        // A process that has ended meanwhile is an error without consequence.
        let send = |signal: Signal| {
            pids.iter().filter_map(|pid| Pid::from_raw(*pid)).for_each(|pid| {
                let _ = kill_process(pid, signal);
            });
        };
        // The shell that was started may end before the program that it has started.
        let runs = |child: &mut Child| {
            let is_alive = |pid: &&i32| proc::Stat::of(**pid).is_some_and(|stat| !stat.is_zombie());
            matches!(child.try_wait(), Ok(None)) || pids.iter().any(|pid| is_alive(&pid))
        };
        send(Signal::TERM);
        let until = monotonic() + FOR_END;
        while monotonic() < until && runs(child) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        if runs(child) {
            send(Signal::KILL);
        }
        let _ = punctual_watchdog::wait(child, "the application", punctual_watchdog::SHORT);
    }
}
