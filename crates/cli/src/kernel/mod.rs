//! `kernel`: from a board to a kernel, as far as it takes no root and changes nothing.

pub mod args;
mod configure;
mod patch;
mod plan;
mod preflight;

use crate::{document, exit, terminal};
use args::KernelCommand;
use punctual_machine::Live;
use serde_json::Value;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

/// `punctual kernel …`.
pub fn run(command: &KernelCommand) -> ExitCode {
    match command {
        KernelCommand::Plan(args) => plan::run(args),
        KernelCommand::Preflight(args) => preflight::run(args),
        KernelCommand::Patch(args) => patch::run(args),
        KernelCommand::Configure(args) => configure::run(args),
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

fn shown(command: &str, output: crate::args::OutputArgs, result: Result) -> ExitCode {
    let (code, text, json) = match result {
        Ok(done) => done,
        Err((code, message)) => {
            eprintln!("punctual: {message}");
            (code, String::new(), document::error(&message))
        }
    };
    if output.json {
        terminal::print(&(document::document(&format!("kernel-{command}"), code, &json) + "\n"));
    } else if !output.quiet {
        terminal::print(&terminal::harmless(&text));
    }
    ExitCode::from(code)
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
