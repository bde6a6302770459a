//! Tasks that run at events: edges of GPIO lines, interrupts of UIO devices, timers.

mod gpio;
mod irq_thread;
mod sources;
mod task;

pub use gpio::Gpio;
pub use irq_thread::{IrqThreadError, IrqThreads};
pub use sources::{Eventfd, Timer, TimerHandle, Uio};
pub use task::{Interrupt, InterruptHandle, InterruptStats, InterruptTask};

use punctual_units::Nanos;
use rustix::io::Errno;

/// What a source says when it wakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// When the kernel saw the event, CLOCK_MONOTONIC; `None`: the source has no time stamp.
    pub at: Option<Nanos>,
    /// Events that this wakeup stands for: more than one where several came before it.
    pub events: u64,
    /// Events before this one that the source dropped, by its sequence numbers.
    pub lost: u64,
    /// What the source says of it: the edge of a GPIO line, else 0.
    pub value: u64,
}

/// Where events come from.
pub trait Source: Send {
    /// Sleeps until there is an event and takes one. One system call where an event is there.
    ///
    /// # Errors
    /// `INTR`: a signal came first; the task looks whether it is to stop and calls again. Others end the task.
    fn wait(&mut self) -> Result<Arrival, Errno>;
}
