//! The C interface of punctual-rt. The header `include/punctual_rt.h` is generated from this source;
//! docs/c-interface.md explains its use and how to build programs with it.
//!
//! - A function returns a status, 0 for success; [`prt_last_error`] returns the text of the calling thread's last
//!   error.
//! - A pointer that must not be NULL is checked, and NULL is an error. A pointer that is not NULL must be what the
//!   function requires, which cannot be checked: this makes the functions `unsafe`, and is stated here once instead of
//!   for each of them.
//! - Handles are opaque and belong to the caller from `…_new` or `…_start` until `…_free`. While a handle is being
//!   freed, nothing else may use it.
//! - No panic crosses the boundary: it becomes `PRT_STATUS_PANIC` if the library is built with unwinding, and aborts
//!   the process otherwise, as in the release profile.
//!
//! Architecture invariant: `unsafe` is used only for pointers of a C caller. A function marked *real-time* neither
//! allocates, locks nor formats, and makes no system call other than those that its comment names.

#![warn(missing_docs)]
#![allow(non_camel_case_types, clippy::missing_safety_doc)]

mod alarms;
mod boundary;
mod clock;
mod cond;
mod flags;
mod handle;
mod interrupt;
mod irq;
mod log;
mod mailbox;
mod marks;
mod mutex;
mod pipe;
mod queue;
mod scheduling;
mod semaphore;
mod source;
mod start;
mod stats;
mod status;
mod task;

pub use alarms::*;
pub use clock::*;
pub use cond::*;
pub use flags::*;
pub use handle::*;
pub use interrupt::*;
pub use irq::*;
pub use log::*;
pub use mailbox::*;
pub use marks::*;
pub use mutex::*;
pub use pipe::*;
pub use queue::*;
pub use scheduling::*;
pub use semaphore::*;
pub use source::*;
pub use start::*;
pub use stats::*;
pub use status::*;
pub use task::*;

/// Lets the documentation tests compile the examples in docs/api-map.md.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/api-map.md")]
struct ApiMap;
