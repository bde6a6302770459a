use std::io;

/// Reason why a benchmark could not be run or finished. The log contains earlier measurements.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    RunDirectory(#[from] punctual_rundir::Error),
    #[error(transparent)]
    Queens(#[from] punctual_queens::Error),
    #[error("cannot {what} {on}: {source}; {advice}")]
    System { what: &'static str, on: String, source: io::Error, advice: &'static str },
    #[error("{0}")]
    Refused(String),
    #[error(
        "{what} of the run to resume is `{then}`, but on this machine it is `{now}`: the repetitions would not be comparable; start a new run \
         with --out DIR"
    )]
    Elsewhere { what: &'static str, then: String, now: String },
    /// A thread ended without a result, which is a bug in this crate.
    #[error("a thread of the benchmark ended without a result; continue with --resume DIR, and report this bug")]
    Ended,
}

impl BenchError {
    pub(crate) fn io(
        what: &'static str,
        on: impl Into<String>,
        advice: &'static str,
    ) -> impl FnOnce(io::Error) -> BenchError {
        let on = on.into();
        move |source| BenchError::System { what, on, source, advice }
    }

    pub fn is_usage(&self) -> bool {
        match self {
            BenchError::Refused(_) | BenchError::Elsewhere { .. } => true,
            BenchError::RunDirectory(e) => !e.is_environment(),
            BenchError::Queens(e) => {
                !matches!(e, punctual_queens::Error::Thread { .. } | punctual_queens::Error::Ended)
            }
            BenchError::System { .. } | BenchError::Ended => false,
        }
    }
}
