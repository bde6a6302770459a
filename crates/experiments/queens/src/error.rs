use crate::{Board, Kernel};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A board without a known count.
    #[error(
        "a board of {n} queens is not counted: the counts known for checking end at {}, so give 1 to {}",
        Board::MAX,
        Board::MAX
    )]
    Size { n: u32 },
    #[error(
        "this processor has not the instructions of the kernel {kernel}: use {detected}, or none to have it chosen"
    )]
    Kernel { kernel: Kernel, detected: Kernel },
    #[error("there is no kernel {name:?}: give one of avx512, avx2, neon, portable")]
    KernelName { name: String },
    #[error("thread {index} could not be started (clone(2)): {reason}; give fewer threads")]
    Thread { index: usize, reason: String },
    /// A thread ended without a count: a bug in this crate.
    #[error("a counting thread ended without its count: count again with one thread, and report it")]
    Ended,
    #[error("line {line} of the N-queens CSV: {reason}; correct or remove the line")]
    Csv {
        /// From 1.
        line: usize,
        reason: String,
    },
}
