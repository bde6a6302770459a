//! GPIO lines through the character device, uAPI v2 (Documentation/userspace-api/gpio/chardev.rst, Linux 5.10 and
//! later).
//!
//! The kernel takes an event's time stamp in the hard interrupt, and counts and queues the event in the interrupt's
//! thread (edge_irq_handler and edge_irq_thread in drivers/gpio/gpiolib-cdev.c). An edge can therefore be lost in two
//! ways. A second edge before the thread has run is *coalesced* with the first and leaves no gap in the sequence
//! numbers; a full queue *drops* its oldest event, which leaves a gap. [`Tally`] distinguishes the two.
//!
//! Architecture invariant: reading events does not allocate. The feature `sim` adds simulated chips for tests.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod chip;
mod error;
mod event;
mod input;
mod line;
mod output;
mod settle;
#[cfg(feature = "sim")]
pub mod sim;
mod tally;

pub use chip::{Chip, LineAt, chips, find_line};
pub use error::GpioError;
pub use event::{Edge, Edges, Event, EventClock};
pub use input::{Bias, Input};
pub use line::{Events, Line, MAX_BUFFERED, USUAL_BUFFER};
pub use output::Output;
pub use punctual_uapi::gpio::{ChipInfo, LineInfo};
pub use settle::settle;
pub use tally::Tally;
