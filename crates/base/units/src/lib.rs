//! Basic types used by the other crates: [`Nanos`], [`CpuId`] and [`CpuList`], [`Policy`] and [`Priority`], the
//! log-linear [`Histogram`], and [`Arrange`], a sort with small code size.
//!
//! Architecture invariant: this crate makes no system calls, reads no clock, and uses no other crate of this workspace.

#![forbid(unsafe_code)]

/// Implements `Debug` like `Display`, so that error messages are readable when `unwrap()`, `{:?}` or a `main` that
/// returns `Result<(), Box<dyn Error>>` prints them.
#[macro_export]
macro_rules! debug_as_display {
    ($($type:ident),+) => { $(
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+ };
    ($(<T> $type:ident),+) => { $(
        impl<T> std::fmt::Debug for $type<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+ };
}

mod cpu;
mod histogram;
mod nanos;
mod order;
mod sched;
mod wakeup;

pub use cpu::{CpuId, CpuList, CpuListError};
pub use histogram::{BINS, Bin, Histogram, bin_high, bin_index, bin_low, bins_of_steps, held_rank};
pub use nanos::{DurationError, Nanos};
pub use order::Arrange;
pub use sched::{Policy, PolicyError, Priority, PriorityError, Scheduling};
pub use wakeup::{WakeupSource, WakeupSourceError};
