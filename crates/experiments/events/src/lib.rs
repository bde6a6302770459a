//! The portable event suite. It checks the timing and the number of periodic and interrupt-driven events in any
//! real-time environment, and in particular that no event is lost.
//!
//! A [`Backend`] generates and receives events, a [`Ledger`] counts them, and [`run`] judges the counts against the
//! promise of the source. Ledger and judgement are the same for every backend. They are tested with [`Mock`], which
//! drops, duplicates, delays and coalesces an exact number of events. See docs/backends.md.
//!
//! Architecture invariant: a backend only observes; it never counts and never judges.

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
