//! Injects delays: a real-time thread is the victim, and other processes make it late and record what they did and
//! when. Their log is independent of any trace, so that an explanation of the trace can be checked against it.
//!
//! [`campaign`] injects the kinds one after another. For each it creates a folder with `trace.txt`, `truth.jsonl`
//! ([`Burst`]), `victim.json` ([`Watched`]) and `facts.json` ([`Surroundings`]). It starts this same program again with
//! the first argument [`HIDDEN_ARG`]; the program's `main` must then call [`child_main`] before it does anything else.
//!
//! Needs root. Architecture invariant: this crate does not use explanations. Before it ends, it undoes its changes to
//! the machine (priorities of kernel threads, receive packet steering of `lo`, the tracer of the top instance).

#![forbid(unsafe_code)]

mod beside;
mod campaign;
mod capture;
mod chains;
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
pub use campaign::{Injected, beside_rtla, campaign};
pub use capture::Recorder;
pub use chains::{Awaited, CHAINS, Chain, ChainKind, Waited, chains};
pub use child::{HIDDEN_ARG, child_main};
pub use config::{Config, Wanted};
pub use error::InjectError;
pub use kinds::{KINDS, Kind};
pub use surroundings::Surroundings;
pub use truth::Burst;
pub use victim::{Late, Manner, Watched};
