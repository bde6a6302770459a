//! What a real-time program on Linux needs, done right once: [`Attributes`] that are read back after they are set,
//! a locked and prefaulted stack, and [`Periodic`], an absolute loop that accounts for every period.
//!
//! Architecture invariant: nothing here allocates, logs or formats after [`Attributes::apply`].

#![forbid(unsafe_code)]

mod attributes;
mod clock;
mod periodic;

pub use attributes::{Applied, Attributes, Refused, refusal_advice, try_scheduling};
pub use clock::{clock_read_cost, monotonic, sleep_until};
pub use periodic::{Periodic, Wakeup};
