//! What every way of being woken offers to a measuring loop.

use crate::Wakeup;
use punctual_units::Nanos;
use std::sync::atomic::AtomicBool;

/// A periodic loop's way of being woken. At any time `released == ran + skipped`.
///
/// A loop is generic over it, so that each way has a loop of its own and none asks in every period which one it is.
pub trait Wait {
    /// Releases from `start` on, every period, none at or after `end`. Before the first [`Wait::wait`].
    fn begin(&mut self, start: Nanos, end: Nanos);

    /// Sleeps until the next release and tells of it. `None`: the last one has passed, or `stop` is set; a signal makes it look
    /// at `stop` again.
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup>;

    /// After its end: goes on for `duration`, counting from 0 again. For a warm-up that is not recorded.
    fn go_on(&mut self, duration: Nanos);

    /// How many releases are accounted for: ran and skipped together.
    fn released(&self) -> u64;

    /// What there is to say beside the wakeups, since the last [`Wait::go_on`].
    fn remarks(&self) -> Remarks {
        Remarks::default()
    }
}

/// What a way says beside its wakeups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Of relative sleeps: how far the last release was behind that of an absolute loop.
    pub drift: Option<Nanos>,
    /// Wakeups at which the kernel's count of expiries and the clock contradict each other.
    pub disagreements: u64,
    /// Messages that were sent and never came; they are not among the released.
    pub lost: u64,
    /// Messages that came while the thread was not a period late: the sender sent them closer together than a period. They are
    /// not among the released.
    pub crowded: u64,
    /// What came and was not sent.
    pub strays: u64,
}
