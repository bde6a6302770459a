//! Opens the history file, and summarises runs for it.

use crate::args::common::GivenArgs;
use crate::import;
use crate::refusal::Refusal;
use punctual_formats::Subject;
use punctual_history::{Error, Store, summary};
use punctual_model::history::RunSummary;
use std::path::{Path, PathBuf};

fn place(db: Option<PathBuf>) -> Result<PathBuf, Refusal> {
    let root = rustix::process::geteuid().is_root();
    let found = punctual_history::place(db, |name| std::env::var_os(name), root);
    found.ok_or_else(|| Refusal::usage("no default history file, since HOME is not set; name a file with --db"))
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::either(!error.is_environment(), error)
    }
}

/// Opens the history. Creates it if it is missing.
pub fn open(db: Option<PathBuf>) -> Result<Store, Refusal> {
    Ok(Store::open(&place(db)?)?)
}

/// Opens the history read-only.
pub fn look(db: Option<PathBuf>) -> Result<Store, Refusal> {
    Ok(Store::look(&place(db)?)?)
}

/// Returns the summary of a run directory or of another tool's file.
pub fn summarised(path: &Path, given: &GivenArgs) -> Result<RunSummary, Refusal> {
    let unread = |Refusal { code, message, .. }| {
        message!("{message}");
        Refusal::new(code, format!("{}: not read; see the line above", path.display()))
    };
    let recording = match path.is_dir() {
        true => punctual_rundir::read(path).map_err(Refusal::usage)?,
        false => import::recording(&[path.to_owned()], None, given).map_err(unread)?,
    };
    let subject = Subject::of(&recording);
    if subject != Subject::Latency {
        return Err(Refusal::usage(format!(
            "{}: {} has no wakeup latencies and is skipped; `punctual report` shows it",
            path.display(),
            subject.name()
        )));
    }
    let verdict = punctual_judge::judge(&recording, &recording.run.settings.claims);
    // A path that cannot be resolved is recorded as typed.
    let folder = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Ok(summary(&recording, &verdict, Some(&folder)))
}
