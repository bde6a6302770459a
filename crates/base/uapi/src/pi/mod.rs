//! Locks with priority inheritance: the futex word, a mutex, and its condition variable.
//!
//! futex(2), futex(7); Documentation/locking/rt-mutex-design.rst and Documentation/locking/futex-requeue-pi.rst of the
//! kernel.

mod condvar;
mod mutex;
mod word;

#[cfg(test)]
mod tests;

pub use condvar::{Condvar, Woke};
pub use mutex::{Mutex, MutexGuard};
pub use word::{Acquired, LockError, PiFutex, ThreadId};
