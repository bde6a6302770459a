//! The portable event suite. It checks timing and number of periodic and interrupt-driven events in any real-time
//! environment, and in particular that no event is lost.
//!
//! A [`Backend`] sends and receives events, a [`Ledger`] counts them, and [`run`] compares the counts with what the
//! source promises. Ledger and verdict are the same for every backend. They are tested with [`Mock`], which drops,
//! duplicates, delays and merges an exact number of events. See docs/backends.md.
//!
//! Architecture invariant: a backend only observes; it neither counts nor judges.

#![forbid(unsafe_code)]

mod adapter;
mod backend;
mod engine;
mod judge;
mod ledger;
mod mock;
mod posix;
mod suite;
mod test;

pub use adapter::{Adapter, COKERNELS, Cokernel};
pub use backend::{Answer, Backend, Channel, NotRun, Observed, Order, Plan, Source, alarm_at};
pub use engine::{Settings, run};
pub use judge::{FEW, classify, kept};
pub use ledger::Ledger;
pub use mock::{Faults, Mock};
pub use posix::{GpioWire, Posix, Wires, WiresError};
pub use suite::{SuiteError, Surroundings, suite};
pub use test::{BURN, CRITICAL, TESTS, Test, What, find};
