//! The processes of an application: started, or attached to.

use crate::error::ProofError;
use punctual_check::{Reaped, Subject};
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
    /// [`Program::short`] of its program.
    pub program: String,
    pub pid: i32,
    pub tid: i32,
    pub name: String,
    pub scheduling: Scheduling,
}

impl Thread {
    /// Returns true if `name` is the thread's name, alone or prefixed with the name of its program: `plc/control`.
    pub fn is_called(&self, name: &str) -> bool {
        name == self.name
            || name.strip_prefix(self.program.as_str()).and_then(|rest| rest.strip_prefix('/')) == Some(&self.name)
    }
}

/// Returns the kernel's name of a thread.
pub(super) fn comm(pid: i32, tid: i32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

pub(super) struct Program {
    /// Name shown to the user.
    pub name: String,
    /// Name of the program's file, process or unit, without a path; unique among the programs that are measured
    /// together.
    pub short: String,
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
        let attached = subject.pids().map_err(ProofError::Usage)?;
        let child = match &subject {
            Subject::Command(words) => {
                let started = Reaped::start(words).and_then(|started| started.run().map(|()| started.reaper));
                Some(started.map_err(|e| ProofError::Environment(format!("cannot start {name}: {e}")))?)
            }
            Subject::Pid(_) | Subject::Cgroup(_) => None,
        };
        let short = match (&subject, attached.first()) {
            (Subject::Pid(_), Some(pid)) => comm(*pid, *pid).unwrap_or_default(),
            _ => last_of_path(name.split_whitespace().find(|word| !word.contains('=')).unwrap_or(&name)),
        };
        Ok(Program { name, short, subject, child, ended: None })
    }

    /// Makes the short names of several programs unique.
    pub fn tell_apart(programs: &mut [Program]) {
        let names: Vec<String> = programs.iter().map(|program| program.short.clone()).collect();
        for (at, program) in programs.iter_mut().enumerate() {
            let number = names[..at].iter().filter(|name| **name == program.short).count() + 1;
            if names.iter().filter(|name| **name == program.short).count() > 1 {
                program.short = format!("{}-{number}", program.short);
            }
        }
    }

    /// Returns the program's processes, except the process that started the program.
    pub fn pids(&self) -> Vec<i32> {
        match &self.child {
            Some(child) => proc::descendants(child.id().cast_signed()),
            None => self.subject.pids().unwrap_or_default(),
        }
    }

    /// Returns the current threads of the application's processes.
    pub fn threads(&self) -> Vec<Thread> {
        let thread = |pid: i32, tid: i32| {
            let (scheduling, _) = uapi::scheduling(tid).ok()?;
            Some(Thread { program: self.short.clone(), pid, tid, name: comm(pid, tid)?, scheduling })
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
        // A process that has ended meanwhile causes a harmless error.
        let send = |pid: i32, signal: Signal| {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, signal));
        };
        pids.iter().for_each(|pid| send(*pid, Signal::TERM));
        let until = monotonic() + FOR_END;
        while monotonic() < until && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // The parent ends when all of its processes have ended. If one is left, it may have started others by now.
        if matches!(child.try_wait(), Ok(None)) {
            let own = child.id().cast_signed();
            proc::descendants(own).into_iter().for_each(|pid| send(pid, Signal::KILL));
        }
        let _ = punctual_watchdog::wait(child, "the application", punctual_watchdog::SHORT);
    }
}

fn last_of_path(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(short: &str) -> Program {
        Program {
            name: short.into(),
            short: short.into(),
            subject: Subject::Pid(std::process::id().cast_signed()),
            child: None,
            ended: None,
        }
    }

    #[test]
    fn programs_of_one_name_have_numbers() {
        let mut programs = ["plc", "ui", "plc"].map(program);
        Program::tell_apart(&mut programs);
        assert_eq!(programs.each_ref().map(|program| program.short.as_str()), ["plc-1", "ui", "plc-2"]);
        assert_eq!(last_of_path("/sys/fs/cgroup/system.slice/plc.service"), "plc.service");
        assert_eq!(last_of_path("./bin/control"), "control");
    }
}
