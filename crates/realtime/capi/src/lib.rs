//! The C interface of punctual-rt. The header is `include/punctual_rt.h`, made from this source; what it is for and how a program is
//! built with it is in docs/c-interface.md.
//!
//! - A function answers a status, 0 for success; the text of the calling thread's last error is in [`prt_last_error`].
//! - A pointer that is NULL where a value is needed is an error. Any other pointer must be what the function asks for: that is what
//!   makes these functions `unsafe`, and it is said once, here, instead of in each of them.
//! - Handles are opaque and belong to the caller from `…_new` or `…_start` until `…_free`. While a handle is freed, nobody may use it.
//! - No panic crosses the boundary: it becomes `PRT_STATUS_PANIC` where the library is built with unwinding, and ends the process
//!   (abort) where it is not, as in the release profile.
//!
//! Architecture invariant: beside uapi the only room with `unsafe`, for a C caller's pointers and nothing else. What is marked
//! *real-time* neither allocates, locks, formats nor makes a system call that is not named.

#![warn(missing_docs)]
#![allow(non_camel_case_types, clippy::missing_safety_doc)]

mod alarms;
mod boundary;
mod clock;
mod cond;
mod flags;
mod mutex;
mod pipe;
mod queue;
mod scheduling;
mod semaphore;
mod start;
mod stats;
mod status;
mod task;

pub use alarms::*;
pub use clock::*;
pub use cond::*;
pub use flags::*;
pub use mutex::*;
pub use pipe::*;
pub use queue::*;
pub use scheduling::*;
pub use semaphore::*;
pub use start::*;
pub use stats::*;
pub use status::*;
pub use task::*;

/// The examples of the table of services are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/api-map.md")]
struct ApiMap;
