//! `kernel`: from a board to a kernel that runs on it.

pub mod args;
mod build;
mod configure;
mod deploy;
#[cfg(test)]
mod deploy_documents;
mod fetch;
mod package;
mod patch;
mod plan;
mod preflight;
pub mod remote;

use crate::{document, exit, terminal};
use args::KernelCommand;
use punctual_machine::Live;
use serde_json::Value;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `punctual kernel …`.
pub fn run(command: &KernelCommand) -> ExitCode {
    match command {
        KernelCommand::Plan(args) => plan::run(args),
        KernelCommand::Preflight(args) => preflight::run(args),
        KernelCommand::Patch(args) => patch::run(args),
        KernelCommand::Configure(args) => configure::run(args),
        KernelCommand::Fetch(args) => fetch::run(args),
        KernelCommand::Build(args) => build::run(args),
        KernelCommand::Package(args) => package::run(args),
        KernelCommand::Deploy(args) => deploy::deploy(args),
        KernelCommand::Verify(args) => deploy::verify(args),
        KernelCommand::Commit(args) => deploy::commit(args),
        KernelCommand::Rollback(args) => deploy::rollback(args),
        KernelCommand::Status(args) => deploy::status(args),
        KernelCommand::Guard => deploy::guard(),
    }
}

/// What a subcommand came to: its exit code, for people, and as JSON; or the code and the message of what failed.
type Result = std::result::Result<(u8, String, Value), (u8, String)>;

fn usage(error: impl Display) -> (u8, String) {
    (exit::USAGE, error.to_string())
}

/// The machine to look at: this one, or one whose files lie below a folder.
fn machine(root: Option<&Path>) -> std::result::Result<Live, (u8, String)> {
    match root {
        Some(root) if !root.is_dir() => Err(usage(format!("{} is no folder (--root)", root.display()))),
        Some(root) => Ok(Live::under(root)),
        None => Ok(Live::new()),
    }
}

/// What a build came to grief on: the files (1), the words (2), or this machine (4).
fn of_kbuild(error: punctual_kbuild::KbuildError) -> (u8, String) {
    let code = match (error.is_usage(), error.is_verdict()) {
        (true, _) => exit::USAGE,
        (_, true) => exit::FAILED,
        _ => exit::ENVIRONMENT,
    };
    (code, error.to_string())
}

/// The source below a folder of `kernel fetch`, or the folder itself.
fn source(folder: &Path) -> std::result::Result<PathBuf, (u8, String)> {
    match punctual_kbuild::fetch::read_manifest(folder).map_err(of_kbuild)? {
        Some(fetched) => Ok(fetched.tree),
        None => Ok(folder.to_owned()),
    }
}

/// Lines that say what is being done, beside the result: on standard error.
fn teller(output: crate::args::common::OutputArgs) -> impl FnMut(&str) {
    move |line| {
        if !output.quiet {
            eprintln!("{}", terminal::harmless(line));
        }
    }
}

fn shown(command: &str, output: crate::args::common::OutputArgs, result: Result) -> ExitCode {
    let (code, document) = documented(command, &result);
    if let Err((_, message)) = &result {
        eprintln!("punctual: {message}");
    }
    if output.json {
        terminal::print(&(document + "\n"));
    } else if let Ok((_, text, _)) = &result
        && !output.quiet
    {
        terminal::print(&terminal::harmless(text));
    }
    ExitCode::from(code)
}

/// Exit code and document of what a subcommand came to.
fn documented(command: &str, result: &Result) -> (u8, String) {
    let (code, json) = match result {
        Ok((code, _, json)) => (*code, json),
        Err((code, message)) => (*code, &document::error(message)),
    };
    (code, document::document(&format!("kernel-{command}"), code, json))
}

/// A file of the user's, as text of at most `limit` bytes.
fn text_file(path: &Path, limit: usize) -> std::result::Result<String, (u8, String)> {
    use std::io::Read as _;
    let named = |what: String| usage(format!("cannot read {}: {what}", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| named(e.to_string()))?;
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|e| named(e.to_string()))?;
    if bytes.len() > limit {
        return Err(named(format!("it has more than {limit} bytes: this is another file")));
    }
    String::from_utf8(bytes).map_err(|_| named("it is no UTF-8 text".to_owned()))
}
