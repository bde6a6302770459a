use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error("cannot read {path}: {source}; punctual sched --list shows the built-in experiments")]
    Read { path: PathBuf, source: io::Error },
    /// The file is not valid TOML or JSON, or has unknown keys.
    #[error("{name}: {why}; `punctual sched --example` prints a file with every setting")]
    Form { name: String, why: String },
    #[error("{name}: `{what}` is not supported{why}; `punctual sched --help` lists the supported parts of rt-app")]
    RtApp {
        name: String,
        /// The key with its path, such as `tasks.a.mem`.
        what: String,
        why: String,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum SchedError {
    /// The experiment is not possible on this machine, or would block all other tasks.
    #[error("{0}")]
    Refused(String),
    #[error("{thread}: {why}")]
    Thread { thread: String, why: String },
    #[error("{call} {path}: {source}; {help}")]
    System { call: &'static str, path: PathBuf, source: io::Error, help: &'static str },
    #[error(transparent)]
    Work(#[from] punctual_workloads::WorkError),
    #[error(transparent)]
    RunDirectory(#[from] punctual_rundir::Error),
}

impl SchedError {
    pub(crate) fn thread(thread: &str, why: impl ToString) -> SchedError {
        SchedError::Thread { thread: thread.into(), why: why.to_string() }
    }

    pub fn is_usage(&self) -> bool {
        matches!(self, SchedError::Refused(_))
    }
}
