use crate::{Board, Kernel};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The known counts do not include this board.
    #[error(
        "cannot count a board of {n} queens: the known counts for checking end at {}; use 1 to {}",
        Board::MAX,
        Board::MAX
    )]
    Size { n: u32 },
    #[error(
        "this CPU does not support the kernel {kernel}: use {detected}, or omit the kernel to select one automatically"
    )]
    Kernel { kernel: Kernel, detected: Kernel },
    #[error("unknown kernel {name:?}: use one of avx512, avx2, neon, portable")]
    KernelName { name: String },
    #[error("cannot start thread {index} (clone(2)): {reason}; use fewer threads")]
    Thread { index: usize, reason: String },
    /// A thread ended without a count, which is a bug in this crate.
    #[error("a counting thread ended without a result: count again with one thread, and report this bug")]
    Ended,
    #[error("line {line} of the N-queens CSV: {reason}; correct or remove the line")]
    Csv {
        /// Line number, starting at 1.
        line: usize,
        reason: String,
    },
}
