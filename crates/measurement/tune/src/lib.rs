//! Which of the audit's fixes help on this machine: each is measured with and without, in pairs, and stays only where fresh pairs
//! say that it helps. See docs/adr/0015-tune.md.
//!
//! Architecture invariant: knows neither how a block is measured nor how a fix is applied; both are behind [`Bench`].

#![forbid(unsafe_code)]

mod plan;
mod search;

pub use search::{Bench, Candidate, Found, Rules, Stop, Tell, Told, blocks, search};
