//! Why there is no experiment.

use std::io;
use std::path::PathBuf;

/// Why an experiment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The file.
    #[error("cannot read {path}: {source}; punctual sched --list names the experiments that are built in")]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It is no TOML or JSON, or has keys that are not known.
    #[error("{name}: {why}; experiments/case-1.toml is an example, docs/sched.md the reference")]
    Form {
        /// The experiment.
        name: String,
        /// What is wrong, and where.
        why: String,
    },
    /// Something of rt-app that this program does not have.
    #[error("{name}: `{what}` is not understood{why}; docs/sched.md says what of rt-app is")]
    RtApp {
        /// The file.
        name: String,
        /// The key, with its path: `tasks.a.mem`.
        what: String,
        /// More, where there is more to say.
        why: String,
    },
}

/// Why an experiment does not run.
#[derive(Debug, thiserror::Error)]
pub enum SchedError {
    /// It is not made for this machine, or would take it away from everybody.
    #[error("{0}")]
    Refused(String),
    /// A thread could not get what the experiment says.
    #[error("{thread}: {why}")]
    Thread {
        /// Its name.
        thread: String,
        /// What failed and what helps.
        why: String,
    },
    /// A file or call of the system.
    #[error("{call} {path}: {source}; {help}")]
    System {
        /// What was tried.
        call: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
        /// What to do.
        help: &'static str,
    },
    /// The workload.
    #[error(transparent)]
    Work(#[from] punctual_workloads::WorkError),
    /// The run directory.
    #[error(transparent)]
    RunDirectory(#[from] punctual_rundir::Error),
}

impl SchedError {
    pub(crate) fn thread(thread: &str, why: impl ToString) -> SchedError {
        SchedError::Thread { thread: thread.into(), why: why.to_string() }
    }

    /// Is it the user's wish that cannot be, rather than the machine?
    pub fn is_usage(&self) -> bool {
        matches!(self, SchedError::Refused(_))
    }
}
