//! What can be wrong with a request.

use crate::{Board, Kernel};

/// Why something was not counted, read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A board this crate does not count.
    #[error(
        "a board of {n} queens is not counted: the counts known for checking end at {}, so give 1 to {}",
        Board::MAX,
        Board::MAX
    )]
    Size {
        /// What was asked for.
        n: u32,
    },
    /// The processor lacks the kernel's instructions.
    #[error(
        "this processor has not the instructions of the kernel {kernel}: use {detected}, or none to have it chosen"
    )]
    Kernel {
        /// What was asked for.
        kernel: Kernel,
        /// What could be used.
        detected: Kernel,
    },
    /// No kernel has this name.
    #[error("there is no kernel {name:?}: give one of avx512, avx2, neon, portable")]
    KernelName {
        /// What was asked for.
        name: String,
    },
    /// A thread could not be started.
    #[error("thread {index} could not be started (clone(2)): {reason}; give fewer threads")]
    Thread {
        /// Which, from 0.
        index: usize,
        /// What the system said.
        reason: String,
    },
    /// A thread ended without its count: a mistake in this crate.
    #[error("a counting thread ended without its count: count again with one thread, and report it")]
    Ended,
    /// A file that is not as the published benchmark writes it.
    #[error("line {line} of the N-queens CSV: {reason}; correct or remove the line")]
    Csv {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}
