//! Why there is no result.

use std::io;

/// Why a benchmark could not be run, or not to its end. What was measured before is in its log.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The run directory.
    #[error(transparent)]
    RunDirectory(#[from] punctual_rundir::Error),
    /// The counting of queens.
    #[error(transparent)]
    Queens(#[from] punctual_queens::Error),
    /// A system call failed.
    #[error("cannot {what} {on}: {source}; {advice}")]
    System {
        /// What was tried.
        what: &'static str,
        /// On what.
        on: String,
        /// Why not.
        source: io::Error,
        /// What to do.
        advice: &'static str,
    },
    /// What was asked for cannot be measured.
    #[error("{0}")]
    Refused(String),
    /// A run that another kernel began.
    #[error(
        "{what} of the run to resume is `{then}`, here it is `{now}`: its repetitions would not be of one thing; begin a new run \
         with --out DIR"
    )]
    Elsewhere {
        /// What differs.
        what: &'static str,
        /// Where it was begun.
        then: String,
        /// Here.
        now: String,
    },
    /// A thread of a benchmark ended without its result: a mistake in this crate.
    #[error("a thread of the benchmark ended without its result; repeat it with --resume DIR, and report it")]
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

    /// Is it what was asked for that is wrong, and not the machine?
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
