//! Inputs that several `kernel` commands share, and the conversion of build errors.

use crate::args::common::OutputArgs;
use crate::exit;
use crate::refusal::Refusal;
use punctual_kbuild::KbuildError;
use punctual_machine::{Live, config_text};
use std::path::{Path, PathBuf};

/// Returns this machine, or the machine whose files are below a directory.
pub fn machine(root: Option<&Path>) -> Result<Live, Refusal> {
    match root {
        Some(root) if !root.is_dir() => Err(Refusal::usage(format!("{} is not a directory (--root)", root.display()))),
        Some(root) => Ok(Live::under(root)),
        None => Ok(Live::new()),
    }
}

impl From<KbuildError> for Refusal {
    fn from(error: KbuildError) -> Refusal {
        let code = match (error.is_usage(), error.is_verdict()) {
            (true, _) => exit::USAGE,
            (_, true) => exit::FAILED,
            _ => exit::ENVIRONMENT,
        };
        Refusal::new(code, error)
    }
}

/// Returns the path of the source: its path in a directory of `kernel fetch`, or the directory itself.
pub fn source(folder: &Path) -> Result<PathBuf, Refusal> {
    match punctual_kbuild::fetch::read_manifest(folder)? {
        Some(fetched) => Ok(fetched.tree),
        None => Ok(folder.to_owned()),
    }
}

/// Returns a function that prints progress lines on standard error.
pub fn progress_lines(output: OutputArgs) -> impl FnMut(&str) {
    move |line| {
        if !output.quiet {
            progress!("{line}\n");
        }
    }
}

/// Reads a text file of at most `limit` bytes.
pub fn text_file(path: &Path, limit: usize) -> Result<String, Refusal> {
    use std::io::Read as _;
    let named = |what: String| Refusal::usage(format!("cannot read {}: {what}", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| named(e.to_string()))?;
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|e| named(e.to_string()))?;
    if bytes.len() > limit {
        return Err(named(format!("it is larger than {limit} bytes, so this is another kind of file")));
    }
    String::from_utf8(bytes).map_err(|_| named("it is not UTF-8 text".to_owned()))
}

/// Reads a kernel configuration, as plain text or compressed as in /proc/config.gz.
pub fn config_file(path: &Path, limit: usize) -> Result<String, Refusal> {
    use std::io::Read as _;
    let named = |what: String| Refusal::usage(format!("cannot read {}: {what}", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| named(e.to_string()))?;
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|e| named(e.to_string()))?;
    match bytes.len() > limit {
        true => Err(named(format!("it is larger than {limit} bytes, so this is another kind of file"))),
        false => {
            config_text(&bytes).ok_or_else(|| named("it is neither text nor a complete gzip file of text".to_owned()))
        }
    }
}
