//! Runs programs of the host to completion, with English messages.

use punctual_watchdog as watchdog;
use std::io::{ErrorKind, Read, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("{program} is not installed: {remedy}")]
    Missing { program: String, remedy: &'static str },
    #[error("cannot run {program}: {source}")]
    Failed { program: String, source: std::io::Error },
    #[error("cannot {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: std::io::Error },
}

impl ProgramError {
    pub fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> ProgramError {
        let path = path.into();
        move |source| ProgramError::File { what, path, source }
    }
}

/// Maximum size of captured output in bytes. A program that writes more gets SIGPIPE.
pub const OUTPUT_LIMIT: usize = 80 << 20;

#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    /// Returns standard output followed by standard error.
    pub fn said(&self) -> String {
        format!("{}{}", String::from_utf8_lossy(&self.stdout), self.stderr)
    }
}

/// Runs a program to completion, with English messages and `input` as standard input.
///
/// # Errors
/// The program is not installed (`remedy` is the command that installs it), or its output cannot be read. A non-zero
/// exit code is not an error.
pub fn run(command: &mut Command, input: &[u8], remedy: &'static str) -> Result<Ran, ProgramError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |source| ProgramError::Failed { program: program.clone(), source };
    command.env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| match source.kind() {
        ErrorKind::NotFound => ProgramError::Missing { program: program.clone(), remedy },
        _ => failed(source),
    })?;
    let limit = watchdog::limit_child(&child, &program, watchdog::PROGRAMS);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let both = thread::scope(|scope| {
        let feed = move || {
            if let Some(mut stdin) = stdin {
                // If a program stops reading, its exit code shows the reason.
                let _ = stdin.write_all(input);
            }
        };
        let started = thread::Builder::new().spawn_scoped(scope, feed);
        let errors = started.and_then(|_| thread::Builder::new().spawn_scoped(scope, move || read(stderr)));
        if errors.is_err() {
            // Closes its pipes, because the threads that read them could not be started.
            let _ = child.kill();
        }
        Ok((read(stdout), errors?.join()))
    });
    let status = child.wait().map_err(failed)?;
    limit.ended().map_err(failed)?;
    let (out, errors) = both.map_err(failed)?;
    let errors = errors.unwrap_or_else(|_| Ok(Vec::new())).map_err(failed)?;
    Ok(Ran { status, stdout: out.map_err(failed)?, stderr: String::from_utf8_lossy(&errors).into_owned() })
}

/// Like [`run`], with a pipe or file as standard input.
pub fn run_piped(command: &mut Command, input: Stdio, remedy: &'static str) -> Result<Ran, ProgramError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = watchdog::output(command.env("LC_ALL", "C").stdin(input), watchdog::PROGRAMS);
    let output = output.map_err(|source| match source.kind() {
        ErrorKind::NotFound => ProgramError::Missing { program, remedy },
        _ => ProgramError::Failed { program, source },
    })?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Ran { status: output.status, stdout: output.stdout, stderr })
}

fn read(pipe: Option<impl Read>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match pipe {
        Some(pipe) => pipe.take(OUTPUT_LIMIT as u64).read_to_end(&mut bytes).map(|_| bytes),
        None => Ok(bytes),
    }
}

pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
