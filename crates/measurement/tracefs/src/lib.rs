//! A private trace instance of the running kernel (Documentation/trace/ftrace.rst, "Instances"). It records the events
//! needed for explanations, on CLOCK_MONOTONIC, in a ring buffer that the kernel overwrites. Windows of the buffer are
//! saved as trace.dat files.
//!
//! Other users of tracing are not affected, because the instance has its own buffer, events and tracer. It is
//! journalled before it is created, and removed when it is dropped, or after kill -9 by the next start.
//!
//! Architecture invariant: this crate does not know what a late wakeup is; the caller specifies the times to save.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod error;
mod events;
mod flight;
mod instance;
mod kallsyms;
mod marks;
mod mount;
mod uprobe;

pub use error::TracefsError;
pub use events::{CYCLES, EventSet, FULL, INTERRUPTIONS, MINIMAL, SECTIONS, SYSTEM_CALLS};
pub use flight::{Cut, Flight, Kept};
pub use instance::{Config, Instance, Statistics};
pub use kallsyms::addresses;
pub use mount::Tracefs;
pub use uprobe::{Place, UPROBE_GROUP, Uprobe};

/// Undoes changes that killed processes left in tracefs and elsewhere. Returns messages for the user.
pub fn recover() -> Vec<String> {
    let found = punctual_journal::Journal::of_user().recover();
    let mut said = Vec::new();
    for one in found {
        let whose = one.pid.map_or_else(|| "a killed process".to_owned(), |pid| format!("process {pid}"));
        said.extend(
            one.undone.into_iter().map(|what| format!("undid a change that {whose} left when it was killed: {what}")),
        );
        // Prints one line per process, because every command prints it until the files are removed.
        let more = one.failed.len().saturating_sub(1);
        let more = if more > 0 { format!(" (and {more} more of {whose})") } else { String::new() };
        said.extend(one.failed.first().map(|what| format!("cannot undo a change of {whose}: {what}{more}")));
    }
    said
}
