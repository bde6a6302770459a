//! Records events of other threads with perf_event_open(2): scheduler and system-call tracepoints, page faults, uprobes
//! and breakpoints, with copies of the user stack, through ring buffers.
//!
//! An event that new threads inherit cannot be mapped for any CPU, so each CPU has one event of each kind and one ring
//! buffer. [`Observer::drain`] returns the records of all CPUs in chronological order. Records that the kernel could
//! not write are counted.
//!
//! The kernel's resources are released with the process, since only descriptors refer to them.
//!
//! Architecture invariant: independent of the purpose of the events; the caller tags them.

#![forbid(unsafe_code)]

mod format;
mod observer;
mod record;

pub use format::{Format, Tracepoint};
pub use observer::{Buffer, Handle, Observer, Source, Spec, Target};
pub use record::{Meta, Record, Regs, Sample};
