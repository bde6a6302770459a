//! Starts the program so that its events are open before its first instruction.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// First argument with which this program executes itself to become the observed program.
pub const START_ARG: &str = "__check-start";

/// Exit code of the helper if the program cannot be executed, as in a shell.
const CANNOT_RUN: i32 = 127;

/// Main function of the helper: stops itself, and executes its arguments when continued.
pub fn start_main(mut arguments: impl Iterator<Item = OsString>) -> i32 {
    let Some(program) = arguments.next() else { return CANNOT_RUN };
    // The program is killed when its observer ends, even by kill -9, and inherits no blocked signals.
    let dies = set_parent_process_death_signal(Some(Signal::KILL));
    let unblocked = punctual_uapi::unblock_all();
    if dies.is_err() || unblocked.is_err() || kill_process(rustix::process::getpid(), Signal::STOP).is_err() {
        return CANNOT_RUN;
    }
    let failed = Command::new(program).args(arguments).exec();
    failed.raw_os_error().map_or(CANNOT_RUN, |errno| match errno {
        // 126: the file exists but cannot be executed.
        13 | 8 => 126,
        _ => CANNOT_RUN,
    })
}

/// A program that has not executed its first instruction.
#[derive(Debug)]
pub struct Stopped {
    pub child: Child,
}

impl Stopped {
    /// Starts the helper and waits until it has stopped. The program's standard output is redirected to standard error,
    /// since standard output is for the result.
    ///
    /// # Errors
    ///
    /// Those of fork(2), and of execve(2) of this program.
    pub fn start(command: &[OsString]) -> io::Result<Stopped> {
        let output = io::stderr().as_fd().try_clone_to_owned()?;
        let child =
            Command::new(std::env::current_exe()?).arg(START_ARG).args(command).stdout(Stdio::from(output)).spawn()?;
        let limit = punctual_watchdog::limit_child(&child, "the start of the program", punctual_watchdog::SHORT);
        let stopped = loop {
            match waitpid(Some(pid_of(&child)), WaitOptions::UNTRACED) {
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => break Err(errno.into()),
                Ok(Some((_, status))) if status.stopped() => break Ok(()),
                Ok(_) => break Err(io::Error::other("the helper that starts the program ended")),
            }
        };
        limit.ended()?;
        stopped.map(|()| Stopped { child })
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}
