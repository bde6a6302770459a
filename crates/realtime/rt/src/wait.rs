//! The interface of wakeup sources to a measuring loop.

use crate::Wakeup;
use punctual_units::Nanos;
use std::sync::atomic::AtomicBool;

/// A periodic wakeup source. At any time `released == ran + skipped`.
///
/// Loops are generic over it, so that each source has its own loop without a branch per period.
pub trait Wait {
    /// Starts releases at `start`, every period, none at or after `end`. Call it before the first [`Wait::wait`].
    fn begin(&mut self, start: Nanos, end: Nanos);

    /// Sleeps until the next release and returns the wakeup. `None` after the last release or if `stop` is set, which
    /// is also checked when a signal interrupts the sleep.
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup>;

    /// Continues for `duration` after the end, counting from 0 again; used after a warm-up that is not recorded.
    fn go_on(&mut self, duration: Nanos);

    /// Number of releases accounted for: those with a wakeup, and those skipped.
    fn released(&self) -> u64;

    /// Observations beyond the wakeups, since the last [`Wait::go_on`].
    fn remarks(&self) -> Remarks {
        Remarks::default()
    }
}

/// Observations that a wakeup source makes beyond the wakeups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// For relative sleeps: how far the last release was behind that of an absolute loop.
    pub drift: Option<Nanos>,
    /// Wakeups at which the kernel's count of expiries and the clock contradict each other.
    pub disagreements: u64,
    /// Messages that were sent and never arrived; they are not counted as released.
    pub lost: u64,
    /// Messages that arrived while the thread was less than a period late, because they were sent less than a period
    /// apart. They are not counted as released.
    pub crowded: u64,
    /// Messages that arrived without having been sent.
    pub strays: u64,
}
