//! Injects delays: a real-time thread is the victim, and other processes make it late and record what they did and
//! when. The log is independent of any trace, so that an explanation of the trace can be checked against it.
//!
//! [`campaign`] injects kind after kind and leaves for each a folder with `trace.txt`, `truth.jsonl` ([`Burst`]),
//! `victim.json` ([`Watched`]) and `facts.json` ([`Surroundings`]). It runs this very program again with the hidden
//! first argument [`HIDDEN_ARG`]; the program's `main` must then call [`child_main`] before it does anything else.
//!
//! Needs root. Architecture invariant: knows nothing of explanations; undoes its changes to the machine (priorities of
//! kernel threads, receive packet steering of `lo`, the tracer of the top instance) before it ends.

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
pub use campaign::{Planted, Wanted, beside_rtla, campaign};
pub use capture::Recorder;
pub use child::{HIDDEN_ARG, child_main};
pub use config::Config;
pub use error::PlantError;
pub use kinds::{KINDS, Kind};
pub use surroundings::Surroundings;
pub use truth::Burst;
pub use victim::{Late, Manner, Watched};
