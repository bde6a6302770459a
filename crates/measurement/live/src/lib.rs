//! A measurement looked at while it runs, in a terminal of any size.
//!
//! What is drawn is a pure function of a [`Snapshot`] ([`draw`]); [`View`] takes snapshots and draws them in one ordinary
//! thread that wakes twice a second, reads the measuring threads' cells without a lock, and never waits for them or they
//! for it.
//!
//! [`Line`] is the small form: one line, written over about once a second by a thread that wakes anyway; its text is a pure function,
//! too ([`text`]).
//!
//! Architecture invariant: the only crate that knows keys, colours and the layout of a screen. It knows no run directory
//! and no engine: what may be asked of a phase comes in as [`Controls`].

#![forbid(unsafe_code)]

mod draw;
mod gather;
mod keys;
mod line;
mod screen;
mod snapshot;
mod view;

pub use draw::{Looks, draw};
pub use gather::{Looker, machine};
pub use line::{Left, Line, Told, text};
pub use screen::{NoTerminal, check};
pub use snapshot::{CpuView, Machine, Snapshot, Stage};
pub use view::{Controls, Cost, Phase, Settings, Unfit, View};
