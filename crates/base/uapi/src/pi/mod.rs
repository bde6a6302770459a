//! Locks with priority inheritance: a futex word, a mutex, and a condition variable.
//!
//! See futex(2), futex(7), and Documentation/locking/rt-mutex-design.rst and Documentation/locking/futex-requeue-pi.rst
//! in the kernel source.

mod condvar;
mod mutex;
mod word;

#[cfg(test)]
mod tests;

pub use condvar::{Condvar, Woke};
pub use mutex::{Mutex, MutexGuard};
pub use word::{Acquired, LockError, PiFutex, ThreadId};
