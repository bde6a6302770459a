//! Toggles a GPIO line at a fixed period and measures how late its edges are.
//!
//! - [`Toggler`]: the body of the real-time task, which makes one [`Beat`] per release and toggles the line;
//! - [`Matcher`]: matches beats with the edges that the kernel reports on a second line;
//! - [`PAPER`]: the paper's measurements; [`table`]: a table that compares them with measurements by this program;
//! - [`run`]: the program, with one measurement per period, policy and load.
//!
//! Architecture invariant: [`Toggler::beat`] neither allocates, locks nor prints while the line can be driven.

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
