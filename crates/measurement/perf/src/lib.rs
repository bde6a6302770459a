//! Events of other threads, from perf_event_open(2): scheduler and system-call tracepoints, page faults, uprobes,
//! breakpoints, with copies of the user stack; and the ring buffers they come from.
//!
//! An event that new threads inherit cannot be mapped for any CPU, so there is one of each per CPU, and a ring buffer
//! per CPU. [`Observer::drain`] gives the records of all CPUs in the order of time. What the kernel could not record
//! is counted.
//!
//! Everything here ends with the process: descriptors are all that holds it.
//!
//! Architecture invariant: independent of what is looked for; the caller tags the events.

#![forbid(unsafe_code)]

mod format;
mod observer;
mod record;

pub use format::{Format, Tracepoint};
pub use observer::{Buffer, Handle, Observer, Source, Spec, Target};
pub use record::{Meta, Record, Regs, Sample};
