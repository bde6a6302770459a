use crate::error::VmError;
use punctual_watchdog as watchdog;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

/// Runs a program to completion and returns its standard output.
///
/// # Errors
/// The program is not installed (`remedy` says what to do) or exits with a code other than 0.
pub(crate) fn output(command: &mut Command, remedy: &str) -> Result<Vec<u8>, VmError> {
    let done = finished(command, remedy)?;
    succeeded(command, done)
}

fn succeeded(command: &Command, done: Output) -> Result<Vec<u8>, VmError> {
    match done.status.success() {
        true => Ok(done.stdout),
        false => Err(VmError::Failed {
            program: shown(command),
            status: done.status.to_string(),
            said: last_lines(&String::from_utf8_lossy(&done.stderr), 5),
        }),
    }
}

/// Like [`output`], but accepts any exit code.
pub(crate) fn finished(command: &mut Command, remedy: &str) -> Result<Output, VmError> {
    let name = command.get_program().to_string_lossy().into_owned();
    watchdog::output(command.stdin(Stdio::null()), watchdog::PROGRAMS).map_err(|source| match source.kind() {
        ErrorKind::NotFound => VmError::Missing { program: name, remedy: remedy.to_owned() },
        _ => VmError::File { what: "run", path: name.into(), source },
    })
}

/// Runs a program with `input` as standard input.
pub(crate) fn fed(command: &mut Command, input: Stdio, remedy: &str) -> Result<(), VmError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = watchdog::output(command.stdin(input), watchdog::PROGRAMS).map_err(|source| match source.kind() {
        ErrorKind::NotFound => VmError::Missing { program: name, remedy: remedy.to_owned() },
        _ => VmError::File { what: "run", path: name.into(), source },
    })?;
    succeeded(command, done).map(drop)
}

pub(crate) fn is_installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Returns the last `count` non-blank lines.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
