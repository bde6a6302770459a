//! What several `kernel` commands read, and errors of the builds.

use crate::args::common::OutputArgs;
use crate::exit;
use crate::refusal::Refusal;
use punctual_kbuild::KbuildError;
use punctual_machine::{Live, config_text};
use std::path::{Path, PathBuf};

/// The machine to look at: this one, or one whose files lie below a folder.
pub fn machine(root: Option<&Path>) -> Result<Live, Refusal> {
    match root {
        Some(root) if !root.is_dir() => Err(Refusal::usage(format!("{} is no folder (--root)", root.display()))),
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

/// The source below a folder of `kernel fetch`, or the folder itself.
pub fn source(folder: &Path) -> Result<PathBuf, Refusal> {
    match punctual_kbuild::fetch::read_manifest(folder)? {
        Some(fetched) => Ok(fetched.tree),
        None => Ok(folder.to_owned()),
    }
}

/// Lines that say what is being done, beside the result: on standard error.
pub fn teller(output: OutputArgs) -> impl FnMut(&str) {
    move |line| {
        if !output.quiet {
            tell!("{line}\n");
        }
    }
}

/// A file of the user's, as text of at most `limit` bytes.
pub fn text_file(path: &Path, limit: usize) -> Result<String, Refusal> {
    use std::io::Read as _;
    let named = |what: String| Refusal::usage(format!("cannot read {}: {what}", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| named(e.to_string()))?;
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|e| named(e.to_string()))?;
    if bytes.len() > limit {
        return Err(named(format!("it has more than {limit} bytes: this is another file")));
    }
    String::from_utf8(bytes).map_err(|_| named("it is no UTF-8 text".to_owned()))
}

/// A kernel's configuration, also as the gzip file /proc/config.gz.
pub fn config_file(path: &Path, limit: usize) -> Result<String, Refusal> {
    use std::io::Read as _;
    let named = |what: String| Refusal::usage(format!("cannot read {}: {what}", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| named(e.to_string()))?;
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|e| named(e.to_string()))?;
    match bytes.len() > limit {
        true => Err(named(format!("it has more than {limit} bytes: this is another file"))),
        false => config_text(&bytes).ok_or_else(|| named("it is no text, nor a whole gzip file of one".to_owned())),
    }
}
