//! Displays a running measurement in a terminal of any size.
//!
//! The screen is a pure function of a [`Snapshot`] ([`draw`]). [`View`] takes and draws snapshots in an ordinary thread
//! that wakes twice a second. It reads the cells of the measuring threads without locks, so that neither side waits for
//! the other.
//!
//! [`Line`] is a single status line, which an already running thread overwrites about once a second. Its text is a pure
//! function as well ([`text`]).
//!
//! Architecture invariant: no other crate handles keys, colours and screen layout. This crate does not depend on run
//! directories or the measuring engine; operations on a phase are passed in as [`Controls`].

#![forbid(unsafe_code)]

mod attach;
mod draw;
mod gather;
mod keys;
mod line;
mod screen;
mod snapshot;
mod view;

pub use attach::attach;
pub use draw::{Looks, draw};
pub use gather::{Looker, machine};
pub use line::{Left, Line, Status, text};
pub use screen::{NoTerminal, check};
pub use snapshot::{CpuView, Machine, Snapshot, Stage};
pub use view::{Controls, Cost, Phase, Settings, Unfit, View};
