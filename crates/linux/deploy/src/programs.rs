//! Runs programs of the system with a fixed search path.

use crate::error::DeployError;
use punctual_model::Argv;
use std::process::{Command, Stdio};

/// A fixed search path, so that the caller's path does not decide what runs as root.
pub(crate) const FOLDERS: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";

pub(crate) fn run(argv: &Argv) -> Result<String, DeployError> {
    let failed = |what: String| DeployError::Program { command: argv.line(), what };
    let (program, words) = argv.0.split_first().ok_or_else(|| failed("no program is given".to_owned()))?;
    let mut command = Command::new(program);
    command.args(words).env("PATH", FOLDERS).env("LC_ALL", "C").stdin(Stdio::null());
    let done =
        punctual_watchdog::output(&mut command, punctual_watchdog::PROGRAMS).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                failed(format!("it is not installed: apt-get install the package of {program}"))
            }
            _ => failed(error.to_string()),
        })?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            let said: Vec<&str> = said.trim().lines().rev().take(3).collect();
            Err(failed(format!("{}: {}", done.status, said.into_iter().rev().collect::<Vec<_>>().join(" / "))))
        }
    }
}
