//! Delays made on purpose: a real-time thread that is the victim, and what makes it late, each a process of its own that
//! writes down what it did and when. The log is independent of any trace, so that an explanation of the trace can be
//! checked against it.
//!
//! [`campaign`] plants kind after kind and leaves for each a folder with `trace.txt`, `truth.jsonl` ([`Burst`]),
//! `victim.json` ([`Watched`]) and `facts.json` ([`Surroundings`]). It runs this very program again with the hidden first
//! argument [`HIDDEN_ARG`], which the program's `main` must hand over to [`child_main`] before it does anything else.
//!
//! Needs root. Architecture invariant: knows nothing of explanations; what it changes in the machine (priorities of kernel
//! threads, receive packet steering of `lo`, the tracer of the top instance) it puts back before it ends.

#![forbid(unsafe_code)]

mod beside;
mod campaign;
mod capture;
mod child;
mod config;
mod error;
mod kernel_threads;
mod kinds;
mod surroundings;
mod thread;
mod truth;
mod undo;
mod victim;

pub use beside::{Beside, Held, Seen, beside, hold_once};
pub use campaign::{Planted, Wanted, campaign};
pub use capture::Recorder;
pub use child::{HIDDEN_ARG, child_main};
pub use config::Config;
pub use error::PlantError;
pub use kinds::{KINDS, Kind};
pub use surroundings::Surroundings;
pub use truth::Burst;
pub use victim::{Late, Watched};
