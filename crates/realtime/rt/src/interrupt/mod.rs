//! Tasks that run on events: edges of GPIO lines, interrupts of UIO devices, expirations of timers.

mod gpio;
mod irq_thread;
mod sources;
mod task;
mod timer;

pub use gpio::Gpio;
pub use irq_thread::{IrqThreadError, IrqThreads};
pub use sources::{Eventfd, MOST_EVENTS, Uio};
pub use task::{Interrupt, InterruptHandle, InterruptStats, InterruptTask};
pub use timer::{Timer, TimerHandle};

use punctual_units::Nanos;
use rustix::io::Errno;

/// An event as reported by its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Time at which the kernel saw the event, CLOCK_MONOTONIC; `None` if the source has no time stamps.
    pub at: Option<Nanos>,
    /// Number of events in this arrival: more than one if several occurred before the thread read them.
    pub events: u64,
    /// Number of events that the source dropped before this one, according to its sequence numbers.
    pub lost: u64,
    /// Value of the event: the edge of a GPIO line (1 rising, 0 falling), otherwise 0.
    pub value: u64,
}

/// A source of events for an interrupt task.
pub trait Source: Send {
    /// Sleeps until there is an event and returns it. Makes one system call if an event is already available.
    ///
    /// # Errors
    /// `INTR`: a signal interrupted the wait; the task checks whether it should stop, and calls again. Any other error
    /// ends the task.
    fn wait(&mut self) -> Result<Arrival, Errno>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        (**self).wait()
    }
}
