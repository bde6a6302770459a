//! What a real-time program on Linux needs, done right once: [`Attributes`] that are read back after they are set,
//! a locked and prefaulted stack, and [`Periodic`], an absolute loop that accounts for every period. Other ways of being woken
//! ([`Relative`], [`Timerfd`], [`Signalled`]) offer the same ([`Wait`]).
//!
//! Architecture invariant: nothing here allocates, logs or formats after [`Attributes::apply`].

#![forbid(unsafe_code)]

mod attributes;
mod clock;
mod expiries;
mod periodic;
mod posix;
mod relative;
mod timerfd;
mod wait;

pub use attributes::{Applied, Attributes, Refused, refusal_advice, try_scheduling};
pub use clock::{clock_read_cost, monotonic, sleep_until};
pub use periodic::{Periodic, Wakeup};
pub use posix::Signalled;
pub use relative::Relative;
pub use timerfd::Timerfd;
pub use wait::{Remarks, Wait};
