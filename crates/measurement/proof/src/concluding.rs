//! The steps after the last phase: read the run back, explain, judge, write the report.

use crate::options::{Observer, Options, Step};
use punctual_directory::Dir;
use punctual_model::{Recording, Verdict};
use punctual_rundir as rundir;
use punctual_uapi::Sig;
use std::path::{Path, PathBuf};

pub struct Done {
    pub dir: Dir,
    pub recording: Recording,
    pub verdict: Verdict,
    pub signal: Option<Sig>,
    /// Failure after the measurement began: a result could not be written, or a phase could not start.
    pub error: Option<String>,
    /// Path of `report.html`; `None` if it was not written.
    pub report: Option<PathBuf>,
}

impl Done {
    pub fn root(&self) -> &Path {
        self.dir.path()
    }
}

/// Explains the worst wakeups from counters and traces, judges the claims, and writes the report.
pub(crate) fn conclude(
    dir: &Dir,
    mut recording: Recording,
    options: &Options,
    proving: bool,
    (signal, mut error): (Option<Sig>, Option<String>),
    observer: &mut dyn Observer,
) -> Done {
    observer.step(Step::Explaining);
    let explained = punctual_analyse::causes(Some(dir), &mut recording);
    observer.step(Step::Judging);
    let verdict = punctual_judge::judge_with_tails(&recording, &options.claims);
    observer.step(Step::Reporting);
    let kept = rundir::replace_worst(dir, &recording.worst).and_then(|()| match explained {
        true => rundir::attach_causes(dir, &recording.captures, &recording.explained),
        false => Ok(()),
    });
    let written = kept.and_then(|()| match proving {
        true => {
            let html = punctual_report::html(&recording, &verdict, &dir.path().display().to_string());
            rundir::attach(dir, "report.html", html.as_bytes()).map(|()| Some(dir.path().join("report.html")))
        }
        false => Ok(None),
    });
    let report = written.unwrap_or_else(|e| {
        error.get_or_insert(e.to_string());
        None
    });
    Done { dir: dir.clone(), recording, verdict, signal, error, report }
}
