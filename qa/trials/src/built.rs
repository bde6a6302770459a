//! Locates programs of this workspace's release build.

use crate::guests;
use punctual_vm::FileIn;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BUILD: &str = "cargo build --release";

/// Returns the path of a program, which is given by its path below cargo's target directory.
///
/// # Errors
/// The program is missing; the message contains the command that builds it.
pub fn program(path: &str, build: &str) -> Result<PathBuf, String> {
    let path = xtask::target_dir().join(path);
    if path.is_file() { Ok(path) } else { Err(format!("{} is missing: {build}", path.display())) }
}

pub fn punctual(words: &[&str]) -> Result<Output, String> {
    let program = xtask::punctual();
    let output = Command::new(&program).args(words).stdin(Stdio::null()).output();
    output.map_err(|e| missing(&program, &e))
}

/// Returns a message saying that a program of the release build could not be started, and naming the command that
/// builds it.
pub fn missing(program: &Path, error: &io::Error) -> String {
    format!("{}: {error}; build it first: {BUILD}", program.display())
}

/// Returns `punctual` and the application with selectable mistakes, to be put into a guest's /bin.
///
/// # Errors
/// One of them is missing; the message contains the command that builds it.
pub fn for_guests() -> Result<Vec<FileIn>, String> {
    let injection = "cargo build --release -p punctual-inject";
    let file = |(name, build)| guests::program(&program(&format!("release/{name}"), build)?, &format!("/bin/{name}"));
    [("punctual", BUILD), ("punctual-application", injection)].into_iter().map(file).collect()
}
