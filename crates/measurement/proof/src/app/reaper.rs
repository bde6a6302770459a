//! Starts a program below a reaper process, so that all processes it leaves behind, including daemons, remain
//! descendants of the reaper.

use punctual_check::Stopped;
use punctual_uapi::{Sig, SignalSet, Waited, block, wait};
use punctual_watchdog::proc;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, set_parent_process_death_signal,
};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

/// First argument of the process that starts the program and waits for all of its processes.
pub const REAPER_ARG: &str = "__app-reaper";

/// Exit code if the program cannot be started, as in a shell.
const CANNOT_RUN: i32 = 127;

/// Starts the command as a child of a reaper process, which ends when the last of the command's processes has ended.
///
/// # Errors
/// Those of fork(2), and of execve(2) of this program.
pub(super) fn start(words: &[OsString]) -> std::io::Result<Child> {
    let own = std::env::current_exe()?.into_os_string();
    Stopped::start(&[&[own, REAPER_ARG.into()], words].concat())?.run()
}

/// Main function of the reaper process: runs its arguments, and adopts the processes whose parents end. SIGTERM, which
/// the kernel sends if the measuring process dies, kills them all. Returns the exit code of the command, or 128 plus
/// the number of the signal that ended it.
pub fn reaper_main(arguments: impl Iterator<Item = OsString>) -> i32 {
    let words: Vec<OsString> = arguments.collect();
    // What a terminal sends to the program does not end this process before it.
    let signals = SignalSet::new(&[Sig::Term, Sig::Int, Sig::Hup, Sig::Chld]);
    let dies = set_parent_process_death_signal(Some(Signal::TERM));
    if block(&signals).is_err() || dies.is_err() || set_child_subreaper(Some(getpid())).is_err() {
        return CANNOT_RUN;
    }
    let Ok(child) = Stopped::start(&words).and_then(Stopped::run) else { return CANNOT_RUN };
    let (first, mut code, mut is_over) = (Pid::from_child(&child), 0, false);
    loop {
        // Any child: waitpid() without a process is about those of the process group only.
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == first => {
                let status = ExitStatus::from_raw(status.as_raw());
                code = status.code().or(status.signal().map(|number| 128 + number)).unwrap_or(CANNOT_RUN);
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(_) => return code,
            Ok(None) => {
                // Processes may have been forked meanwhile.
                if is_over {
                    kill_all();
                }
                is_over |= matches!(wait(&signals, None), Waited::Signal(Sig::Term));
            }
        }
    }
}

fn kill_all() {
    for pid in proc::descendants(getpid().as_raw_nonzero().get()) {
        // A process that has ended meanwhile is an error without consequence.
        let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
    }
}
