//! The interface between wakeup sources and a measuring loop.

use crate::Wakeup;
use punctual_units::Nanos;
use std::sync::atomic::AtomicBool;

/// A periodic wakeup source. At any time `released == ran + skipped`.
///
/// Loops are generic over it, so that each source has its own compiled loop without a branch per period.
pub trait Wait {
    /// Starts releases at `start`, every period, none at or after `end`. Must be called before the first
    /// [`Wait::wait`].
    fn begin(&mut self, start: Nanos, end: Nanos);

    /// Sleeps until the next release and returns the wakeup. `None` after the last release or if `stop` is set, which
    /// is also checked when a signal interrupts the sleep.
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup>;

    /// Continues for `duration` after the end and counts from 0 again; used after a warm-up that is not recorded.
    fn go_on(&mut self, duration: Nanos);

    /// Returns the number of releases accounted for: those with a wakeup, and those skipped.
    fn released(&self) -> u64;

    /// Returns what the source has observed in addition to the wakeups since the last [`Wait::go_on`].
    fn remarks(&self) -> Remarks {
        Remarks::default()
    }
}

/// What a wakeup source observes in addition to the wakeups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Time by which the last release was later than it would have been in an absolute loop; `None` unless the source
    /// sleeps for relative times.
    pub drift: Option<Nanos>,
    /// Number of wakeups at which the kernel's count of expiries and the clock contradict each other.
    pub disagreements: u64,
    /// Number of messages that were sent and never arrived; not counted as released.
    pub lost: u64,
    /// Number of messages that arrived while the thread was less than a period late, because they were sent less than a
    /// period apart; not counted as released.
    pub crowded: u64,
    /// Number of messages that arrived without having been sent.
    pub strays: u64,
}
