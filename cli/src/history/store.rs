//! The file of the history, and runs on their way into it.

use crate::args::common::GivenArgs;
use crate::import;
use crate::refusal::Refusal;
use punctual_formats::Subject;
use punctual_history::{Error, Store, summary};
use punctual_model::history::RunSummary;
use std::path::{Path, PathBuf};

/// Where the history lies.
fn place(db: Option<PathBuf>) -> Result<PathBuf, Refusal> {
    let root = rustix::process::geteuid().is_root();
    let found = punctual_history::place(db, |name| std::env::var_os(name), root);
    found.ok_or_else(|| Refusal::usage("where is the history? HOME is not set; name a file with --db"))
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::either(!error.is_environment(), error)
    }
}

/// The history, made where there is none.
pub fn open(db: Option<PathBuf>) -> Result<Store, Refusal> {
    Ok(Store::open(&place(db)?)?)
}

/// The history, to be read.
pub fn look(db: Option<PathBuf>) -> Result<Store, Refusal> {
    Ok(Store::look(&place(db)?)?)
}

/// A run directory, or another tool's file, in a few figures.
pub fn summarised(path: &Path, told: &GivenArgs) -> Result<RunSummary, Refusal> {
    let unread = |Refusal { code, message, .. }| {
        say!("{message}");
        Refusal::new(code, format!("{}: not read: the line above says why", path.display()))
    };
    let recording = match path.is_dir() {
        true => punctual_rundir::read(path).map_err(Refusal::usage)?,
        false => import::recording(&[path.to_owned()], None, told).map_err(unread)?,
    };
    let subject = Subject::of(&recording);
    if subject != Subject::Latency {
        return Err(Refusal::usage(format!(
            "{}: {} has no wakeup latencies, so it is left out; `punctual report` shows it",
            path.display(),
            subject.name()
        )));
    }
    let verdict = punctual_judge::judge(&recording, &recording.run.settings.claims);
    // A folder that cannot be looked up is named as it was typed.
    let folder = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Ok(summary(&recording, &verdict, Some(&folder)))
}
