//! Stores runs in a single SQLite file and analyses them together: shifts over time, and whether the next run is worse.
//!
//! [`summary`] condenses a recording and its verdict, and a [`Store`] saves it. [`analyse`] examines the runs of each
//! machine and settings over time, [`gate`] compares one run with its baseline, and [`fleet`] examines many boards. One
//! run is one sample, because wakeups within a run share its boot and its ambient temperature.
//!
//! Architecture invariant: returns only numbers; sentences and drawings are made elsewhere. Reads neither the clock nor
//! the environment: the path of the file is derived from the caller's arguments.

#![forbid(unsafe_code)]

mod analyse;
mod error;
mod find;
pub mod fleet;
mod gate;
mod identity;
mod place;
mod rows;
mod schema;
mod series;
mod store;
mod summary;

pub use analyse::{Filter, analyse, least_runs};
pub use error::Error;
pub use find::{Found, is_run, runs_below};
pub use gate::{ALPHA, GateOptions, LEAST_BASELINE, gate, least_for_rank};
pub use place::place;
pub use store::{Added, Store};
pub use summary::summary;
