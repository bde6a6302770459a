//! Records events of other threads with perf_event_open(2): scheduler and system-call tracepoints, page faults, uprobes
//! and breakpoints. Records arrive through ring buffers and can contain a copy of the user stack.
//!
//! An event that new threads inherit can be mapped only if it is bound to one CPU. Therefore one event of each kind and
//! one ring buffer are opened on each CPU. [`Observer::drain`] returns the records of all CPUs in chronological order.
//! Records that the kernel could not write are counted.
//!
//! The kernel releases all resources when the process ends, because only file descriptors refer to them.
//!
//! Architecture invariant: this crate does not know what the events are used for; the caller tags them.

#![forbid(unsafe_code)]

mod format;
mod observer;
mod record;

pub use format::{Format, Tracepoint};
pub use observer::{Buffer, Handle, Observer, Source, Spec, Target};
pub use record::{Meta, Record, Regs, Sample};
