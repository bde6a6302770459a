//! Finds violations of real-time rules in a program's real-time threads: page faults, allocations, system calls that
//! block, locks without priority inheritance, inherited policies; each with thread, rate, duration, function and line.
//!
//! The program is observed from outside, unmodified: perf events of its threads ([`punctual_perf`]) become a recording
//! of waits and occurrences, in which cycles are found ([`punctual_cycles`]) and rules are applied ([`rules`]). What
//! could not be observed is a missing source, and then the result is never a pass (docs/adr/0039-check.md).
//!
//! Architecture invariant: judging is pure; only `observe` and `system` read the machine. Neither the observed program
//! nor the machine is changed, and nothing remains after this process.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod baseline;
mod calls;
mod entry;
mod file;
mod findings;
mod judge;
mod locks;
mod observe;
mod order;
mod place;
mod probes;
mod reaper;
mod recorder;
mod recording;
mod rules;
mod sources;
mod start;
mod subject;
mod system;
#[cfg(test)]
mod tests;

pub use baseline::{Baseline, BaselineError};
pub use calls::{Call, Meaning, What, name as call_name};
pub use file::{File, FileKind};
pub use observe::{CheckError, CheckOptions, check};
pub use order::{Order, OrderError};
pub use reaper::{REAPER_ARG, Reaped, reaper_main};
pub use rules::{Rule, explain, rule, rules};
pub use start::{START_ARG, start_main};
pub use subject::{Subject, mappings, program_file};
pub use system::{descriptor, descriptor_info, is_real_time, urgency};
