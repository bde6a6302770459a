use crate::{Board, Kernel};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The board has no known count to check against.
    #[error(
        "cannot count a board of {n} queens: known counts, which results are checked against, end at {}; use 1 to {}",
        Board::MAX,
        Board::MAX
    )]
    Size { n: u32 },
    #[error("this CPU lacks the instructions of the kernel {kernel}: use {detected}, or name none to have one chosen")]
    Kernel { kernel: Kernel, detected: Kernel },
    #[error("there is no kernel {name:?}: use one of avx512, avx2, neon, portable")]
    KernelName { name: String },
    #[error("cannot start thread {index} (clone(2)): {reason}; use fewer threads")]
    Thread { index: usize, reason: String },
    /// A thread ended without a count, which is a bug in this crate.
    #[error("a counting thread ended without its count: count again with one thread, and report it")]
    Ended,
    #[error("line {line} of the N-queens CSV: {reason}; correct or remove the line")]
    Csv {
        /// Line number, starting at 1.
        line: usize,
        reason: String,
    },
}
