//! Scheduling experiments: threads with given policies, priorities and CPUs do a fixed amount of work. The end of each
//! is predicted from theory and measured, and the difference is explained.
//!
//! An experiment is a built-in one ([`EXPERIMENTS`], in `experiments/`), a TOML file in the same format, or an rt-app
//! workload.
//!
//! Architecture invariant: [`predict`] and [`account`] are pure; only the runner starts threads. Measured threads do
//! not allocate, log or lock between their release and their end, and none exceeds its time limit.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod account;
pub mod body;
mod builtin;
mod calibrate;
mod error;
mod guard;
mod input;
mod job;
pub mod joined;
mod limit;
mod outcome;
mod pass;
mod plan;
pub mod predict;
mod record;
mod release;
mod rtapp;
mod run;
mod schedstat;
mod spec;
mod system;
mod tracing;

pub use builtin::{EXAMPLE, EXPERIMENTS, builtin};
pub use error::{SchedError, SpecError};
pub use outcome::outcome;
pub use run::{Options, run};
pub use spec::{Amount, MOST_THREADS, Place, Spec, Thread};
