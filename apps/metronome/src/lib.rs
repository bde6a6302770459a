//! Toggles a GPIO line at a fixed period and tells how late its edges are.
//!
//! - [`Toggler`]: the body of the real-time task: one [`Beat`] a release, and the line changes;
//! - [`Matcher`]: beats and the edges that a second line saw, as figures: pure;
//! - [`PAPER`]: what the paper measured; [`table`]: it beside ours;
//! - [`run`]: the program: periods, policies and loads, each a measurement of its own.
//!
//! Architecture invariant: a [`Toggler`]'s beat allocates nothing, locks nothing and prints nothing while the line can be driven.

#![forbid(unsafe_code)]

mod edges;
mod error;
mod listener;
mod matcher;
mod measure;
mod options;
mod paper;
mod plan;
mod program;
mod report;
mod runs;
mod start;
mod table;
mod toggler;

pub use edges::{Edge, EdgeSource, Lost};
pub use error::{Error, UsageError};
pub use matcher::{EdgeCounts, Matcher};
pub use options::{Asked, HELP, Options, parse};
pub use paper::{Column, Means, PAPER, Published, published};
pub use plan::{Beats, Measured, Plan};
pub use program::{HIDDEN_ARG, run};
pub use table::table;
pub use toggler::{Beat, Toggler};
